"""Something between agents and the cloud that stays at one address, may cut, and treats WebSockets as real proxies do.

with middlebox(cloud_port, "forbid") as box:
    box.url, box.cut(), box.port = new_cloud_port
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from tests.support.proxies import Listener

Habit = Literal["pass", "forbid", "strip", "swallow", "hang_up", "bad_gateway", "forbid_all"]
"""With a WebSocket's handshake: let it pass; answer 403 with a page; take the upgrade out of it; let the handshake
pass and nothing after it; close the connection; answer 502. `forbid_all`: 403 to every request."""
_PIECE = 2**16
_PAGES = {
    "forbid": b"HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: 7\r\n\r\n<html/>",
    "forbid_all": b"HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: 7\r\n\r\n<html/>",
    "bad_gateway": b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
}


class Middlebox:
    """A TCP proxy. `port`: the cloud's, may be changed at any time. `handshakes`: WebSockets asked for so far."""

    def __init__(self, port: int, habit: Habit) -> None:
        self.port = port
        self.habit = habit
        self.handshakes = 0
        self._frozen = threading.Event()
        self.listener = Listener(self._serve)
        self.url = self.listener.url

    def cut(self) -> None:
        """Cut every connection that is open."""
        self.listener.cut()

    def freeze(self) -> None:
        """From now on nothing passes through the connections that are open; they stay open."""
        self._frozen.set()
        self._frozen = threading.Event()

    def _serve(self, client: socket.socket) -> None:
        head = _read_head(client)
        is_websocket = b"upgrade: websocket" in head.lower()
        self.handshakes += is_websocket
        habit = self.habit if is_websocket or self.habit == "forbid_all" else "pass"
        if habit == "hang_up":
            return
        if habit in _PAGES:
            client.sendall(_PAGES[habit])
            return
        if habit == "strip":
            lines = head.split(b"\r\n")
            head = b"\r\n".join(
                line for line in lines if not line.lower().startswith((b"upgrade:", b"connection:"))
            )
        with socket.create_connection(("127.0.0.1", self.port), timeout=90) as cloud:
            for each in (client, cloud):  # a small frame would wait for the acknowledgement of the one before
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            cloud.sendall(head)
            frozen, swallow = self._frozen, habit == "swallow"
            back = threading.Thread(target=_copy, args=(cloud, client, swallow, frozen), daemon=True)
            back.start()
            _copy(client, cloud, False, frozen)
            back.join(90)


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(_PIECE)
        if not piece:
            break
        head += piece
    return head


def _copy(
    source: socket.socket, target: socket.socket, swallow: bool = False, frozen: threading.Event | None = None
) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            if swallow:
                head, end, _ = piece.partition(b"\r\n\r\n")
                piece = head + end if head.startswith(b"HTTP") else b""
            if frozen is None or not frozen.is_set():
                target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def middlebox(port: int, habit: Habit = "pass") -> Iterator[Middlebox]:
    """Between agents and the cloud at `port`."""
    box = Middlebox(port, habit)
    try:
        yield box
    finally:
        box.listener.close()


class ConnectingProxy:
    """A hospital's proxy that knows CONNECT. `tunnels`: opened so far."""

    def __init__(self) -> None:
        self.tunnels = 0
        self.listener = Listener(self._serve)
        self.url = self.listener.url

    def _serve(self, client: socket.socket) -> None:
        method, _, rest = _read_head(client).partition(b" ")
        assert method == b"CONNECT"
        host, _, port = rest.split(b" ")[0].partition(b":")
        with socket.create_connection((host.decode(), int(port)), timeout=90) as cloud:
            self.tunnels += 1
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            back = threading.Thread(target=_copy, args=(cloud, client), daemon=True)
            back.start()
            _copy(client, cloud)
            back.join(90)


@contextmanager
def connecting_proxy() -> Iterator[ConnectingProxy]:
    """On a free port."""
    proxy = ConnectingProxy()
    try:
        yield proxy
    finally:
        proxy.listener.close()
