"""A WebSocket to the cloud's relay: httpx opens it (proxies, certificates), the library `websockets` frames it.

One thread runs it. A sender writes directly when the socket takes it, so that a small frame costs no change of thread;
only the rest of a large one is left to the running thread. Nobody waits for the socket while holding the lock, so two
large messages that cross cannot block each other.
"""

from __future__ import annotations

import os
import selectors
import socket
import ssl
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any, Final

import httpcore
import httpx
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State
from websockets.utils import accept_key, generate_key

from hospital_agent.cloud.answers import printable, relay_fault
from hospital_agent.cloud.calls import Calls
from hospital_agent.cloud.carriers import Deliver, NoWebSocketError
from hospital_agent.cloud.connecting import read_capped, reason_of
from hospital_agent.cloud.retries import BusyError
from shared.errors import PeerError
from shared.wire.relay import CLOSE_CODES, MAX_PARCEL_BYTES

GREETING_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 60.0
"""The cloud pings every 20 seconds: so long without a byte means that nobody is there."""
_PIECE_BYTES: Final = 2**18
_TURN_BYTES: Final = 2**21
"""After so many bytes read, senders get the lock."""
_TICK_SECONDS: Final = 5.0
_LAST_WRITE_SECONDS: Final = 2.0
_MAX_REFUSAL_BYTES: Final = 2**16
_AGAIN: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_READ: Final = selectors.EVENT_READ
_WRITE: Final = selectors.EVENT_WRITE


def open_websocket(http: httpx.Client, path: str, calls: Calls) -> WebSocketCarrier:
    """Shake hands and wait for the greeting. The carrier closes `http` at its end.

    Raises: NoWebSocketError: what is on the way lets none through. PeerError: refused. BusyError: not now.
    """
    key = generate_key()
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
    }
    try:
        response = http.send(
            http.build_request("GET", path, headers={**calls.headers(), **upgrade}), stream=True
        )
    except httpx.TransportError as error:
        cut = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        raise BusyError(f"the cloud cannot be reached: {reason_of(error)}", cut=cut) from None
    calls.learn(response.headers)
    try:
        _check_upgrade(response, key)
        stream = response.extensions["network_stream"]
        greeting = stream.read(_PIECE_BYTES, timeout=GREETING_SECONDS)
        if not greeting or isinstance(stream.get_extra_info("ssl_object"), ssl.SSLObject):
            # The second is TLS within a proxy's TLS, which has no socket of its own to write to.
            raise NoWebSocketError("the WebSocket opened, but cannot be used here")
        return WebSocketCarrier(http, response, greeting, stream.get_extra_info("socket"))
    except (httpcore.TimeoutException, httpcore.NetworkError, httpx.TransportError):
        response.close()
        raise NoWebSocketError("nothing came through the WebSocket") from None
    except BaseException:
        response.close()
        raise


def _check_upgrade(response: httpx.Response, key: str) -> None:
    if response.status_code == 101:
        if response.headers.get("sec-websocket-accept", "") != accept_key(key):
            raise NoWebSocketError("the answer to the WebSocket's handshake is not the cloud's")
        return
    body = read_capped(response, _MAX_REFUSAL_BYTES)
    fault = relay_fault(response.status_code, response.headers, body)
    if isinstance(fault, PeerError) or response.status_code == 429 or response.status_code >= 500:
        raise fault
    # A page of a proxy, or the cloud's answer to a request that lost its upgrade.
    raise NoWebSocketError(f"no WebSocket comes through (HTTP {response.status_code})")


class WebSocketCarrier:
    """An open connection (`hospital_agent.cloud.carriers.Carrier`)."""

    def __init__(
        self, http: httpx.Client, response: httpx.Response, greeting: bytes, sock: socket.socket
    ) -> None:
        self._http = http
        self._response = response
        self._greeting = greeting
        self._socket = sock
        self._socket.setblocking(False)
        self._protocol = Protocol(Side.CLIENT, state=State.OPEN, max_size=MAX_PARCEL_BYTES)
        self._lock = threading.Lock()
        self._out: deque[tuple[memoryview, bytes]] = deque()
        self._fragments: list[Any] = []
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._is_closing = self._is_over = self._has_more = False

    def send(self, parcel: bytes) -> None:
        """Take one parcel for sending, without waiting."""
        with self._lock:
            if self._is_over:
                self._out.append((memoryview(parcel), parcel))
                return
            was_idle = not self._out
            self._protocol.send_binary(parcel)
            self._queue(parcel)
            if was_idle:
                with suppress(OSError):  # the running thread meets it too, and says so
                    self._flush()
                if self._out:
                    self._nudge()

    def run(self, deliver: Deliver) -> None:
        """Carry until closed. Raises: BusyError: cut. PeerError: refused."""
        try:
            self._carry(deliver)
        except OSError as error:
            raise BusyError(f"the relay was cut: {error.strerror or 'broken off'}", cut=True) from None
        finally:
            self._end()

    def unsent(self) -> list[bytes]:
        """Parcels of which the socket did not take the last byte."""
        with self._lock:
            return [parcel for _, parcel in self._out if parcel]

    def discard(self) -> None:
        """Instead of `run`: close at once."""
        self._end()

    def close(self) -> None:
        """Let `run` end."""
        with self._lock:
            self._is_closing = True
            if not self._is_over:
                self._nudge()

    def _carry(self, deliver: Deliver) -> None:
        with self._lock:
            parcels = self._take_in(self._greeting)
        heard = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, _READ)
            selector.register(self._woken, _READ)
            while not self._is_closing:
                for parcel in parcels:
                    deliver(parcel)
                selector.modify(self._socket, _READ | _WRITE if self._out else _READ)
                ready = {key.fd for key, _ in selector.select(0 if self._has_more else _TICK_SECONDS)}
                if self._woken in ready:
                    os.read(self._woken, 2**12)
                with self._lock:
                    self._flush()
                    parcels = self._read()
                if ready - {self._woken}:
                    heard = time.monotonic()
                elif time.monotonic() - heard > SILENCE_SECONDS:
                    raise BusyError("the relay fell silent", cut=True)

    def _read(self) -> list[bytes]:
        """What is there, up to a turn's worth. The caller holds the lock; so for all below."""
        parcels: list[bytes] = []
        size = 0
        while size < _TURN_BYTES:
            try:
                piece = self._socket.recv(_PIECE_BYTES)
            except _AGAIN:
                self._has_more = False
                return parcels
            if not piece:
                raise BusyError("the relay was cut", cut=True)
            size += len(piece)
            parcels += self._take_in(piece)
        self._has_more = True  # bytes that TLS has unpacked already do not show at the socket
        return parcels

    def _take_in(self, piece: bytes) -> list[bytes]:
        self._protocol.receive_data(piece)
        if self._protocol.parser_exc is not None:
            raise BusyError("the relay's answer is not in the form of a WebSocket", cut=True)
        parcels: list[bytes] = []
        for event in self._protocol.events_received():
            if not isinstance(event, Frame):
                continue
            if event.opcode is Opcode.CLOSE:
                self._refuse()
            if event.opcode not in (Opcode.BINARY, Opcode.CONT):
                continue
            if event.fin and not self._fragments:
                parcels.append(event.data)  # type: ignore[arg-type]  # bytes or bytearray
                continue
            self._fragments.append(event.data)
            if event.fin:
                parcels.append(b"".join(self._fragments))
                self._fragments.clear()
        self._queue(b"")
        return [parcel for parcel in parcels if parcel]

    def _refuse(self) -> None:
        """The cloud has closed. Raises: PeerError, BusyError."""
        closed = self._protocol.close_rcvd
        code, reason = (closed.code, printable(closed.reason)) if closed else (1006, "")
        if code in CLOSE_CODES:
            raise PeerError(CLOSE_CODES[code], f"the cloud refused: {reason}")
        raise BusyError(f"the cloud closed the relay ({code}): {reason}", cut=True)

    def _queue(self, parcel: bytes) -> None:
        """What the protocol wants to send; an empty `parcel` for its own frames."""
        self._out.extend((memoryview(piece), parcel) for piece in self._protocol.data_to_send() if piece)

    def _flush(self) -> None:
        while self._out:
            view, parcel = self._out[0]
            try:
                size = self._socket.send(view)
            except _AGAIN:
                return
            if size == len(view):
                self._out.popleft()
            else:
                self._out[0] = view[size:], parcel

    def _nudge(self) -> None:
        with suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self._wake, b"!")

    def _end(self) -> None:
        with self._lock:
            if self._is_closing:
                self._say_goodbye()
            self._is_over = True
            os.close(self._woken)
            os.close(self._wake)
        self._response.close()
        self._http.close()

    def _say_goodbye(self) -> None:
        self._socket.settimeout(_LAST_WRITE_SECONDS)
        with suppress(OSError):
            if self._protocol.state is State.OPEN:
                self._protocol.send_close(1000)
                self._queue(b"")
            self._flush()
