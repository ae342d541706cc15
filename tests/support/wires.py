"""Two links over a wire that a test mistreats, with a clock that the test moves; nothing waits, nothing is random.

`Wire` carries frames both ways and does to each what the test says. `Member` runs a script of messages over one link,
as a mesh would, can be killed and comes back from its log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from hospital_agent.links.frame_log import Frame
from hospital_agent.links.link import Link
from hospital_agent.links.outbox import FramesGoneError
from shared.crypto.agreement import agree, public_of
from shared.crypto.frames import Pair
from shared.ids import AgentId, JobId
from shared.mpc.program import Spec
from shared.mpc.ring import Words

JOB = JobId("ab" * 16)
MH = bytes(range(32))
NAMES = (AgentId("a"), AgentId("b"), AgentId("c"))
PRIVATES = {name: bytes([place + 1]) * 32 for place, name in enumerate(NAMES)}
FAULTS = ("pass", "drop", "repeat", "hold", "spoil", "forge", "cut", "cut one end")


def pair_of(sender: AgentId, receiver: AgentId, *, job: JobId = JOB, mh: bytes = MH) -> Pair:
    """The keys of an ordered pair of `NAMES`."""
    return Pair(job, mh, sender, receiver, agree(PRIVATES[sender], public_of(PRIVATES[receiver])))


class MemoryLog:
    """The log of a member in memory; `lose` is what a power cut does to its tail."""

    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []
        self.starts = 1

    def append(self, sender: int, frame: Frame) -> None:
        self.frames.append((sender, bytes(frame)))

    def flush(self) -> None:
        pass

    def replay(self) -> Iterator[tuple[int, bytes]]:
        return iter(self.frames)  # a list's iterator sees what is appended meanwhile

    def cut(self) -> None:
        raise AssertionError("a log in memory is never damaged")

    def lose(self, count: int) -> None:
        del self.frames[len(self.frames) - min(count, len(self.frames)) :]


@dataclass
class End:
    """One end of a wire: a `Channel`."""

    wire: Wire
    arrived: deque[bytes] = field(default_factory=deque)
    cuts: int = 0
    wants_to_write: bool = False

    def fileno(self) -> int:
        return -1

    def send(self, frame: Frame) -> None:
        self.wire.carry(self, bytes(frame))

    def receive(self) -> bytes | None:
        return self.arrived.popleft() if self.arrived else None

    def close(self) -> None:
        pass


class Wire:
    """Between two ends. faults: what happens to the frames, one after the other; then all pass."""

    def __init__(self, faults: Sequence[str] = ()) -> None:
        self.ends = End(self), End(self)
        self.faults = deque(faults)
        self._held: list[tuple[End, bytes]] = []
        self.carried: list[bytes] = []

    def carry(self, sender: End, frame: bytes) -> None:
        other = self.ends[1] if sender is self.ends[0] else self.ends[0]
        self.carried.append(frame)
        fault = self.faults.popleft() if self.faults else "pass"
        if fault == "hold":
            self._held.append((other, frame))
            return
        if fault == "spoil":
            place = len(frame) // 2
            frame = frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]
        if fault == "forge":
            other.arrived.append(frame[:-1] + bytes([frame[-1] ^ 255]))
        if fault == "cut":
            self.cut()
        if fault == "cut one end":
            other.arrived.clear()
            other.cuts += 1
        if fault not in ("drop", "cut", "cut one end"):
            other.arrived.append(frame)
        if fault == "repeat":
            other.arrived.append(frame)
        for receiver, late in self._held:
            receiver.arrived.append(late)
        self._held.clear()

    def cut(self) -> None:
        """Everything under way is lost."""
        self._held.clear()
        for end in self.ends:
            end.arrived.clear()
            end.cuts += 1


Step = tuple[Sequence[Words], Sequence[Words]]
"""What a member sends in one step, and what it must receive in it."""


class Member:
    """One of the two members of a wire. script: its steps, the same at every start."""

    def __init__(
        self, own: AgentId, peer: AgentId, end: End, script: Sequence[Step], clock: Callable[[], float]
    ) -> None:
        self.log = MemoryLog()
        self._make = lambda: Link(pair_of(own, peer), end, self.log, 0, clock)
        self._script = script
        self.repeats = 0
        self._begin()

    def _begin(self) -> None:
        self.link = self._make()
        self._run_again()

    def _run_again(self) -> None:
        self._replay: Iterator[tuple[int, bytes]] | None = self.log.replay()
        self._entry: tuple[int, bytes] | None = None
        self._program = self._run()
        self.done = False

    def kill(self, lost_frames: int = 0) -> None:
        """kill -9, and a new start; lost_frames: what a power cut took from the log."""
        self.log.lose(lost_frames)
        self.log.starts += 1
        self._begin()

    def _run(self) -> Iterator[None]:
        for outgoing, expected in self._script:
            self.link.queue(outgoing)
            if self._replay is None:
                self.link.push()
            self.link.expect([Spec.of(words) for words in expected])
            while not (self.link.complete and self.link.sent):
                yield
            received = self.link.take_message()
            assert len(received) == len(expected)
            for words, wanted in zip(received, expected, strict=True):
                assert words.dtype == wanted.dtype
                assert np.array_equal(words, wanted)

    def step(self) -> None:
        """As far as it goes without waiting."""
        try:
            self._advance()
        except FramesGoneError:
            self.repeats += 1
            self.link.rewind()
            self._run_again()

    def _advance(self) -> None:
        while not self.done and next(self._program, self) is not self:
            if self._replay is not None:
                if not self._step_replay(self._replay):
                    return
            elif not self.link.service():
                self.link.remind()
                return
        self.done = True
        if self._replay is not None:
            self._go_live()
        self.link.service()
        if not self.link.all_acknowledged:
            self.link.say(answer=True)

    def _step_replay(self, replay: Iterator[tuple[int, bytes]]) -> bool:
        """As a mesh does it; False: it has to wait."""
        self._entry = self._entry or next(replay, None)
        if self._entry is None:
            self._go_live()
        elif not self.link.complete:
            assert self.link.take_logged(self._entry[1])
            self._entry = None
        else:
            self.link.push()
            if not self.link.sent:
                return self.link.service()
        return True

    def _go_live(self) -> None:
        self._replay = self._entry = None
        self.link.go_live()
