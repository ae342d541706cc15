"""The Helm chart: rendered for several sets of values, and each manifest held to Kubernetes' own schemas."""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from cloud_service.settings import load_settings

CHART = Path(__file__).resolve().parents[3] / "deploy" / "helm" / "privet-cloud"
OLDEST, NEWEST = "1.25", "1.37"
ALL: dict[str, Any] = {
    "replicas": 5,
    "image": {
        "repository": "images.example.org/privet-cloud",
        "digest": f"sha256:{'0' * 64}",
        "pullSecrets": ["pull"],
    },
    "settings": {
        "max_wait_seconds": 20,
        "allow_paper_profile": False,
        "oidc": {"issuer": "https://i.example", "roles": {"g-1": ["auditor"]}},
    },
    "settingsSecret": "more",
    "federation": {"bundle": base64.b64encode(b"bundle").decode(), "rootSha256": "ab" * 32},
    "ingress": {"enabled": True, "host": "cloud.example.org", "tlsSecret": "public"},
    "networkPolicy": {
        "ingressFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
        "databaseTo": [{"ipBlock": {"cidr": "10.0.0.7/32"}}],
        "egressTo": [{"ipBlock": {"cidr": "10.1.0.0/16"}}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "priorityClassName": "high",
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "podAnnotations": {"note": "x"},
}
LEAST: dict[str, Any] = {
    "replicas": 1,
    "networkPolicy": {"enabled": False},
    "podDisruptionBudget": {"enabled": False},
}
SETS = {"default": {}, "all": ALL, "least": LEAST}


def rendered(values: dict[str, Any]) -> list[dict[str, Any]]:
    texts = json.loads(_texts(json.dumps(values)))
    documents = [
        one for name, text in texts.items() if name.endswith(".yaml") for one in yaml.safe_load_all(text)
    ]
    return [one for one in documents if one]


@lru_cache
def _texts(values: str) -> str:
    with helm_python.Chart.load(CHART) as chart:
        return json.dumps(chart.render(json.loads(values), name="study", namespace="hospital"))


def of_kind(values: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in rendered(values) if one["kind"] == kind]


def pods(values: dict[str, Any]) -> list[dict[str, Any]]:
    found = [
        one["spec"]["template"]["spec"] for one in rendered(values) if one["kind"] in ("StatefulSet", "Job")
    ]
    assert len(found) == 2
    return found


def containers(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for pod in pods(values) for part in ("initContainers", "containers") for one in pod[part]]


@pytest.mark.parametrize("version", [pytest.param(OLDEST, marks=pytest.mark.long), NEWEST])
@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_every_manifest_is_valid(values: dict[str, Any], version: str) -> None:
    checked = 0
    for document in rendered(values):
        if document["kind"] != "ServiceMonitor":  # of the Prometheus operator, not of Kubernetes
            kubernetes_validate.validate(document, version, strict=True)
            checked += 1
    assert checked >= 5


def test_the_schemas_notice_a_fault() -> None:
    """The positive control of the validation."""
    document = of_kind({}, "StatefulSet")[0]
    document["spec"]["replicas"] = "two"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, NEWEST, strict=True)
    document["spec"]["replicas"] = 2
    document["spec"]["template"]["spec"]["runAsNobody"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, NEWEST, strict=True)


def test_lint_finds_nothing() -> None:
    report = helm_python.lint(CHART, {}, strict=True)
    assert [one for one in report["messages"] if one["severity"] > 1] == []
    assert not report["errors"]


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_every_container_is_closed(values: dict[str, Any]) -> None:
    for pod in pods(values):
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False, "service variables would be taken for settings"
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(values):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_no_secret_is_in_the_environment_or_the_settings(values: dict[str, Any]) -> None:
    for container in containers(values):
        for variable in container.get("env", []):
            assert "secretKeyRef" not in str(variable)
            assert "DATABASE" not in variable["name"]
    for document in of_kind(values, "ConfigMap"):
        assert "database_url" not in str(document)
    assert of_kind(values, "Secret") == []


@pytest.mark.parametrize("values", SETS.values(), ids=SETS)
def test_the_cloud_takes_the_settings(
    values: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the pod is given, read by the cloud itself."""
    text = next(one["data"]["cloud.toml"] for one in of_kind(values, "ConfigMap") if "data" in one)
    tomllib.loads(text)
    more = {"oidc": {"client_id": "c", "public_url": "https://cloud.example.org"}}
    if "[oidc]" in text:
        text = text.replace(
            "[oidc]", "[oidc]\n" + "\n".join(f'{key} = "{value}"' for key, value in more["oidc"].items())
        )
    (tmp_path / "cloud.toml").write_text(text)
    served = next(one for one in containers(values) if one.get("args") == ["serve"])
    for name in [name for name in os.environ if name.startswith("PRIVET_")]:
        monkeypatch.delenv(name)
    for variable in served["env"]:
        if variable["name"].startswith("PRIVET_") and variable["name"] not in (
            "PRIVET_CLOUD_CONFIG",
            "PRIVET_CLOUD_SECRETS",
        ):
            monkeypatch.setenv(variable["name"], variable["value"].replace("$(POD_NAME)", "study-cloud-0"))
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "oidc__client_secret").write_text("s" if "[oidc]" in text else "")
    settings = load_settings(tmp_path)
    assert settings.tls_certificate == Path("/etc/privet-tls/tls.crt")
    assert (
        settings.replica.address
        == "https://study-cloud-0.study-cloud-replicas.hospital.svc.cluster.local:8443"
    )
    assert settings.behind_proxy is bool(values.get("ingress"))
    assert settings.max_wait_seconds == values.get("settings", {}).get("max_wait_seconds", 25)


def test_tables_and_members_come_before_the_replicas() -> None:
    (plain,) = of_kind({}, "Job")
    assert plain["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert [one["args"] for one in plain["spec"]["template"]["spec"]["containers"]] == [["migrate"]]
    (job,) = of_kind(ALL, "Job")
    spec = job["spec"]["template"]["spec"]
    assert [one.get("args") for one in spec["initContainers"]] == [None, ["migrate"]]
    assert spec["containers"][0]["args"] == [
        "join",
        "--bundle",
        "/bundle/cloud.bundle",
        "--root-sha256",
        "ab" * 32,
    ]


WRONG = {
    "replicas": {"replicas": 0},
    "unknown": {"replica": 3},
    "latest": {"image": {"repository": "x", "tag": "latest"}},
    "digest": {"image": {"repository": "x", "digest": "sha256:1"}},
    "secret in settings": {"settings": {"database_url": "postgresql://u:p@h/d"}},
    "ingress without TLS": {"ingress": {"enabled": True, "host": "cloud.example.org", "tlsSecret": ""}},
    "fingerprint": {"federation": {"rootSha256": "abc"}},
    "no keys": {"keysSecret": ""},
    "peers": {"networkPolicy": {"ingressFrom": [{"pods": {}}]}},
}


@pytest.mark.parametrize("values", WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused(values: dict[str, Any]) -> None:
    with helm_python.Chart.load(CHART) as chart:
        merged = chart.merge_values(copy.deepcopy(values))
        with pytest.raises(helm_python.HelmError):
            chart.validate_schema(merged)


def test_right_values_are_taken() -> None:
    """The positive control of the refusals."""
    with helm_python.Chart.load(CHART) as chart:
        for values in SETS.values():
            chart.validate_schema(chart.merge_values(copy.deepcopy(values)))


def test_a_chart_with_a_broken_template_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "privet-cloud"
    shutil.copytree(CHART, broken)
    (broken / "templates" / "more.yaml").write_text("a: {{ .Values.nothing.here }}")
    with helm_python.Chart.load(broken) as chart, pytest.raises(helm_python.HelmError):
        chart.render({}, name="study", namespace="hospital")
