"""One TLS connection of a direct way: frames in and out, without a wait anywhere.

A frame travels as `u32 length || frame`; the length is checked before a byte of memory is taken for it.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import deque
from contextlib import suppress
from typing import Final

from shared.wire.relay import MAX_FRAME_BYTES

WANTS: Final = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError, InterruptedError)
"""What a socket raises that has nothing to give, or takes nothing, right now."""
_LENGTH: Final = struct.Struct(">I")
_JOINED_BYTES: Final = 2**14
"""Up to here, length and frame are one write."""
_WRITE_BYTES: Final = 2**18
_READ_BYTES: Final = 2**14
"""One record of TLS; the rest of a longer frame is read into its own memory."""


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
            with suppress(*WANTS):
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
            except WANTS:
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
        except WANTS:
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


def tune(raw: socket.socket) -> None:
    """Never wait, send small frames at once, and notice a peer whose machine is gone."""
    raw.setblocking(False)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
