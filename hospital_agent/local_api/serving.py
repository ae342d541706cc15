"""The server of the local API: a thread of its own beside the daemon."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from hospital_agent.settings import LocalSection
from shared.errors import InputError

_STARTING_SECONDS: Final = 0.01
_KEEP_ALIVE_SECONDS: Final = 30
HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take to arrive."""
_MOST_CONNECTIONS: Final = 512


class HastyProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a limit on how long the head of a request may take to arrive.

    Else a caller that sends one byte now and then would hold a connection, and a few hundred of them the server.
    """

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A caller is there, and is about to ask."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request; the clock runs while its head is not complete."""
        super().data_received(data)
        waits = self.conn.their_state is h11.IDLE
        if self._timer is not None and not waits:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and waits and self.conn.trailing_data[0]:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller left."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


@contextmanager
def serving(app: FastAPI, settings: LocalSection) -> Iterator[str]:
    """Serve in a thread of its own while the context lasts; gives the base URL.

    Raises: InputError: the address or port cannot be had.
    """
    # The server binds by itself: a socket handed to it would answer some 40 ms late, for want of TCP_NODELAY.
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        http=HastyProtocol,
        log_config=None,
        log_level="critical",
        lifespan="off",
        server_header=False,
        access_log=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        limit_concurrency=_MOST_CONNECTIONS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_serve, args=(server,), name="local-api", daemon=True)
    thread.start()
    try:
        yield _base_url(server, thread, settings)
    finally:
        server.should_exit = True
        thread.join(timeout=5.0)


def _serve(server: uvicorn.Server) -> None:
    with suppress(SystemExit):  # uvicorn's way to say that it could not bind; `_base_url` says it better
        server.run()


def _base_url(server: uvicorn.Server, thread: threading.Thread, settings: LocalSection) -> str:
    """Where the server listens, as soon as it does."""
    while not server.started:
        if not thread.is_alive():
            raise InputError(
                "the address cannot be had",
                where=f"settings local.host and local.port, {settings.host} port {settings.port}",
                remedy="Choose another port, set local.serve = false, or stop the program that has it.",
                number="A016",
            )
        time.sleep(_STARTING_SECONDS)
    port = server.servers[0].sockets[0].getsockname()[1]
    return f"http://{settings.host}:{port}"
