"""Rosters that a cloud tells apart, and shares that two holders were sent differently: nobody computes on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hospital_agent.computing.agreeing import agree_on_roster, check_inputs
from hospital_agent.computing.assignment import Assignment
from shared.errors import JobCode, JobFailure
from shared.secure_tree.contributing import deal
from tests.unit.hospital_agent.computing.test_member import NAMES, id3

PARTIES = NAMES[:3]


class Said:
    """A mesh whose peers have said what they will say; what this member said is kept."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        self.told: dict[str, Any] = {}

    def exchange(self, outgoing: Any, incoming: Any) -> Any:
        self.told |= dict(outgoing)
        return [self.said[peer] for peer, _ in incoming]


def other_roster(task: Assignment, **changes: Any) -> Assignment:
    """As a cloud could make up of another acceptance that the last member has signed."""
    *rest, last = task.members
    return Assignment(task.manifest, task.mh, task.own, task.private, (*rest, replace(last, **changes)))


def digest(task: Assignment) -> tuple[Any, ...]:
    return (np.frombuffer(task.roster_sha256, np.uint8),)


@pytest.mark.parametrize(
    "changes",
    [{"id": "h5"}, {"ephemeral": b"\x09" + b"\0" * 31}, {"records": 1}, {"certificate_sha256": b"x"}],
)
@pytest.mark.parametrize("own", ["h1", "h4"])
def test_a_member_with_another_roster_ends_the_job_before_a_record_leaves(own: str, changes: Any) -> None:
    members, _, _ = id3()
    task = members.assignments[own]
    said = {peer: digest(members.assignments[peer]) for peer in task.linked}
    agree_on_roster(Said(said), task)  # type: ignore[arg-type]
    said["h2"] = digest(other_roster(members.assignments["h2"], **changes))
    mesh = Said(said)
    with pytest.raises(JobFailure, match="h2 was sent another roster") as failed:
        agree_on_roster(mesh, task)  # type: ignore[arg-type]
    assert failed.value.code is JobCode.DIVERGED
    assert {len(words[0]) for words in mesh.told.values()} == {32}


def dealt(members: Any, blocks: Any, mode: Any) -> dict[str, Any]:
    """By member, the messages to the three parties."""
    return {
        name: deal(mode(task).layout, blocks[name], task.input_seeds)
        for name, task in members.assignments.items()
    }


@pytest.mark.parametrize("spoiled", [None, *range(3)])
@pytest.mark.parametrize("place", [0, 1])
def test_shares_that_two_holders_were_sent_differently_are_not_computed_on(
    spoiled: int | None, place: int
) -> None:
    members, blocks, mode = id3()
    messages = dealt(members, blocks, mode)
    came = [{name: [w.copy() for w in sent[party]] for name, sent in messages.items()} for party in range(3)]
    if spoiled is not None:
        came[spoiled]["h4"][place].reshape(-1)[0] ^= 1
    told: dict[tuple[str, str], Any] = {}
    tasks = [members.assignments[name] for name in PARTIES]
    for party, task in enumerate(tasks):
        mesh = Said(dict.fromkeys(PARTIES, (np.zeros((4, 32), np.uint8),)))
        with pytest.raises(JobFailure):
            check_inputs(mesh, task, party, came[party])  # type: ignore[arg-type]
        told |= {(task.own, peer): words for peer, words in mesh.told.items()}
    failures = []
    for party, task in enumerate(tasks):
        said = {peer: told[peer, task.own] for peer in task.neighbours}
        try:
            check_inputs(Said(said), task, party, came[party])  # type: ignore[arg-type]
        except JobFailure as failure:
            failures.append(failure)
    assert len(failures) == (0 if spoiled is None else 2)
    assert {failure.code for failure in failures} <= {JobCode.SHARE_INCONSISTENT}
    assert all(str(failure).startswith("h4 ") for failure in failures)


def test_a_member_without_records_is_compared_too() -> None:
    members, blocks, mode = id3()
    messages = dealt(members, blocks, mode)
    messages["h4"] = ((), (), ())
    task = members.assignments["h1"]
    mesh = Said(dict.fromkeys(PARTIES, (np.zeros((4, 32), np.uint8),)))
    with pytest.raises(JobFailure, match=r"^h1 "):
        check_inputs(mesh, task, 0, {name: sent[0] for name, sent in messages.items()})  # type: ignore[arg-type]
