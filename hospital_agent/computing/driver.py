"""Runs one compute party's program over its links, and says how far it is. What is computed is the program's affair.

Time is booked to the phase that the program names when it yields a round, and split into what this party computed and
what it waited for others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from hospital_agent.links.mesh import Mesh
from shared.ids import AgentId
from shared.mpc.program import Cost, Meter, Party, Program, Received

T = TypeVar("T")

_TELL_SECONDS: Final = 1.0
"""How often progress is told within one phase."""


@dataclass(slots=True)
class PhaseTime:
    """Seconds of one phase: computing here, and waiting for messages."""

    computed: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a program stands. Sizes and times only; nothing in it comes from records.

    replays: it goes again through the log of an earlier start.
    """

    phase: str
    layer: int
    rounds: int
    sent_bytes: int
    by_phase: dict[str, Cost]
    seconds_by_phase: dict[str, PhaseTime]
    replays: bool


@dataclass(slots=True)
class Watch:
    """Follows one run. tell: called at each new phase or layer, and about once a second."""

    tell: Callable[[Standing], None] | None = None
    seconds: dict[str, PhaseTime] = field(default_factory=dict)
    _told_at: float = 0.0
    _told: tuple[str, int] = ("", -1)

    def book(self, phase: str, computed: float, waited: float) -> None:
        """Add the seconds of one round."""
        spent = self.seconds.setdefault(phase, PhaseTime())
        spent.computed += computed
        spent.waited += waited

    def consider(self, meter: Meter, now: float, *, replays: bool) -> None:
        """Tell where the program stands if it is time to."""
        if self.tell is None:
            return
        where = (meter.phase_name, meter.layer)
        if where == self._told and now - self._told_at < _TELL_SECONDS:
            return
        self._told, self._told_at = where, now
        self.tell(standing_of(meter, self.seconds, replays=replays))


def standing_of(meter: Meter, seconds: dict[str, PhaseTime], *, replays: bool) -> Standing:
    """A standing that does not change when the program goes on."""
    total = meter.total
    return Standing(
        phase=meter.phase_name,
        layer=meter.layer,
        rounds=total.rounds,
        sent_bytes=total.sent_bytes,
        by_phase={name: Cost(cost.rounds, cost.sent_bytes) for name, cost in meter.by_phase.items()},
        seconds_by_phase={name: PhaseTime(each.computed, each.waited) for name, each in seconds.items()},
        replays=replays,
    )


def drive(
    program: Program[T],
    party: Party,
    neighbours: tuple[AgentId, AgentId],
    mesh: Mesh,
    watch: Watch | None = None,
) -> T:
    """Run the program of `party` to its end.

    Args: neighbours: the agents that are the previous and the next party. mesh: has links to both.
    Returns: what the program returns.
    Raises: as `Mesh.exchange`, and whatever the program raises; the program is closed then.
    """
    watch = watch or Watch()
    previous, following = neighbours
    received: Any = None
    clock = time.perf_counter
    try:
        while True:
            begun = clock()
            try:
                sent = next(program) if received is None else program.send(received)
            except StopIteration as end:
                watch.book(party.meter.phase_name, clock() - begun, 0.0)
                return end.value  # type: ignore[no-any-return]  # a generator's value has no type here
            party.meter.count(sent)
            outgoing = [
                (peer, arrays)
                for peer, arrays in ((previous, sent.to_previous), (following, sent.to_next))
                if arrays
            ]
            incoming = [
                (peer, specs)
                for peer, specs in ((previous, sent.from_previous), (following, sent.from_next))
                if specs
            ]
            yielded = clock()
            arrived = mesh.exchange(outgoing, incoming)
            now = clock()
            watch.book(party.meter.phase_name, yielded - begun, now - yielded)
            watch.consider(party.meter, now, replays=mesh.replays)
            received = Received(
                previous=arrived[0] if sent.from_previous else (),
                next=arrived[-1] if sent.from_next else (),
            )
    finally:
        program.close()
