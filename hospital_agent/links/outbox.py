"""What goes to one peer: sealed in order, kept until the peer has it, sent again from where the peer asks.

Within one run of the program a number is sealed into one content only, whatever the network does: contents follow one
another as the program sends them, and the acknowledgement in a frame is what the program had taken by then. Each run
has a random start in its nonces, so that two runs never share one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from hospital_agent.links.channel import Channel
from hospital_agent.links.pieces import contents_of
from shared.crypto.frames import START_BYTES, FrameSealer, Place, Refusal, RefusedFrameError
from shared.errors import PrivetError
from shared.ids import AgentId
from shared.mpc.ring import Words
from shared.rng import random_bytes

WINDOW_BYTES: Final = 2**23
"""Sealed and not yet acknowledged; what is kept for a peer."""


class FramesGoneError(PrivetError):
    """A peer asks for frames that are no longer kept: the program is to run again over the log."""


class Outbox:
    """Frames to one peer. heard: the peer has said what it expects since the way was last cut; before, nothing is sent.
    live: the program goes on over the network, not over the log of earlier starts."""

    def __init__(self, peer: AgentId, sealer: FrameSealer, channel: Channel) -> None:
        self.heard = self.live = False
        self._peer, self._sealer, self._channel = peer, sealer, channel
        self._acknowledged = 0
        self.begin()

    def begin(self) -> None:
        """The state at the start of the program; what the peer has stays known."""
        self._contents: deque[tuple[int, int, Iterator[bytes | memoryview]]] = deque()
        self._kept: deque[bytearray] = deque()
        self._kept_bytes = 0
        self._messages = 0
        self._next = self.sent_up_to = 0
        self._start = random_bytes(START_BYTES)

    def queue(self, arrays: Sequence[Words], taken: int) -> None:
        """Begin to send a message. taken: frames of the peer that the program has used so far."""
        if any(words.nbytes for words in arrays):
            self._contents.append((self._messages, taken, contents_of(arrays)))
            self._messages += 1

    @property
    def is_sealed(self) -> bool:
        """Whether all that was queued is sealed."""
        return not self._contents

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to seal and nothing to send."""
        return not self._contents and self.sent_up_to >= self._next

    @property
    def all_acknowledged(self) -> bool:
        """Whether the peer has everything."""
        return not self._contents and self._acknowledged >= self._next

    def push(self) -> bool:
        """Send what is kept for it, seal and send what the window allows; whether anything moved."""
        moved = False
        if self.heard and self.sent_up_to < self._next:
            first = self._next - len(self._kept)
            for number in range(max(self.sent_up_to, first), self._next):
                self._channel.send(self._kept[number - first])
            self.sent_up_to, moved = self._next, True
        while self._contents and self._has_room:
            round_number, taken, contents = self._contents[0]
            content = next(contents, None)
            if content is None:
                self._contents.popleft()
                continue
            self._seal(Place(self._next, taken, round_number, self._start), content)
            moved = True
        return moved

    @property
    def _has_room(self) -> bool:
        # What an earlier start sealed is sealed again without waiting; the peer has it but for the last of it.
        return self._kept_bytes < WINDOW_BYTES or not (self.live or self.heard)

    def _seal(self, place: Place, content: bytes | memoryview) -> None:
        self._next += 1
        if place.number < self._acknowledged:
            self.sent_up_to = self._next
            return
        frame = self._sealer.seal(place, content)
        self._kept.append(frame)
        self._kept_bytes += len(frame)
        if self.heard:
            self._channel.send(frame)
            self.sent_up_to = self._next
        elif not self.live:
            self._drop(lambda: self._kept_bytes > WINDOW_BYTES)

    def _drop(self, too_many: Callable[[], bool]) -> None:
        while self._kept and too_many():
            self._kept_bytes -= len(self._kept.popleft())

    def acknowledge(self, number: int) -> None:
        """The peer has all frames below this number."""
        self._acknowledged = max(self._acknowledged, number)
        self._drop(lambda: self._next - len(self._kept) < self._acknowledged)

    def start_again(self, number: int) -> None:
        """The peer has begun anew and has all frames below this number, perhaps fewer than before."""
        self._acknowledged = 0
        self.acknowledge(number)

    def send_again_from(self, number: int) -> None:
        """The peer has not got this frame and those behind it.

        Raises: FramesGoneError: it lost what it had. RefusedFrameError: repeated: it has said that it has the frame.
        """
        if number >= self._next:
            return
        if number < self._next - len(self._kept):
            if number < self._acknowledged:
                raise RefusedFrameError(Refusal.REPEATED)
            raise FramesGoneError(
                f"{self._peer} asks again for frame {number}; the program runs again over the log"
            )
        self.sent_up_to = min(self.sent_up_to, number)
