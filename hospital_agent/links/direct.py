"""Direct ways between compute parties that can reach each other: TLS 1.3 over TCP, without a wait anywhere.

Of two parties one calls (here) and one listens (`listener`). A connection that breaks is called again with growing,
jittered waits; links then ask for what was on its way.
"""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hospital_agent.links.connection import Connection, tune
from hospital_agent.links.lookup import Lookup
from hospital_agent.links.tls import calling_context, check_fingerprint
from shared.errors import InternalError, PeerError
from shared.rng import random_below
from shared.wire.relay import MAX_FRAME_BYTES

_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.05, 15.0
_ANSWER_SECONDS: Final = 10.0
"""How long a name may take to be found, and then a call to become a connection."""
_GRAIN: Final = 1000


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
        self._lookup = None if address is None else Lookup(address.host, address.port)
        self._asked = self._lookup is not None
        if self._lookup is not None:
            self._lookup.ask()

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
            self._calling = self._begin_call(now)
        if self._asked and now - self._since > _ANSWER_SECONDS:
            raise TimeoutError("the peer did not answer the call")
        if self._calling is not None:
            if not _has_answered(self._calling):
                return False
            raw, self._calling = self._calling, None
            self._connection = Connection(self._context.wrap_socket(raw, do_handshake_on_connect=False))
        if self._connection is None or not self._connection.shake_hands():
            return False
        check_fingerprint(self._connection.tls, self._address.certificate_sha256)
        self._open, self._tries = True, 0
        self.cuts += 1
        return True

    def _begin_call(self, now: float) -> socket.socket | None:
        """Ask where the peer is, then call it; of several addresses another one at each try. Raises: OSError."""
        if self._lookup is None or now < self._next_try:
            return None
        if not self._asked:
            self._asked, self._since = True, now
            self._lookup.ask()
        addresses = self._lookup.addresses()
        if addresses is None:
            return None
        self._since = now
        return _call(*addresses[self._tries % len(addresses)])

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
        self._open = self._asked = False


def _call(family: socket.AddressFamily, address: Any) -> socket.socket:
    """A call under way. Raises: OSError: there is no way to that address."""
    raw = socket.socket(family, socket.SOCK_STREAM)
    tune(raw)
    error = raw.connect_ex(address)
    if error not in (0, errno.EINPROGRESS, errno.EINTR):
        raw.close()
        raise OSError(error, "the peer cannot be called")
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
