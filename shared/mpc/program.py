"""Sub-protocols as generators: one yield is one round, and rounds of independent programs are shared.

A `Program` yields a `Round` (what this party sends to its two neighbours, and the shapes of what it expects) and is
resumed with what it `Received`. It does no I/O: `shared.mpc.local` joins three programs in one process, a hospital's
agent drives one over its links. All three parties yield the same number of rounds in the same order, also where one
of them has nothing to say; sizes depend on public parameters only.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from shared.mpc.prss import Prss
from shared.mpc.ring import Words

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and word type of an array that is expected."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, words: Words) -> Spec:
        """The spec of an array like this one."""
        return cls(words.shape, words.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True, slots=True, repr=False)
class Round:
    """One round of one party. An array that was handed over is not written to before the next round."""

    to_previous: tuple[Words, ...] = ()
    to_next: tuple[Words, ...] = ()
    from_previous: tuple[Spec, ...] = ()
    from_next: tuple[Spec, ...] = ()

    @property
    def sent_bytes(self) -> int:
        """Bytes of all arrays that this party sends."""
        return sum(words.nbytes for words in (*self.to_previous, *self.to_next))


@dataclass(frozen=True, slots=True, repr=False)
class Received:
    """What came in one round, in the order and shapes of the round's specs."""

    previous: tuple[Words, ...] = ()
    next: tuple[Words, ...] = ()


Program = Generator[Round, Received, T]


@dataclass(slots=True)
class Cost:
    """Rounds and bytes of one party. `sent_bytes` counts words, without frames and encryption."""

    rounds: int = 0
    sent_bytes: int = 0


@dataclass(slots=True)
class Meter:
    """What one party has spent, by phase, and how many values were opened, by kind.

    Whoever drives the program calls `count`, and may read `phase_name` and `layer` to show where it stands.
    """

    phase_name: str = "other"
    layer: int = 0
    by_phase: dict[str, Cost] = field(default_factory=dict)
    opened: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Book the rounds of the enclosed part under this name.

        Programs that run in `together` share their rounds, so a phase is opened around `together`, never inside.
        """
        before, self.phase_name = self.phase_name, name
        try:
            yield
        finally:
            self.phase_name = before

    def count(self, sent: Round) -> None:
        """Book one round."""
        cost = self.by_phase.setdefault(self.phase_name, Cost())
        cost.rounds += 1
        cost.sent_bytes += sent.sent_bytes

    @property
    def total(self) -> Cost:
        """Rounds and bytes of all phases."""
        costs = self.by_phase.values()
        return Cost(sum(c.rounds for c in costs), sum(c.sent_bytes for c in costs))


@dataclass(frozen=True, slots=True)
class Party:
    """One of three compute parties inside a program. `index`: 0, 1 or 2."""

    index: int
    prss: Prss = field(repr=False)
    meter: Meter = field(default_factory=Meter)


def together(*programs: Program[T]) -> Program[list[T]]:
    """Run independent programs in lockstep; each round of theirs is one round of the whole.

    Every party passes the same programs in the same order; they may end after different numbers of rounds.
    Returns: their results, in order.
    Rounds: the longest of them. Sends: the sum.
    """
    results: list[Any] = [None] * len(programs)
    pending: list[tuple[int, Program[T], Round]] = []
    for place, program in enumerate(programs):
        try:
            pending.append((place, program, next(program)))
        except StopIteration as end:
            results[place] = end.value
    while pending:
        received = yield _merged([sent for _, _, sent in pending])
        still: list[tuple[int, Program[T], Round]] = []
        from_previous, from_next = 0, 0
        for place, program, sent in pending:
            until_previous = from_previous + len(sent.from_previous)
            until_next = from_next + len(sent.from_next)
            part = Received(
                received.previous[from_previous:until_previous], received.next[from_next:until_next]
            )
            from_previous, from_next = until_previous, until_next
            try:
                still.append((place, program, program.send(part)))
            except StopIteration as end:
                results[place] = end.value
        pending = still
    return results


def _merged(rounds: Sequence[Round]) -> Round:
    if len(rounds) == 1:
        return rounds[0]
    to_previous: list[Words] = []
    to_next: list[Words] = []
    from_previous: list[Spec] = []
    from_next: list[Spec] = []
    for sent in rounds:
        to_previous += sent.to_previous
        to_next += sent.to_next
        from_previous += sent.from_previous
        from_next += sent.from_next
    return Round(tuple(to_previous), tuple(to_next), tuple(from_previous), tuple(from_next))


def pass_to_previous(words: Words) -> Program[Words]:
    """Send an array to the previous party and take the like from the next. Rounds: 1."""
    received = yield Round(to_previous=(words,), from_next=(Spec.of(words),))
    return received.next[0]
