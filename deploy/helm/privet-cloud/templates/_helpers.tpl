{{- define "privet.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}-cloud
{{- end -}}

{{- define "privet.labels" -}}
app.kubernetes.io/name: privet-cloud
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "privet.selector" -}}
app.kubernetes.io/name: privet-cloud
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "privet.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "privet.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "privet.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Keys lie in a folder in memory, closed to others: the cloud refuses keys that a group may read, as mounted ones are. */}}
{{- define "privet.copyKeys" -}}
name: keys
image: {{ include "privet.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command: ["install", "-m", "600", "/keys/identity.pem", "/keys/rsa.pem", "/var/lib/privet/cloud/"]
securityContext: {{- include "privet.containerSecurity" . | nindent 2 }}
resources: {requests: {cpu: 10m, memory: 16Mi}, limits: {memory: 64Mi}}
volumeMounts:
  - {name: keys, mountPath: /keys, readOnly: true}
  - {name: folder, mountPath: /var/lib/privet/cloud}
{{- end -}}

{{- define "privet.volumes" -}}
- name: keys
  secret: {secretName: {{ .Values.keysSecret }}, defaultMode: 0440}
- name: folder
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
- name: tmp
  emptyDir: {sizeLimit: 512Mi}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret: {name: {{ .Values.databaseSecret }}, items: [{key: database_url, path: database_url}]}
      {{- with .Values.settingsSecret }}
      - secret: {name: {{ . }}}
      {{- end }}
{{- end -}}

{{- define "privet.mounts" -}}
- {name: folder, mountPath: /var/lib/privet/cloud}
- {name: tmp, mountPath: /tmp}
- {name: secrets, mountPath: /run/secrets, readOnly: true}
{{- end -}}

{{/* One command of the cloud that needs its keys and its database, and no settings besides. */}}
{{- define "privet.migrating" -}}
image: {{ include "privet.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ toJson .args }}
env:
  - {name: PRIVET_CLOUD_CONFIG, value: /dev/null}
  - {name: PRIVET_CLOUD_SECRETS, value: /run/secrets}
securityContext: {{- include "privet.containerSecurity" .root | nindent 2 }}
resources: {{- toYaml .root.Values.resources | nindent 2 }}
volumeMounts:
  {{- include "privet.mounts" .root | nindent 2 }}
{{- end -}}
