"""The way to the cloud, looked at step by step: proxy, name, connection, TLS, clock, version, own signature."""

from __future__ import annotations

import json
import socket
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from hospital_agent.cloud.connecting import ClientFiles, clock_offset, open_http, reason_of
from shared.errors import ErrorCode, InputError, PeerError, TemporaryError
from shared.hosts import is_loopback

MAX_OFFSET_SECONDS: Final = 60
"""Further apart than this, people should set their clocks; five minutes apart, signatures are refused."""
_MAX_ANSWER_BYTES: Final = 2**22
_DAY_SECONDS: Final = 86_400
_NOTICE_DAYS: Final = 14
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(slots=True)
class Way:
    """From here to the cloud at `url`. Nothing is sent before a method asks for it. `seconds`: for each step."""

    url: str
    ca_bundle: Path | None
    client_files: ClientFiles | None
    seconds: float = 10.0
    _offset: float | None = None
    _reached: bool = field(default=False)

    @property
    def proxy(self) -> str | None:
        """The proxy that the surroundings name for the cloud, without its password."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if is_loopback(host) or proxy_bypass(host):
            return None
        proxies = getproxies()
        found = proxies.get(parts.scheme) or proxies.get("all")
        if not found:
            return None
        named = urlsplit(found if "//" in found else f"//{found}")
        return f"{named.hostname}:{named.port or _PORTS['http']}"

    def look_up(self) -> str:
        """Whether the name that has to be looked up here leads anywhere: the proxy's, or the cloud's."""
        host, port = self._first_stop()
        try:
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise TemporaryError(f"the name {host} leads nowhere") from None
        return f"{host} has an address"

    def connect(self) -> str:
        """Whether anything listens at the first stop."""
        host, port = self._first_stop()
        try:
            socket.create_connection((host, port), timeout=self.seconds).close()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise TemporaryError(f"{host} port {port} cannot be reached: {reason}") from None
        return f"{host} port {port} takes connections"

    def ask(self) -> str:
        """Whether the cloud answers, through the proxy and TLS where there are any."""
        try:
            answer = self._get("/healthz")
        except httpx.ProxyError as error:
            raise TemporaryError(
                f"the proxy refuses the way to the cloud ({_status_in(str(error))})"
            ) from None
        except httpx.TransportError as error:
            raise TemporaryError(f"the cloud cannot be reached: {reason_of(error)}") from None
        self._offset = clock_offset(answer.headers)
        if answer.status_code != httpx.codes.OK:
            raise TemporaryError(f"something on the way answers HTTP {answer.status_code}")
        self._reached = True
        return "the cloud answers"

    @property
    def is_reached(self) -> bool:
        """Whether `ask` got through."""
        return self._reached

    def certificate(self) -> str:
        """How long the cloud's TLS certificate is good, where it can be seen from here."""
        parts = urlsplit(self.url)
        context = ssl.create_default_context(cafile=None if self.ca_bundle is None else str(self.ca_bundle))
        if self.client_files is not None:
            context.load_cert_chain(*self.client_files, password=lambda: "")
        address = parts.hostname or "", parts.port or _PORTS["https"]
        try:
            with (
                socket.create_connection(address, timeout=self.seconds) as plain,
                context.wrap_socket(plain, server_hostname=address[0]) as covered,
            ):
                known: Any = covered.getpeercert()
        except OSError as error:
            raise TemporaryError(
                f"no TLS with the cloud: {getattr(error, 'reason', None) or error}"
            ) from None
        days = (ssl.cert_time_to_seconds(known["notAfter"]) - time.time()) / _DAY_SECONDS
        if days < _NOTICE_DAYS:
            raise TemporaryError(f"the cloud's TLS certificate ends in {max(0, int(days))} days")
        return f"the cloud's TLS certificate is trusted here and good for {int(days)} days"

    def clock(self) -> str:
        """How far this machine's clock is from the cloud's."""
        if self._offset is None:
            return "the cloud's answer names no time"
        if abs(self._offset) > MAX_OFFSET_SECONDS:
            side = "behind" if self._offset > 0 else "ahead of"
            raise InputError(
                f"this machine's clock is {round(abs(self._offset))} seconds {side} the cloud's",
                remedy="Set the clock here by a time server (chrony, systemd-timesyncd), or tell the cloud's people.",
            )
        return "this machine's clock and the cloud's agree"

    def version(self) -> str:
        """The version that the cloud says it has. Raises: TemporaryError: it says none."""
        try:
            answer = self._get("/openapi.json")
            found = json.loads(answer.content[:_MAX_ANSWER_BYTES])["info"]["version"]
        except (httpx.TransportError, ValueError, KeyError, TypeError):
            raise TemporaryError("the cloud does not say its version") from None
        if (
            not isinstance(found, str)
            or not found.isascii()
            or len(found) > len("000000.000000.post000000+local")
        ):
            raise PeerError(ErrorCode.MALFORMED, "the cloud's version is no version")
        return found

    def _first_stop(self) -> tuple[str, int]:
        proxy = self.proxy
        if proxy is not None:
            host, _, port = proxy.rpartition(":")
            return host, int(port)
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or _PORTS[parts.scheme]

    def _get(self, path: str) -> httpx.Response:
        with open_http(self.url, self.ca_bundle, self.client_files, self.seconds) as http:
            return http.get(path)


def _status_in(text: str) -> str:
    """The status that begins a proxy's refusal; nothing else of a foreign text."""
    first = text.split(" ", 1)[0]
    return f"HTTP {first}" if first.isdigit() else "no reason given"
