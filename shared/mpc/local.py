"""Three parties of one program in one process: for tests, benchmarks of the mathematics, and dry runs.

What each sends is handed straight to its neighbours, after the same checks of shape and type as over a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from shared.errors import InternalError
from shared.mpc.program import Meter, Party, Program, Received, Round, Spec
from shared.mpc.prss import KEY_BYTES, Prss
from shared.mpc.ring import Words
from shared.mpc.sharing import PARTIES
from shared.rng import RandomBytes

T = TypeVar("T")


@dataclass(slots=True)
class LocalRun(Generic[T]):
    """The results of the three parties and what they sent.

    `sent_bytes[r][i]`: bytes that party i sent in round r. `meters`: one a party.
    """

    results: tuple[T, T, T]
    meters: tuple[Meter, Meter, Meter]
    sent_bytes: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Rounds of the whole program."""
        return len(self.sent_bytes)

    @property
    def total_bytes(self) -> int:
        """Bytes sent by all three parties."""
        return sum(sum(sizes) for sizes in self.sent_bytes)


Tap = Callable[[int, int, Round], Round]
"""Sees (round, party, what it sends) and may change it; for tests of what an observer sees or a cheat does."""


def local_parties(random_bytes: RandomBytes) -> tuple[Party, Party, Party]:
    """Three parties with fresh pair keys: key i is common to parties i-1 and i."""
    keys = [random_bytes(KEY_BYTES) for _ in range(PARTIES)]
    parties = [Party(i, Prss.from_keys(keys[i], keys[(i + 1) % PARTIES])) for i in range(PARTIES)]
    return parties[0], parties[1], parties[2]


def run_local(
    program_of: Callable[[Party], Program[T]], random_bytes: RandomBytes, tap: Tap | None = None
) -> LocalRun[T]:
    """Run a program at three parties. Args: program_of: makes the program of a party, which knows its index.

    Raises: InternalError: the parties do not yield the same number of rounds, or a message has another shape than
        its receiver expects.
    """
    parties = local_parties(random_bytes)
    programs = [program_of(party) for party in parties]
    meters = (parties[0].meter, parties[1].meter, parties[2].meter)
    sizes: list[tuple[int, int, int]] = []
    inputs: Sequence[Received | None] = (None, None, None)
    while True:
        sent, results = _advance(programs, inputs)
        if len(results) == PARTIES:
            return LocalRun((results[0], results[1], results[2]), meters, sizes)
        if results:
            raise InternalError(f"after {len(sizes)} rounds only some of the parties have ended")
        for party, outgoing in zip(parties, sent, strict=True):
            party.meter.count(outgoing)
        sizes.append((sent[0].sent_bytes, sent[1].sent_bytes, sent[2].sent_bytes))
        if tap is not None:
            sent = [tap(len(sizes) - 1, index, outgoing) for index, outgoing in enumerate(sent)]
        inputs = [
            Received(
                previous=_taken(sent[index].from_previous, sent[index - 1].to_next),
                next=_taken(sent[index].from_next, sent[(index + 1) % PARTIES].to_previous),
            )
            for index in range(PARTIES)
        ]


def _advance(
    programs: Sequence[Program[T]], inputs: Sequence[Received | None]
) -> tuple[list[Round], list[T]]:
    sent: list[Round] = []
    results: list[Any] = []
    for program, received in zip(programs, inputs, strict=True):
        try:
            sent.append(next(program) if received is None else program.send(received))
        except StopIteration as end:
            results.append(end.value)
    return sent, results


def _taken(specs: tuple[Spec, ...], arrays: tuple[Words, ...]) -> tuple[Words, ...]:
    if specs != tuple(Spec.of(words) for words in arrays):
        raise InternalError("a message has another shape than its receiver expects")
    return tuple(words.copy() for words in arrays)
