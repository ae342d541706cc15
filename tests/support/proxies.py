"""Three things between programs, on loopback: a recorder of every byte, and two saboteurs.

`RecordingProxy` copies streams and keeps what passed. `FaultProxy` understands HTTP just enough to take one request
and one answer at a time, and mistreats them as a seeded generator says. `chaos_proxy` understands nothing, as between
two compute parties, and mistreats connections.
"""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_PIECE = 2**16
_TIMEOUT_SECONDS = 90.0


class Listener:
    """Accepts connections on a free port, each in a thread of its own, until it is closed."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._closing = False
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while not self._closing:
            with suppress(OSError):
                client, _ = self._socket.accept()
                client.settimeout(_TIMEOUT_SECONDS)
                self._open.add(client)
                threading.Thread(target=self._run, args=(client,), daemon=True).start()

    def _run(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self._serve(client)
        self._open.discard(client)

    def close(self) -> None:
        """Accept nothing more and cut what is open."""
        self._closing = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self.cut()
        self._thread.join(10)

    def cut(self) -> None:
        """Cut what is open now."""
        for client in list(self._open):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


@dataclass
class Recording:
    """What passed, one entry for each direction of each connection."""

    url: str
    to_cloud: list[bytearray] = field(default_factory=list)
    to_agent: list[bytearray] = field(default_factory=list)

    @property
    def streams(self) -> list[bytes]:
        """All of it."""
        return [bytes(stream) for stream in (*self.to_cloud, *self.to_agent)]


@contextmanager
def recording_proxy(port: int) -> Iterator[Recording]:
    """Between agents and the cloud at `port`."""

    def serve(client: socket.socket) -> None:
        sent, answered = bytearray(), bytearray()
        recording.to_cloud.append(sent)
        recording.to_agent.append(answered)
        with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_SECONDS) as cloud:
            back = threading.Thread(target=_copy, args=(cloud, client, answered), daemon=True)
            back.start()
            _copy(client, cloud, sent)
            back.join(_TIMEOUT_SECONDS)

    listener = Listener(serve)
    recording = Recording(listener.url)
    try:
        yield recording
    finally:
        listener.close()


def _copy(source: socket.socket, target: socket.socket, record: bytearray) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            record += piece
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


FAULTS = (
    "drop_request",
    "cut_request",
    "drop_answer",
    "cut_answer",
    "duplicate",
    "delay",
    "trickle",
    "page_before",
    "page_after",
)
_PAGES = {
    502: "<html><body><h1>502 Bad Gateway</h1></body></html>",
    503: "busy",
    504: "<html><body>gateway time-out</body></html>",
}


@dataclass
class Faults:
    """What a `fault_proxy` did. `share`: of the exchanges that it mistreats; 0 stops it."""

    url: str
    share: float
    done: Counter[str] = field(default_factory=Counter)
    exchanges: int = 0


@contextmanager
def fault_proxy(port: int, seed: int, share: float = 0.5) -> Iterator[Faults]:
    """Between agents and the cloud at `port`; every exchange may meet one of `FAULTS`."""
    choose, lock = random.Random(seed), threading.Lock()

    def draw() -> tuple[str, float, int]:
        with lock:
            faults.exchanges += 1
            fault = choose.choice(FAULTS) if choose.random() < faults.share else "none"
            faults.done[fault] += 1
            return fault, choose.random(), choose.choice(sorted(_PAGES))

    def serve(client: socket.socket) -> None:
        while request := _read_message(client):
            if not _exchange(client, port, request, *draw()):
                return

    listener = Listener(serve)
    faults = Faults(listener.url, share)
    try:
        yield faults
    finally:
        listener.close()


def _exchange(client: socket.socket, port: int, request: bytes, fault: str, place: float, page: int) -> bool:
    """One request and its answer, or what the fault leaves of them; whether the connection may stay."""
    if fault == "drop_request":
        return False
    if fault == "cut_request":
        _half_a_request(port, request[: 1 + int(place * (len(request) - 1))])
        return False
    if fault == "page_before":
        return _send_page(client, page)
    if fault == "delay":
        time.sleep(place * 0.3)
    answer = _ask(port, request)
    if fault == "duplicate":
        again = _ask(port, request)
        answer = again if place < 0.5 else answer
    if fault == "drop_answer":
        return False
    if fault == "page_after":
        return _send_page(client, page)
    if fault == "cut_answer":
        client.sendall(answer[: int(place * len(answer))])
        return False
    _send(client, answer, slowly=fault == "trickle")
    return True


def _ask(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_SECONDS) as cloud:
        cloud.sendall(request)
        return _read_message(cloud)


def _half_a_request(port: int, part: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_SECONDS) as cloud:
        cloud.sendall(part)


def _send_page(client: socket.socket, status: int) -> bool:
    body = _PAGES[status].encode()
    head = f"HTTP/1.1 {status} Trouble\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body)
    return True


def _send(client: socket.socket, answer: bytes, *, slowly: bool) -> None:
    step = max(1, len(answer) // 20) if slowly else len(answer)
    for start in range(0, len(answer), step):
        client.sendall(answer[start : start + step])
        if slowly:
            time.sleep(0.005)


def _read_message(stream: socket.socket) -> bytes:
    """One HTTP message with a stated length, as both programs send them; empty at the end of the stream."""
    buffer = b""
    while b"\r\n\r\n" not in buffer:
        piece = stream.recv(_PIECE)
        if not piece:
            return b""
        buffer += piece
    head, _, body = buffer.partition(b"\r\n\r\n")
    length = _stated_length(head)
    while len(body) < length:
        piece = stream.recv(_PIECE)
        if not piece:
            return b""
        body += piece
    return head + b"\r\n\r\n" + body


def _stated_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        assert name.strip() != b"transfer-encoding", "the proxy understands stated lengths only"
        if name.strip() == b"content-length":
            return int(value)
    return 0


@dataclass
class Chaos:
    """What a `chaos_proxy` did to connections. port: to connect to instead. share: of the connections it mistreats."""

    port: int
    share: float = 1.0
    cut: int = 0
    held: int = 0


@contextmanager
def chaos_proxy(port: int, seed: int) -> Iterator[Chaos]:
    """Between two parties that speak TLS: delays what passes, cuts connections after some bytes, and lets new ones
    overtake older ones that it holds back."""
    choose, lock = random.Random(seed), threading.Lock()

    def serve(client: socket.socket) -> None:
        with lock:
            is_bad = choose.random() < chaos.share
            bytes_left = choose.choice((100, 2_000, 50_000, 500_000)) if is_bad else -1
            hold = choose.random() * 0.3 if is_bad else 0.0
            delay = choose.random() * 0.002 if is_bad else 0.0
            chaos.cut += is_bad
            chaos.held += hold > 0.1
        time.sleep(hold)
        with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_SECONDS) as server:
            back = threading.Thread(target=_pass_on, args=(server, client, bytes_left, delay), daemon=True)
            back.start()
            _pass_on(client, server, bytes_left, delay)
            back.join(_TIMEOUT_SECONDS)

    listener = Listener(serve)
    chaos = Chaos(int(listener.url.rpartition(":")[2]))
    try:
        yield chaos
    finally:
        listener.close()


def _pass_on(source: socket.socket, target: socket.socket, bytes_left: int, delay: float) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            time.sleep(delay)
            if 0 <= bytes_left <= len(piece):
                target.sendall(piece[:bytes_left])
                break
            bytes_left -= len(piece) if bytes_left >= 0 else 0
            target.sendall(piece)
    for stream in (source, target):
        with suppress(OSError):
            stream.shutdown(socket.SHUT_RDWR)
