"""The HTTP server around the application: uvicorn, TLS, and a stop that does not wait for long polls."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Any, Final

import structlog
import uvicorn
from fastapi import FastAPI

from cloud_service.api.connections import HEADER_BYTES, Door, guarded
from cloud_service.api.metrics import inner_port
from cloud_service.settings import Settings
from machine.supervisor import Heartbeat, notify
from shared.errors import InputError
from shared.hosts import is_everywhere
from shared.wire.relay import MAX_PARCEL_BYTES

_log = structlog.get_logger()
_NO_LIMIT: Final = sys.maxsize
_GRACE_SECONDS: Final = 2
"""For requests that are being worked on. With draining and the workers' end, a stop takes less than 5 seconds."""
_KEEP_ALIVE_SECONDS: Final = 75
"""Longer than a poll and the work between two, so that an agent needs one connection."""
_SWITCH_SECONDS: Final = 0.0005
"""How long the adding thread may hold the interpreter while a request waits; with Python's 5 ms a request that
changes hands several times took 34 ms in the middle of a large sum."""


class Server(uvicorn.Server):
    """Says that it is not ready, serves on for a moment, lets those who wait go, then waits for requests to end.

    `on_ready` gets the port. `drain`: says that it is not ready any more.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        release: Callable[[], None],
        on_ready: Callable[[int], None] | None = None,
        *,
        drain: Callable[[], None] | None = None,
        drain_seconds: float = 0.0,
    ) -> None:
        super().__init__(config)
        self._release = release
        self._drain = drain
        self._drain_seconds = drain_seconds
        self._on_ready = on_ready
        self._heartbeat = Heartbeat()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then tell."""
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready(self.servers[0].sockets[0].getsockname()[1])
        if self.started:
            notify("READY=1", f"STATUS=serving on {self.config.host} port {self.config.port}")

    async def on_tick(self, counter: int) -> bool:
        """Some ten times a second: the loop that serves everybody turns."""
        self._heartbeat.beat()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the long polls, then everything."""
        notify("STOPPING=1")
        if self._drain is not None:
            self._drain()
            await asyncio.sleep(self._drain_seconds)
        self._release()
        await super().shutdown(sockets)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How this cloud listens. Requests are logged by `api.traffic`, so uvicorn's own access log is off."""
    tls: dict[str, Any] = {}
    if settings.tls_files is not None:
        certificate, key = settings.tls_files
        tls = {
            "ssl_certfile": str(certificate),
            "ssl_keyfile": str(key),
            "ssl_context_factory": _tls_context,
        }
        if settings.tls_client_file is not None:
            must = settings.tls_client_required
            tls["ssl_ca_certs"] = str(settings.tls_client_file)
            tls["ssl_cert_reqs"] = ssl.CERT_REQUIRED if must else ssl.CERT_OPTIONAL
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips=list(settings.trusted_proxies),
        http=guarded(Door(_NO_LIMIT if settings.behind_proxy else settings.limits.connections_per_address)),
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        ws="websockets-sansio",
        ws_max_size=MAX_PARCEL_BYTES,
        ws_per_message_deflate=False,  # sealed frames do not get shorter
        **tls,
    )


def _tls_context(_config: uvicorn.Config, default: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """TLS 1.3 and nothing older (protocol section 2)."""
    context = default()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def address_of(settings: Settings, port: int) -> str:
    """What a person at this machine opens. Args: port: that was taken, where the settings leave it open."""
    scheme = "http" if settings.tls_files is None else "https"
    host = "localhost" if is_everywhere(settings.host) else settings.host.strip("[]")
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


def run(app: FastAPI, settings: Settings, release: Callable[[], None]) -> None:
    """Serve until a signal comes. Raises: InputError: the address cannot be had."""
    sys.setswitchinterval(_SWITCH_SECONDS)

    def announce(port: int) -> None:
        _log.info("listening", host=settings.host, port=port)
        if sys.stderr.isatty():
            print(f"Pages for people: {address_of(settings, port)}  (Ctrl-C ends)", file=sys.stderr)  # noqa: T201

    drain = app.state.services.notifier.drain
    server = Server(
        server_config(app, settings), release, announce, drain=drain, drain_seconds=settings.drain_seconds
    )
    try:
        with inner_port(settings, app.state.vitals.page):
            server.run()
    except SystemExit:  # uvicorn's way to say that it could not bind
        raise InputError(
            "the address cannot be had",
            where=f"settings host and port, {settings.host} port {settings.port}",
            remedy="Choose another with --host and --port, or stop the program that has it.",
            number="C017",
        ) from None
