"""Channels through the cloud: one connection for all peers of a job, which finds its way back by itself.

A WebSocket is tried first, long polls when something on the way lets none through; a setting fixes one of them. The
connection has a thread of its own, so that it does not fall silent during a long computation; a channel's pipe becomes
readable when something has come.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from hospital_agent.cloud import BusyError, Carrier, FullJitter, NoWebSocketError, Patience
from hospital_agent.settings import Way
from shared.errors import InternalError, PeerError, kind_and_place
from shared.ids import AgentId
from shared.wire.relay import MAX_FRAME_BYTES, as_parcel, read_parcel

Tell = Callable[[str], None]
HELD_BYTES: Final = 64 * 2**20
"""Of one peer's frames that were not fetched yet; beyond, they are dropped and the peer's link sends them again."""
_SHORT_LIFE_SECONDS: Final = 5.0
"""A WebSocket that is cut earlier counts as one that did not open."""
_BAD_TRIES: Final = 3
"""After so many WebSockets in a row that did not hold, long polls have a turn."""
_END_SECONDS: Final = 3.0


class Door(Protocol):
    """What opens ways (`hospital_agent.cloud.RelayDoor`)."""

    def websocket(self) -> Carrier:
        """Raises: NoWebSocketError, BusyError, PeerError."""

    def long_poll(self) -> Carrier:
        """Raises: BusyError, PeerError."""


class RelayedChannel:
    """To and from one peer (`hospital_agent.links.channel.Channel`)."""

    wants_to_write = False

    def __init__(self, relayed: Relayed, peer: AgentId) -> None:
        self._relayed = relayed
        self._peer = peer
        self._frames: deque[memoryview] = deque()
        self._held = 0
        self._lost = 0
        self._lock = threading.Lock()
        self._pipe = os.pipe()
        self._is_signalled = self._is_closed = False

    @property
    def cuts(self) -> int:
        """How many times the way was interrupted so far, or a frame had to be dropped here."""
        return self._relayed.cuts + self._lost

    def fileno(self) -> int:
        """Readable when a frame, a cut or a refusal is there."""
        return -1 if self._is_closed else self._pipe[0]

    def send(self, frame: bytes | bytearray) -> None:
        """Take one frame for sending, without waiting. Raises: PeerError: refused for good. InternalError."""
        if self._is_closed:
            raise InternalError("the channel is closed")
        if not 0 < len(frame) <= MAX_FRAME_BYTES:
            raise InternalError(f"a frame has 1 to {MAX_FRAME_BYTES} bytes, this one has {len(frame)}")
        self._relayed.send(as_parcel(self._peer, frame))

    def receive(self) -> bytes | None:
        """The next frame, None when there is none. Raises: PeerError: refused for good."""
        with self._lock:
            frame = self._frames.popleft() if self._frames else None
            if self._is_signalled and not self._frames:
                os.read(self._pipe[0], 1)
                self._is_signalled = False
            if frame is not None:
                self._held -= len(frame)
                return bytes(frame)
        self._relayed.check()
        return None

    def close(self) -> None:
        """End it; the last channel ends the connection."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._frames.clear()
            for end in self._pipe:
                os.close(end)
        self._relayed.leave(self._peer)

    def deliver(self, frame: memoryview) -> None:
        """From the connection's thread: one frame of the peer."""
        with self._lock:
            if self._held + len(frame) > HELD_BYTES:
                self._lost += 1
            elif not self._is_closed:
                self._frames.append(frame)
                self._held += len(frame)
            self._signal()

    def wake(self) -> None:
        """From the connection's thread: look at `cuts`, or what `receive` raises."""
        with self._lock:
            self._signal()

    def _signal(self) -> None:
        if not self._is_signalled and not self._is_closed:
            self._is_signalled = True
            os.write(self._pipe[1], b"!")


class Relayed:
    """The connection of one member in one job, begun at once.

    Args: peers: everybody it may exchange frames with. tell: gets a line for the log when the way changes.
    """

    def __init__(
        self, door: Door, peers: Sequence[AgentId], *, way: Way = "auto", patience: Patience, tell: Tell
    ) -> None:
        self._door = door
        self._way = way
        self._patience = patience
        self._tell = tell
        self._channels = {peer: RelayedChannel(self, peer) for peer in peers}
        self._open = set(peers)
        self._lock = threading.Lock()
        self._carrier: Carrier | None = None
        self._waiting: deque[bytes] = deque()
        self._fault: PeerError | InternalError | None = None
        self._stop = threading.Event()
        self._bad_tries = 0
        self._is_forbidden = False
        self._told = ""
        self.cuts = 0
        self._thread = threading.Thread(target=self._keep, name="relay", daemon=True)
        self._thread.start()

    def channel(self, peer: AgentId) -> RelayedChannel:
        """The way to and from one of the peers."""
        return self._channels[peer]

    def send(self, parcel: bytes) -> None:
        """One parcel, now or when there is a way again. Raises: PeerError: refused for good."""
        self.check()
        with self._lock:
            if self._carrier is None:
                self._waiting.append(parcel)
            else:
                self._carrier.send(parcel)

    def check(self) -> None:
        """Raises: PeerError: the cloud refused for good. InternalError: the connection's thread ended by a bug."""
        if isinstance(self._fault, PeerError):
            raise PeerError(self._fault.code, str(self._fault))
        if self._fault is not None:
            raise InternalError(str(self._fault))

    def leave(self, peer: AgentId) -> None:
        """The channel of that peer is closed."""
        self._open.discard(peer)
        if not self._open:
            self.close()

    def close(self) -> None:
        """Send what is on its way if that can be done soon, and end. Closing twice is allowed."""
        with self._lock:
            self._stop.set()
            if self._carrier is not None:
                self._carrier.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(_END_SECONDS)

    def _keep(self) -> None:
        jitter = FullJitter(self._patience)
        while not self._stop.is_set():
            try:
                carrier = self._find_way()
                jitter = FullJitter(self._patience)
                self._carry(carrier)
            except BusyError as busy:
                self._say(f"the relay is not there: {busy}")
                self._stop.wait(jitter.next_wait(busy.retry_after_seconds))
            except PeerError as refusal:
                self._fault = refusal
                break
            except Exception as error:  # a bug must end the job at once, not leave the others waiting
                self._fault = InternalError(f"the relay's thread ended by {kind_and_place(error)}")
                break
        self._wake_all()

    def _find_way(self) -> Carrier:
        """Open one. Raises: BusyError, PeerError."""
        if self._way == "long-poll" or (self._way == "auto" and self._bad_tries >= _BAD_TRIES):
            return self._opened(self._door.long_poll(), "long polls")
        try:
            return self._opened(self._door.websocket(), "a WebSocket")
        except NoWebSocketError as error:
            if self._way == "websocket":
                raise BusyError(f'{error}; channel = "auto" would fall back to long polls') from None
            self._bad_tries, self._is_forbidden = _BAD_TRIES, True
            self._say(f"{error}; falling back to long polls")
            return self._opened(self._door.long_poll(), "long polls")
        except BusyError as busy:
            if self._way == "auto" and busy.cut:
                self._blame(busy)
            raise

    def _blame(self, busy: BusyError) -> None:
        """Is it the WebSocket, or is nobody there? Raises: BusyError, PeerError: the latter."""
        self._door.long_poll().discard()
        self._bad_tries += 1
        self._say(f"plain requests pass, a WebSocket does not: {busy}")

    def _opened(self, carrier: Carrier, name: str) -> Carrier:
        self._say(f"frames go through the cloud by {name}")
        return carrier

    def _carry(self, carrier: Carrier) -> None:
        began = time.monotonic()
        with self._lock:
            for parcel in self._waiting:
                carrier.send(parcel)
            self._waiting.clear()
            self._carrier = carrier
            if self._stop.is_set():
                carrier.close()
        try:
            carrier.run(self._deliver)
        finally:
            with self._lock:
                self._carrier = None
                self._waiting.extendleft(reversed(carrier.unsent()))
            was_short = time.monotonic() - began < _SHORT_LIFE_SECONDS and not self._stop.is_set()
            if self._bad_tries < _BAD_TRIES:
                self._bad_tries = self._bad_tries + 1 if was_short else 0
            elif was_short and not self._is_forbidden:
                self._bad_tries = 0  # long polls are cut as well, so it was not the WebSocket's fault
            self.cuts += 1
            self._wake_all()

    def _deliver(self, parcel: bytes) -> None:
        with suppress(PeerError):  # what is not a parcel of a peer is dropped: links ask for what is missing
            peer, frame = read_parcel(parcel)
            channel = self._channels.get(peer)
            if channel is not None:
                channel.deliver(frame)

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()

    def _say(self, text: str) -> None:
        if text != self._told:
            self._told = text
            self._tell(text)
