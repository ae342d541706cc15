"""What a connection may do before anybody has proved anything: how many from one address, how slowly they may speak.

Behind a reverse proxy all connections come from it, so they are not counted here by address; the proxy sets that limit
(`deploy/nginx`). The time for a request's line and headers is bounded in any case.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from shared.hosts import is_loopback

HEADER_SECONDS: Final = 10.0
"""From the first byte of a request, or from the connection, to the end of its headers."""
HEADER_BYTES: Final = 2**14
"""The longest request line and headers; the longest that an agent sends has some 5 KiB."""


class Door:
    """How many connections each address has. Used on the event loop only. `most`: of one address."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Count one more, unless it is too many; connections of this machine are never too many."""
        if not is_loopback(address) and self._open[address] >= self._most:
            return False
        self._open[address] += 1
        return True

    def leave(self, address: str) -> None:
        """One less."""
        self._open[address] -= 1
        if self._open[address] <= 0:
            del self._open[address]

    @property
    def count(self) -> int:
        """All that are open."""
        return self._open.total()


def guarded(door: Door) -> type[asyncio.Protocol]:
    """The server's HTTP protocol behind a door."""

    class Guarded(H11Protocol):
        """One connection."""

        header_seconds = HEADER_SECONDS

        _address: str | None = None
        _hurry: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            peer = transport.get_extra_info("peername")
            address = str(peer[0]) if isinstance(peer, tuple) else ""
            if not door.enter(address):
                transport.close()
                return
            self._address = address
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                self._calm()
            elif self._hurry is None and self._address is not None:
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._go()
            super().connection_lost(exc)

        def handle_websocket_upgrade(self, event: h11.Request) -> None:
            self._go()  # from here on it is a member's call, which the relay bounds
            super().handle_websocket_upgrade(event)

        def _watch(self) -> None:
            loop = asyncio.get_running_loop()
            self._hurry = loop.call_later(self.header_seconds, self._too_slow)

        def _too_slow(self) -> None:
            self._hurry = None
            cycle = self.cycle
            if cycle is None or cycle.response_complete:
                self.transport.close()

        def _calm(self) -> None:
            if self._hurry is not None:
                self._hurry.cancel()
                self._hurry = None

        def _go(self) -> None:
            self._calm()
            if self._address is not None:
                door.leave(self._address)
                self._address = None

    return Guarded
