"""Every wait says for whom, for what, since when, until when, and what happens then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.ids import AgentId
from shared.protocol import coordinator
from shared.protocol.job import Job, Member
from shared.protocol.states import AgentState, CloudState
from shared.protocol.waiting import (
    Waiting,
    from_document,
    of_hospital,
    of_job,
    of_person,
    of_receipt,
    the_cloud,
)
from shared.wire.envelope import MessageType, SignedEnvelope
from tests.support.clinic import SCHEMA
from tests.support.toy_keys import fixed_key
from tests.support.world import Parties

NAMES = tuple(AgentId(name) for name in ("h1", "h2", "h3", "h4"))
PARTIES = Parties(list(NAMES), fixed_key(512))
SAID: Any = SignedEnvelope.model_construct()
"""Stands for any message that came; what it says is not looked at here."""


def job(state: CloudState, *, done: tuple[str, ...] = ("h1",), what: str = "", **changes: Any) -> Job:
    manifest = PARTIES.manifest(SCHEMA, **{"max_shrinks": 0, **changes.pop("rules", {})})
    members = {
        name: Member(name, **{"accept": SAID, **({what: SAID} if what and name in done else {})})
        for name in NAMES
    }
    fields = {"round": 1, "roster": NAMES, "members": members, "waiting_since": 1000, "deadline": 1100}
    return Job(manifest, "00" * 32, state=state, **{**fields, **changes})


CASES = {
    "inviting": (
        job(
            CloudState.INVITING,
            what="accept",
            roster=(),
            members={n: Member(n, accept=SAID if n == "h1" else None) for n in NAMES},
        ),
        ("the answer to the invitation", 1100, "fewer than 3"),
    ),
    "collecting": (
        job(CloudState.COLLECTING, what="contributed"),
        ("the contribution to round 2", 1100, "the job pauses for 500 seconds, then it fails"),
    ),
    "collecting, may shrink": (
        job(
            CloudState.COLLECTING,
            done=("h1", "h2", "h3"),
            what="contributed",
            round=0,
            rules={"max_shrinks": 1},
        ),
        ("the contribution to round 1", 1100, "begins anew without them"),
    ),
    "opening": (
        job(CloudState.OPENING, what="partial"),
        ("the part of the opening of round 2", 1100, "pauses"),
    ),
    "deciding": (job(CloudState.DECIDING, what="decision"), ("the decision of round 2", 1100, "pauses")),
    "computing": (job(CloudState.COMPUTING, what="decision"), ("computation on shares", 1100, "pauses")),
    "paused": (
        job(CloudState.DECIDING, what="decision", paused_since=1200),
        ("the decision of round 2", 1700, "the job fails; if they answer before, it goes on"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wait_for_hospitals(name: str) -> None:
    here, (what, until, then) = CASES[name]
    found = of_job(here)
    assert found is not None
    assert found.who == tuple(here.waiting_for) != ()
    assert what in found.what
    assert (found.since, found.until) == (1000, until)
    assert then in found.then
    assert from_document(found.document) == found


@pytest.mark.parametrize("name", ["inviting", "collecting", "deciding", "computing", "paused"])
def test_what_is_said_of_a_deadline_is_what_the_clock_does(name: str) -> None:
    here, _ = CASES[name]
    wait = of_job(here)
    assert wait is not None
    assert wait.until is not None
    assert coordinator.tick(here, wait.until - 1).job == here
    if name == "inviting":
        return  # the roster needs real acceptances; the integration tests close one
    after = coordinator.tick(here, wait.until).job
    assert (after.state is CloudState.FAILED) == ("the job fails" in wait.then)
    assert (after.paused_since is not None) == ("pauses" in wait.then)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (CloudState.CREATED, "its next step"),
        (CloudState.KEYING, "its next step"),
        (CloudState.COMMITTED, "its next step"),
        (CloudState.COLLECTING, "the sum of round 2"),
    ],
)
def test_a_wait_for_the_cloud_itself(state: CloudState, what: str) -> None:
    found = of_job(job(state, done=tuple(NAMES), what="contributed"))
    assert found is not None
    assert (found.who, found.what, found.until) == ((the_cloud(),), what, None)
    assert found.then


def test_a_finished_tree_waits_for_attestations_only() -> None:
    done = job(CloudState.DONE, what="attested")
    found = of_job(done)
    assert found is not None
    assert found.who == ("h2", "h3", "h4")
    assert found.until is None
    assert of_job(replace(done, members={n: Member(n, attested="aa") for n in NAMES})) is None


@pytest.mark.parametrize("state", [CloudState.FAILED, CloudState.CANCELLED])
def test_an_ended_job_waits_for_nobody(state: CloudState) -> None:
    assert of_job(job(state, what="decision")) is None


def test_every_state_of_the_cloud_is_answered() -> None:
    assert all(
        isinstance(of_job(job(s, what="decision")), Waiting) or s in ("FAILED", "CANCELLED")
        for s in CloudState
    )


def test_a_hospital_says_the_same_of_its_jobs() -> None:
    manifest = PARTIES.manifest(SCHEMA)
    waits = {s: of_hospital(s, manifest, ["h3", "h2"], 2, 1000) for s in AgentState}
    named = {state: wait for state, wait in waits.items() if wait is not None}
    assert set(named) == {"ACCEPTED", "SENT", "OPENING", "DECIDED"}, (
        "else this hospital works, or nothing is to come"
    )
    for wait in named.values():
        assert wait.who == ("h2", "h3")
        assert wait.since == 1000
        assert wait.until is not None
        assert wait.what
        assert wait.then
    assert "privet agent approve" in of_person(manifest, 5).what
    assert of_receipt(MessageType.CONTRIBUTION.value, 5).who == (the_cloud(),)


def test_the_sentence_has_all_five_parts() -> None:
    told = Waiting(("h2", "h3"), "the decision of round 1", 0, 60, "it fails").text
    assert told == (
        "waits for h2, h3: the decision of round 1; since 1970-01-01 00:00:00 UTC, until 1970-01-01 00:01:00 UTC; "
        "then it fails"
    )
