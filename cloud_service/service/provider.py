"""An identity provider over the network: its own description, its keys, and a code for an ID token.

Every address must be https (http on this machine only), answers are bounded, redirects are not followed.
"""

from __future__ import annotations

import ssl
import threading
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx
from authlib.oauth2.auth import ClientAuth
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from cloud_service.oidc_settings import OidcSettings
from shared.errors import TemporaryError
from shared.hosts import is_loopback

_TIMEOUT_SECONDS: Final = 10.0
_MAX_BYTES: Final = 2**18
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderError(TemporaryError):
    """The identity provider cannot be reached, or does not answer as one."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the identity provider cannot be used now: {what}", retry_after_seconds=10)


class Provider:
    """Its description and keys are fetched when they are first needed, and kept."""

    def __init__(self, settings: OidcSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._metadata: OpenIDProviderMetadata | None = None
        self._keys: KeySet | None = None
        self._context: ssl.SSLContext | None = None

    def endpoint(self, name: str) -> str:
        """One of its addresses. Raises: ProviderError."""
        with self._lock:
            if self._metadata is None:
                self._metadata = self._describe()
            return str(self._metadata[name])

    def _describe(self) -> OpenIDProviderMetadata:
        url = str(get_well_known_url(self._settings.issuer, external=True))
        metadata = OpenIDProviderMetadata(_json(self._send("GET", url)))
        if metadata.get("issuer") != self._settings.issuer:
            raise ProviderError("it names another issuer than the settings do")
        for name in _ENDPOINTS:
            if not _is_safe(str(metadata.get(name, ""))):
                raise ProviderError(f"its {name} is missing or not https")
        return metadata

    def keys(self, *, fresh: bool = False) -> KeySet:
        """The keys it signs with. `fresh`: fetched now, as it may have new ones. Raises: ProviderError."""
        if fresh or self._keys is None:
            document = _json(self._send("GET", self.endpoint("jwks_uri")))
            try:
                self._keys = KeySet.import_key_set({"keys": document["keys"]})
            except (JoseError, KeyError, TypeError, ValueError):
                raise ProviderError("its keys cannot be read") from None
        return self._keys

    def redeem(self, code: str, verifier: str) -> str | None:
        """The ID token for a code; None: the code is not good. Raises: ProviderError."""
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.callback,
            "code_verifier": verifier,
        }
        auth = ClientAuth(settings.client_id, settings.client_secret.get_secret_value(), self._method())
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        url, headers, body = auth.prepare("POST", self.endpoint("token_endpoint"), headers, urlencode(form))
        answer = self._send("POST", url, headers=headers, content=body)
        if answer.status_code in (400, 401):
            return None
        token = _json(answer).get("id_token")
        return token if isinstance(token, str) else None

    def _method(self) -> str:
        self.endpoint("token_endpoint")
        known = (self._metadata or {}).get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return "client_secret_basic" if "client_secret_basic" in known else "client_secret_post"

    def _client(self) -> httpx.Client:
        if self._context is None:  # reading the system's authorities takes longer than all the rest
            self._context = ssl.create_default_context()
        return httpx.Client(timeout=_TIMEOUT_SECONDS, follow_redirects=False, verify=self._context)

    def _send(self, method: str, url: str, **parts: Any) -> httpx.Response:
        try:
            with self._client() as client, client.stream(method, url, **parts) as answer:
                content = b""
                for chunk in answer.iter_bytes():
                    content += chunk
                    if len(content) > _MAX_BYTES:
                        raise ProviderError(f"it answers with more than {_MAX_BYTES} bytes")
                return httpx.Response(answer.status_code, content=content)
        except httpx.HTTPError as error:
            raise ProviderError(f"{urlsplit(url).hostname}: {type(error).__name__}") from None


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        document = answer.json() if answer.status_code == 200 else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ProviderError(f"status {answer.status_code} and no JSON object")
    return document


def _is_safe(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
