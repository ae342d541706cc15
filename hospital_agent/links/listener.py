"""The door for direct connections of a job: whose a call is, its first frame shows."""

from __future__ import annotations

import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from hospital_agent.links.connection import WANTS, Connection, tune
from hospital_agent.links.direct import DirectChannel
from shared.ids import AgentId
from shared.wire.relay import MAX_FRAME_BYTES

_GREETING_BYTES: Final = 1024
"""Longest first frame of a connection that has not shown whose it is."""
_GREETING_SECONDS: Final = 10.0
_MOST_STRANGERS: Final = 16


class Listener:
    """Takes calls, and hands each to the channel of the peer that it proves to come from.

    Args: recognise: the peer whose fresh control frame this is. channels: of the peers that call.
    """

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext,
        recognise: Callable[[bytearray], AgentId | None],
        channels: Mapping[AgentId, DirectChannel],
    ) -> None:
        listening.setblocking(False)
        self._socket = listening
        self._context = context
        self._recognise = recognise
        self._channels = channels
        self._strangers: deque[tuple[float, Connection]] = deque()
        self.refused = 0

    def descriptors(self) -> list[int]:
        """All descriptors to wait on: the door, and connections that have not shown whose they are."""
        return [self._socket.fileno(), *(stranger.tls.fileno() for _, stranger in self._strangers)]

    def service(self) -> None:
        """Take what has come, without waiting."""
        with suppress(*WANTS, OSError):
            while True:
                raw, _ = self._socket.accept()
                self._welcome(raw)
        for _ in range(len(self._strangers)):
            came, stranger = self._strangers.popleft()
            if self._still_strange(came, stranger):
                self._strangers.append((came, stranger))

    def _welcome(self, raw: socket.socket) -> None:
        if len(self._strangers) >= _MOST_STRANGERS:
            self.refused += 1
            self._strangers.popleft()[1].close()
        tune(raw)
        tls = self._context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        self._strangers.append((time.monotonic(), Connection(tls, _GREETING_BYTES)))

    def _still_strange(self, came: float, stranger: Connection) -> bool:
        try:
            frame = stranger.receive() if stranger.shake_hands() else None
        except OSError:
            stranger.close()
            return False
        if frame is None:
            if time.monotonic() - came < _GREETING_SECONDS:
                return True
            peer = None
        else:
            peer = self._recognise(frame)
        if frame is None or peer is None or peer not in self._channels:
            self.refused += 1
            stranger.close()
            return False
        stranger.most_bytes = MAX_FRAME_BYTES
        self._channels[peer].attach(stranger, frame)
        return False

    def close(self) -> None:
        """Take no more."""
        self._socket.close()
        while self._strangers:
            self._strangers.pop()[1].close()
