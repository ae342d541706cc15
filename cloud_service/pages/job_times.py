"""Time by part of a job, from its story by the cloud's clock: of each round, or of each phase of work on shares.

Whatever people read counts rounds from 1; the protocol, its records and JSON count from 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cloud_service.store.journal import Event
from shared.advice.words import duration_text, number_text, size_text
from shared.protocol.phases import phase_in_words

FIRST_ROUND: Final = 1


@dataclass(frozen=True, slots=True)
class RoundLine:
    """A round by the clock. Times are texts, empty where it has not come to them; `nodes`: still open after it."""

    number: int
    slots: str
    contributing: str
    adding: str
    deciding: str
    nodes: str


@dataclass(frozen=True, slots=True)
class PhaseLine:
    """A phase of the computation on shares, over all layers that went through it. `sent`: by one compute party."""

    name: str
    time: str
    rounds: str
    sent: str


def round_of(event: Event, otherwise: int = FIRST_ROUND) -> int:
    """The round that an event is about. `level` comes with the number of the round that is opened next."""
    if "round" not in event.data:
        return otherwise
    number = int(event.data["round"]) + FIRST_ROUND
    return max(FIRST_ROUND, number - 1) if event.kind == "level" else number


def rounds_of(events: Sequence[Event]) -> list[RoundLine]:
    """All rounds so far. One that began anew counts from its last beginning."""
    moments: dict[int, dict[str, Event]] = {}
    number = FIRST_ROUND
    for event in events:
        number = round_of(event, number)
        if event.kind == "round_open":
            moments[number] = {}
        if event.kind in ("round_open", "contributed", "aggregate", "level"):
            moments.setdefault(number, {})[event.kind] = event
        elif event.kind == "done" and moments:
            moments[max(moments)]["level"] = event
    return [_round(number, found) for number, found in sorted(moments.items())]


def _round(number: int, found: Mapping[str, Event]) -> RoundLine:
    def between(first: str, then: str) -> str:
        if first not in found or then not in found:
            return ""
        return duration_text(max(0, found[then].time - found[first].time))

    opened, level = found.get("round_open"), found.get("level")
    return RoundLine(
        number=number,
        slots="" if opened is None else number_text(int(opened.data.get("slots", 0))),
        contributing=between("round_open", "contributed") if "aggregate" in found else "",
        adding=between("contributed", "aggregate"),
        deciding=between("aggregate", "level"),
        nodes="" if level is None else number_text(int(level.data.get("nodes", 0))),
    )


def phases_of(events: Sequence[Event]) -> list[PhaseLine]:
    """By the compute party that told first, as the three go in step; one that still runs counts up to the newest event.

    What a party sends after its last change of phase is not known, so it is in no line.
    """
    told = [event for event in events if event.kind == "progress"]
    if not told:
        return []
    party = told[0].data["hospital"]
    own = [event for event in told if event.data["hospital"] == party]
    spent: dict[str, Counter[str]] = {}
    for event, then in zip(own, [*own[1:], _end(events, party)], strict=True):
        phase = spent.setdefault(str(event.data["phase"]), Counter())
        phase["seconds"] += max(0, then.time - event.time)
        for name in ("rounds", "sent_bytes"):
            phase[name] += max(0, int(then.data.get(name, 0)) - int(event.data[name]))
    return [
        PhaseLine(
            phase_in_words(name),
            duration_text(each["seconds"]),
            number_text(each["rounds"]),
            size_text(each["sent_bytes"]),
        )
        for name, each in spent.items()
    ]


def _end(events: Sequence[Event], party: str) -> Event:
    """The party's decision; while there is none, the newest event."""
    decided = (e for e in events if e.kind == "decided" and e.data.get("hospital") == party)
    return next(decided, events[-1])
