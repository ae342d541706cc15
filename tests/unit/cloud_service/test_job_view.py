"""The table of rounds and the story of a job's page, from the events as the cloud writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cloud_service.pages.job_times import PhaseLine, RoundLine, phases_of, rounds_of
from cloud_service.pages.job_view import story_line
from cloud_service.store.journal import Event

STORY: tuple[tuple[int, str, dict[str, Any]], ...] = (
    (0, "invited", {"hospitals": ["h1", "h2", "h3"]}),
    (4, "roster", {"hospitals": ["h1", "h2", "h3"]}),
    (4, "round_open", {"round": 0, "attempt": 0, "slots": 8}),
    (9, "contributed", {"hospital": "h1", "round": 0}),
    (10, "shrunk", {"without": ["h3"]}),
    (10, "round_open", {"round": 0, "attempt": 1, "slots": 8}),
    (12, "contributed", {"hospital": "h1", "round": 0}),
    (13, "contributed", {"hospital": "h2", "round": 0}),
    (15, "aggregate", {"round": 0, "ciphertexts": 1}),
    (16, "decided", {"hospital": "h1", "round": 0}),
    (18, "level", {"round": 1, "nodes": 2}),
    (18, "round_open", {"round": 1, "attempt": 0, "slots": 16}),
    (20, "contributed", {"hospital": "h2", "round": 1}),
    (21, "aggregate", {"round": 1, "ciphertexts": 1}),
    (26, "done", {}),
)
"""Two rounds; the first began anew without a hospital. Seconds, kind, data."""


def events_of(story: Sequence[tuple[int, str, dict[str, Any]]]) -> tuple[Event, ...]:
    return tuple(Event(number, time, kind, data) for number, (time, kind, data) in enumerate(story, start=1))


EVENTS = events_of(STORY)


def told(time: int, hospital: str, phase: str, rounds: int, sent: int) -> tuple[int, str, dict[str, Any]]:
    return (time, "progress", {"hospital": hospital, "phase": phase, "rounds": rounds, "sent_bytes": sent})


ON_SHARES = events_of(
    [
        (0, "computing", {"compute_parties": ["h1", "h2", "h3"]}),
        told(1, "h2", "sort", 0, 0),
        told(2, "h1", "sort", 0, 0),
        told(5, "h2", "split", 10, 4_000),
        told(6, "h2", "sort", 14, 6_000),
        told(7, "h1", "split", 10, 4_000),
        told(9, "h2", "split", 24, 10_000),
        (11, "decided", {"hospital": "h2"}),
        (15, "decided", {"hospital": "h1"}),
    ]
)


def test_each_round_has_the_time_of_its_own_parts() -> None:
    assert rounds_of(EVENTS) == [
        RoundLine(
            1, slots="8", contributing="3 seconds", adding="2 seconds", deciding="3 seconds", nodes="2"
        ),
        RoundLine(
            2, slots="16", contributing="2 seconds", adding="1 second", deciding="5 seconds", nodes="0"
        ),
    ]


def test_what_has_not_come_yet_is_left_open() -> None:
    _, running = rounds_of(EVENTS[:-2])
    assert running == RoundLine(2, slots="16", contributing="", adding="", deciding="", nodes="")


def test_a_decision_is_told_of_the_round_that_was_decided() -> None:
    told = [story_line(event).sentence for event in EVENTS if event.kind in ("level", "round_open")]
    assert [sentence[:40] for sentence in told] == [
        "Round 1 is open: 8 counts are asked.",
        "Round 1 is open: 8 counts are asked.",
        "All hospitals decided round 1 alike; nod",
        "Round 2 is open: 16 counts are asked.",
    ]


def test_a_job_on_shares_has_the_time_of_its_phases_over_all_layers() -> None:
    assert phases_of(ON_SHARES) == [
        PhaseLine("sorting the columns", time="7 seconds", rounds="20", sent="8.0 kB"),
        PhaseLine("parting the records", time="3 seconds", rounds="4", sent="2.0 kB"),
    ]
    assert phases_of(ON_SHARES[:4])[-1] == PhaseLine("parting the records", "0 seconds", "0", "0 bytes")
    assert phases_of(EVENTS) == []
