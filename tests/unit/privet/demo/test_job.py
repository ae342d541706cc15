"""What the demo makes of a job's events, the bad endings above all; the APIs are played from memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from rich.console import Console

from privet.demo.job import JobWatch
from privet.demo.loopback import Api
from privet.demo.progress import Progress
from privet.demo.result import RoundSizes
from shared.errors import InputError, InternalError, JobCode, JobFailure, TemporaryError
from shared.ids import AgentId

JOB = "0" * 32
OPENING = [
    ("roster", {"hospitals": ["h1", "h2", "h3"]}),
    ("round_open", {"round": 0, "attempt": 0, "slots": 40}),
    ("contributed", {"hospital": "h1", "round": 0}),
]


@dataclass
class Played:
    """An API that answers from memory; an exception among the events is raised in its place."""

    events: list[Any] = field(default_factory=list)
    documents: dict[str, Any] = field(default_factory=dict)

    def stream(self, path: str) -> Iterator[dict[str, Any] | None]:
        assert path == f"/v1/jobs/{JOB}/events"
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield None if event is None else {"kind": event[0], "data": event[1]}

    def get(self, path: str) -> Any:
        return self.documents[path]


def watch(
    events: list[Any], check: Any = lambda: None, reason: str | None = None
) -> tuple[JobWatch, io.StringIO]:
    status = {"/status": {"jobs": [{"job": JOB, "reason": reason}]}}
    agents = {AgentId(name): cast(Api, Played(documents=status)) for name in ("h1", "h2", "h3")}
    told = io.StringIO()
    cloud = cast(Api, Played(events))
    return JobWatch(cloud, agents, check, Progress(Console(file=told, width=200))), told


def test_sizes_come_from_the_events_that_the_cloud_sees() -> None:
    events = [
        *OPENING,
        None,
        ("level", {"round": 1, "nodes": 2}),
        ("round_open", {"round": 1, "attempt": 0, "slots": 16}),
        ("done", {}),
        ("attested", {"hospital": "h1"}),
    ]
    watching, told = watch(events)
    assert watching.follow(JOB) == (RoundSizes(1, 40), RoundSizes(2, 16))
    assert "round 2: 2 open nodes, 16 sums asked" in told.getvalue()


def test_progress_on_shares_is_told_once_for_all_compute_parties() -> None:
    layer = {"phase": "split", "layer": 2, "layers": 4, "rounds": 90, "sent_bytes": 1_200_000, "seconds": 1}
    events = [
        OPENING[0],
        ("computing", {"compute_parties": ["h2", "h3", "h1"]}),
        *(("progress", {"hospital": name, **layer}) for name in ("h1", "h2", "h3")),
        ("done", {}),
    ]
    watching, told = watch(events)
    assert watching.follow(JOB) == ()
    assert "h2, h3, h1 compute on shares" in told.getvalue()
    assert told.getvalue().count("layer 2 of 4: parting the records; 90 rounds, 1.2 MB sent") == 1


def test_a_declining_hospital_ends_the_demo_with_its_reason() -> None:
    watching, _ = watch([("declined", {"hospital": "h2", "code": "data"})], reason="column 'a' is missing")
    with pytest.raises(JobFailure, match="h2 declined the job: column 'a' is missing"):
        watching.follow(JOB)


@pytest.mark.parametrize(
    ("code", "known"), [("tag_mismatch", JobCode.TAG_MISMATCH), ("news", JobCode.CANCELLED)]
)
def test_a_failed_job_ends_the_demo_with_its_code(code: str, known: JobCode) -> None:
    watching, _ = watch([*OPENING, ("ended", {"code": code})], reason="the sums fail their check")
    with pytest.raises(JobFailure, match="the sums fail their check") as caught:
        watching.follow(JOB)
    assert caught.value.code is known


def test_a_program_that_ended_is_the_better_reason_for_a_cut() -> None:
    def check() -> None:
        raise InputError("the disk is full")

    watching, _ = watch([*OPENING, TemporaryError("cannot be reached")], check)
    with pytest.raises(InputError, match="the disk is full"):
        watching.follow(JOB)
    watching, _ = watch([*OPENING, TemporaryError("cannot be reached")])
    with pytest.raises(TemporaryError):
        watching.follow(JOB)


def test_events_that_end_too_early_are_a_fault() -> None:
    watching, _ = watch(OPENING)
    with pytest.raises(InternalError, match="before job"):
        watching.follow(JOB)
