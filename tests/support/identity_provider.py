"""Identity providers for tests: `oidc-provider-mock` as a process, and one of our own that can lie.

with mock_provider() as issuer: ...
with Provider.running() as provider: provider.claims["nonce"] = "another"
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey


@contextmanager
def mock_provider(**claims: Mapping[str, Any]) -> Iterator[str]:
    """The mock with users of these claims; its issuer."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    users = [json.dumps({"sub": name, **values}) for name, values in claims.items()]
    options = [word for user in users for word in ("--user-claims", user)]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "-p", str(port), *options]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
    )
    issuer = f"http://127.0.0.1:{port}"
    try:
        _wait_for(issuer + "/.well-known/openid-configuration", process)
        yield issuer
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert process.poll() is None, "the mock has ended"
        try:
            httpx2.get(url, trust_env=False)
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the mock does not answer")


@dataclass
class Provider:
    """Lets everybody in at once. What it signs is set by `claims` (None leaves one out), `key`, `algorithm`, `header`.

    `asked`: parameters of the last authorization request; `wrong`: what a client did wrong in redeeming codes.
    """

    issuer: str
    key: Key = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    shown: list[Key] = field(default_factory=list)
    algorithm: str = "RS256"
    header: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)
    token: Callable[[str], str] = str
    asked: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    fetched_keys: int = 0

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Provider]:
        """One on a free port, until the context ends."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        provider = cls(f"http://127.0.0.1:{server.server_port}")
        provider.shown = [provider.key]
        server.provider = provider  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def describe(self) -> dict[str, Any]:
        """Its discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": self.issuer + "/authorize",
            "token_endpoint": self.issuer + "/token",
            "jwks_uri": self.issuer + "/jwks",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.described,
        }

    def let_in(self, asked: Mapping[str, str]) -> str:
        """Where the browser goes back to."""
        self.asked = dict(asked)
        return asked["redirect_uri"] + "?" + urlencode({"code": "good-code", "state": asked["state"]})

    def redeem(self, form: Mapping[str, str], authorization: str) -> dict[str, Any] | None:
        """The token answer; None: refused."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        checks = {
            "code": form.get("code") == "good-code",
            "redirect": form.get("redirect_uri") == self.asked["redirect_uri"],
            "pkce": challenge.decode().rstrip("=") == self.asked["code_challenge"],
            "client": authorization == "Basic " + base64.b64encode(b"privet:its-secret").decode(),
        }
        self.wrong += [name for name, is_good in checks.items() if not is_good]
        return {"id_token": self.token(self.sign()), "token_type": "Bearer"} if all(checks.values()) else None

    def sign(self) -> str:
        """The ID token as it is to be."""
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": "privet",
            "sub": "ana",
            "iat": now,
            "exp": now + 300,
            "nonce": self.asked["nonce"],
            "groups": ["analysts"],
            **self.claims,
        }
        header = {"alg": self.algorithm, "kid": self.key.kid, **self.header}
        return jwt.encode(
            header,
            {name: value for name, value in claims.items() if value is not None},
            self.key,
            algorithms=[self.algorithm],
        )

    def rotate(self) -> None:
        """Sign with a new key of another kind, and show both."""
        self.key, self.algorithm = ECKey.generate_key("P-256", {"kid": "two"}), "ES256"
        self.shown.append(self.key)

    def signed_with_the_public_key(self, token: str) -> str:
        """The same claims under HMAC, with the public key as the secret: the classic confusion."""
        secret: bytes = self.shown[0].as_pem(private=False)  # type: ignore[attr-defined]
        header = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"one"}').rstrip(b"=").decode()
        text = f"{header}.{token.split('.')[1]}"
        mac = hmac.digest(secret, text.encode(), "sha256")
        return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def provider(self) -> Provider:
        found: Provider = self.server.provider  # type: ignore[attr-defined]
        return found

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            self._json(200, self.provider.describe())
        elif parts.path == "/jwks":
            self.provider.fetched_keys += 1
            self._json(200, {"keys": [key.as_dict(private=False) for key in self.provider.shown]})
        elif parts.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.send_response(302)
            self.send_header("Location", self.provider.let_in(asked))
            self.send_header("Content-Length", "0")
            self.end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        answer = self.provider.redeem(form, self.headers.get("authorization", ""))
        self._json(400 if answer is None else 200, answer or {"error": "invalid_grant"})

    def _json(self, status: int, document: Any) -> None:
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
