"""Where a peer is, by its name: asked in a thread of its own, since the resolver may take its time."""

from __future__ import annotations

import socket
from concurrent.futures import Future
from threading import Thread
from typing import Any

SocketAddress = tuple[socket.AddressFamily, Any]
"""A family, and an address in its form."""


class Lookup:
    """The addresses of one peer. Used by one thread; the thread that asks the resolver ends with the answer."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._answer: Future[list[SocketAddress]] = Future()
        self._asked = False

    def ask(self) -> None:
        """Ask anew, unless the last question has no answer yet. A number needs no resolver."""
        if self._asked and not self._answer.done():
            return
        answer: Future[list[SocketAddress]] = Future()
        self._answer, self._asked = answer, True
        try:
            answer.set_result(self._resolve(socket.AI_NUMERICHOST))
        except OSError:
            Thread(target=self._find, args=(answer,), name="name lookup", daemon=True).start()

    def addresses(self) -> list[SocketAddress] | None:
        """At least one; None while there is no answer. Raises: OSError: the name is not known."""
        return self._answer.result() if self._answer.done() else None

    def _find(self, answer: Future[list[SocketAddress]]) -> None:
        try:
            answer.set_result(self._resolve())
        except OSError as error:
            answer.set_exception(error)

    def _resolve(self, flags: int = 0) -> list[SocketAddress]:
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM, flags=flags)
        except UnicodeError:  # a name that no resolver is asked for, such as one of a label of 70 letters
            raise ConnectionError("the peer's address is no name of a host") from None
        return [(family, address) for family, _, _, _, address in found]
