"""Direct connections between compute parties that can reach each other: TLS 1.3 over TCP, without a wait anywhere.

Of two parties one calls and one listens. A frame travels as `u32 length || frame`; the length is checked before a byte
of memory is taken for it. A connection that breaks is called again with growing, jittered waits; links then ask for
what was on its way.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from hospital_agent.links.tls import calling_context, check_fingerprint
from shared.errors import InternalError, PeerError
from shared.ids import AgentId
from shared.rng import random_below
from shared.wire.relay import MAX_FRAME_BYTES

_LENGTH: Final = struct.Struct(">I")
_JOINED_BYTES: Final = 2**14
"""Up to here, length and frame are one write."""
_WRITE_BYTES: Final = 2**18
_READ_BYTES: Final = 2**14
"""One record of TLS; the rest of a longer frame is read into its own memory."""
_GREETING_BYTES: Final = 1024
"""Longest first frame of a connection that has not shown whose it is."""
_GREETING_SECONDS: Final = 10.0
_MOST_STRANGERS: Final = 16
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.05, 15.0
_ANSWER_SECONDS: Final = 10.0
"""How long a call may take to become a connection."""
_GRAIN: Final = 1000

_WANTS: Final = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)


class Connection:
    """One TLS connection over a non-blocking socket; frames in and out."""

    def __init__(self, tls: ssl.SSLSocket, most_bytes: int = MAX_FRAME_BYTES) -> None:
        self.tls = tls
        self.most_bytes = most_bytes
        self._ready = False
        self._backlog: deque[memoryview] = deque()
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._begin, self._end = 0, 0
        self._frame = bytearray()
        self._filled = 0

    @property
    def wants_to_write(self) -> bool:
        """Whether something waits for the socket to take it."""
        return bool(self._backlog)

    def shake_hands(self) -> bool:
        """Go on with the handshake; whether it is done. Raises: OSError."""
        if not self._ready:
            with suppress(*_WANTS):
                self.tls.do_handshake()
                self._ready = True
        return self._ready

    def send(self, frame: bytes | bytearray) -> None:
        """Take a frame. Raises: OSError: the connection is broken."""
        length = _LENGTH.pack(len(frame))
        if len(frame) <= _JOINED_BYTES:
            self._backlog.append(memoryview(length + frame))
        else:
            self._backlog += (memoryview(length), memoryview(frame))
        self.flush()

    def flush(self) -> None:
        """Write what the socket takes. Raises: OSError."""
        backlog = self._backlog
        while backlog:
            view = backlog[0]
            try:
                written = self.tls.send(view[:_WRITE_BYTES])
            except _WANTS:
                return
            if written == len(view):
                backlog.popleft()
            else:
                backlog[0] = view[written:]

    def receive(self) -> bytearray | None:
        """The next frame if it has come whole. Raises: OSError: the connection ended, or the frame is too long."""
        try:
            while True:
                if self._frame:
                    if self._fill():
                        frame, self._frame = self._frame, bytearray()
                        return frame
                    self._filled += self._read(memoryview(self._frame)[self._filled :])
                elif self._end - self._begin >= _LENGTH.size:
                    self._begin_frame()
                else:
                    self._gather()
        except _WANTS:
            return None

    def _read(self, target: memoryview) -> int:
        count = self.tls.recv_into(target)
        if not count:
            raise ConnectionResetError("the peer ended the connection")
        return count

    def _gather(self) -> None:
        """Read what has come into the buffer; small frames come with their length in one go."""
        rest = self._end - self._begin
        self._buffer[:rest] = self._buffer[self._begin : self._end]
        self._begin, self._end = 0, rest
        self._end += self._read(self._buffer[rest:])

    def _begin_frame(self) -> None:
        (length,) = _LENGTH.unpack_from(self._buffer, self._begin)
        if not 0 < length <= self.most_bytes:
            raise ConnectionResetError("a frame of a length that is not allowed")
        self._begin += _LENGTH.size
        self._frame, self._filled = bytearray(length), 0

    def _fill(self) -> bool:
        """Move what the buffer holds of the frame; whether the frame is whole."""
        count = min(self._end - self._begin, len(self._frame) - self._filled)
        if count:
            self._frame[self._filled : self._filled + count] = self._buffer[self._begin : self._begin + count]
            self._filled += count
            self._begin += count
        return self._filled == len(self._frame)

    def close(self) -> None:
        """End it."""
        with suppress(OSError):
            self.tls.close()


@dataclass(frozen=True, slots=True)
class Address:
    """Where a peer listens, and the fingerprint of its certificate."""

    host: str
    port: int
    certificate_sha256: str


class DirectChannel:
    """One way to one peer (see `links.channel`). address: whom to call; None: the peer calls, `attach` is told."""

    def __init__(self, address: Address | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.cuts = 0
        self.refused_certificates = 0
        self._address = address
        self._clock = clock
        self._calling: socket.socket | None = None
        self._connection: Connection | None = None
        self._open = False
        self._closed = False
        self._first: bytearray | None = None
        self._tries = 0
        self._since = self._next_try = clock()
        self._context = None if address is None else calling_context()

    @property
    def wants_to_write(self) -> bool:
        """See `Channel`."""
        if self._calling is not None:
            return True
        return self._connection is not None and self._connection.wants_to_write

    @property
    def is_open(self) -> bool:
        """Whether a connection stands."""
        return self._open

    def fileno(self) -> int:
        """See `Channel`."""
        if self._calling is not None:
            return self._calling.fileno()
        return -1 if self._connection is None else self._connection.tls.fileno()

    def send(self, frame: bytes | bytearray) -> None:
        """See `Channel`. Without a connection the frame is lost; the link sends it again after the cut."""
        if self._closed:
            raise InternalError("a closed channel was given a frame")
        if len(frame) > MAX_FRAME_BYTES:
            raise InternalError(f"a frame has at most {MAX_FRAME_BYTES} bytes")
        if self._open and self._connection is not None:
            try:
                self._connection.send(frame)
            except OSError:
                self._break()

    def receive(self) -> bytes | bytearray | None:
        """See `Channel`."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            if not self._open and not self._advance():
                return None
            connection = self._connection
            if connection is None:
                return None
            if connection.wants_to_write:
                connection.flush()
            return connection.receive()
        except (OSError, PeerError) as error:
            self.refused_certificates += isinstance(error, PeerError)
            self._break()
            return None

    def attach(self, connection: Connection, first: bytearray) -> None:
        """The peer has called and shown by its first frame that it is the peer; an older connection ends."""
        self._drop()
        self._connection, self._open, self._first = connection, True, first
        self.cuts += 1

    def close(self) -> None:
        """See `Channel`."""
        self._closed = True
        self._drop()

    # --- calling ----------------------------------------------------------------------------------------------

    def _advance(self) -> bool:
        """One step towards a connection; whether it stands."""
        if self._closed or self._address is None or self._context is None:
            return False
        now = self._clock()
        if self._calling is None and self._connection is None:
            if now < self._next_try:
                return False
            self._since = now
            self._calling = _call(self._address.host, self._address.port)
        if now - self._since > _ANSWER_SECONDS:
            raise TimeoutError("the peer did not answer the call")
        if self._calling is not None:
            if not _has_answered(self._calling):
                return False
            raw, self._calling = self._calling, None
            self._connection = Connection(self._context.wrap_socket(raw, do_handshake_on_connect=False))
        assert self._connection is not None  # made above
        if not self._connection.shake_hands():
            return False
        check_fingerprint(self._connection.tls, self._address.certificate_sha256)
        self._open, self._tries = True, 0
        self.cuts += 1
        return True

    def _break(self) -> None:
        self._drop()
        bound = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2**self._tries)
        self._tries = min(self._tries + 1, 32)
        self._next_try = self._clock() + bound * random_below(_GRAIN + 1) / _GRAIN

    def _drop(self) -> None:
        for each in (self._calling, self._connection):
            if each is not None:
                each.close()
        self._calling = self._connection = self._first = None
        self._open = False


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
        with suppress(*_WANTS, OSError):
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
        _tune(raw)
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


def _call(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except UnicodeError:  # a name that no resolver is asked for, such as one of a label of 70 letters
        raise ConnectionError("the peer's address is no name of a host") from None
    raw = socket.socket(family, kind, protocol)
    _tune(raw)
    raw.connect_ex(address)
    return raw


def _has_answered(raw: socket.socket) -> bool:
    """Whether a call has become a connection. Raises: OSError: it was refused."""
    error = raw.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise ConnectionError(error, "the call was refused")
    try:
        raw.getpeername()
    except OSError:
        return False
    return True


def _tune(raw: socket.socket) -> None:
    raw.setblocking(False)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
