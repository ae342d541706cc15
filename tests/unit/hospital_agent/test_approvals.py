"""A job under a study's document at the agent: when it is too late, too often, outside, or escapes the document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hospital_agent.daemon.approvals import is_decided, study_refusal
from hospital_agent.daemon.casework import Casework
from hospital_agent.daemon.office import Office
from hospital_agent.journal import Journal, studies
from hospital_agent.journal.studies import StudyEntry, StudyState
from hospital_agent.policy import Policy
from shared.errors import InputError
from shared.ids import CLOUD, AgentId
from shared.protocol.governing import sign_study
from tests.support.studies import CREATED, document, job_of
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
STUDY = document(PARTIES, max_jobs=2)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """What the rules look at of an office: its journal, its policy and its clock."""
    with Journal.open(tmp_path) as journal:
        yield cast(
            Office, SimpleNamespace(journal=journal, policy=Policy(), clock=lambda: float(CREATED + 20))
        )


def show(office: Office, **changes: Any) -> None:
    signed = sign_study(STUDY, PARTIES.identities[CLOUD], PARTIES.certificates[CLOUD])
    entry = replace(StudyEntry(STUDY.id, STUDY.sha256, signed.canonical()), **changes)
    with office.journal.transaction():
        studies.learn(office.journal, entry)


def refusal(office: Office, waiting: int = 0, **changes: Any) -> str | None:
    other = SimpleNamespace(members=(), manifest=job_of(PARTIES, STUDY))
    case = SimpleNamespace(entry=SimpleNamespace(study=STUDY.id), participation=other)
    casework = cast(Casework, SimpleNamespace(cases=dict.fromkeys(map(str, range(waiting)), case)))
    found = study_refusal(office, casework, job_of(PARTIES, STUDY, **changes))
    return None if found is None else found.reason


def test_a_job_within_the_document_is_not_refused(office: Office) -> None:
    show(office)
    assert refusal(office) is None
    assert refusal(office, study_sha256=None) is None


def test_a_document_that_was_not_shown_is_missed(office: Office) -> None:
    assert refusal(office, study_sha256=None) is None
    assert "has not shown" in str(refusal(office))
    show(office)
    assert "has not shown" in str(refusal(office, study_sha256="00" * 32))


def test_a_job_that_names_no_document_does_not_escape_it(office: Office) -> None:
    show(office)
    assert "(min_node) is 9" in str(refusal(office, study_sha256=None, min_node=9))


@pytest.mark.parametrize(
    ("state", "told"), [(StudyState.DECLINED, "declined study"), (StudyState.WITHDRAWN, "withdrew from")]
)
def test_an_own_no_counts_under_every_policy(office: Office, state: StudyState, told: str) -> None:
    show(office, answer=state)
    office.policy = Policy(approval="automatic")
    assert told in str(refusal(office))
    assert told in str(refusal(office, study_sha256=None))


def test_a_study_that_is_closed_or_over(office: Office) -> None:
    show(office, closed=CREATED + 15)
    assert "was closed" in str(refusal(office))
    office.journal.connection.execute("UPDATE studies SET closed = 0")
    assert refusal(office) is None
    office.clock = lambda: float(STUDY.expires + 301)
    assert "ended on" in str(refusal(office))


def test_jobs_are_counted_as_they_begin(office: Office) -> None:
    show(office)
    assert refusal(office, waiting=1) is None
    assert "has had its 2 jobs" in str(refusal(office, waiting=2))
    with office.journal.transaction():
        studies.note_begun(office.journal, STUDY.id)
    assert refusal(office) is None
    assert "has had its 2 jobs" in str(refusal(office, waiting=1))


@pytest.mark.parametrize(
    ("approval", "state", "decided"),
    [
        ("study", StudyState.PENDING, False),
        ("study", StudyState.APPROVED, True),
        ("ask", StudyState.APPROVED, False),
        ("automatic", StudyState.PENDING, True),
    ],
)
def test_who_decides(office: Office, approval: Any, state: StudyState, decided: bool) -> None:
    show(office, answer=state)
    office.policy = Policy(approval=approval)
    assert is_decided(office, job_of(PARTIES, STUDY)) is decided


def test_a_study_without_a_document_is_asked_about(office: Office) -> None:
    assert not is_decided(office, job_of(PARTIES, STUDY, study_sha256=None))


def test_of_two_people_at_once_only_the_first_is_heard(office: Office) -> None:
    show(office)
    seen = studies.find(office.journal, STUDY.id)
    yes = replace(seen, answer=StudyState.APPROVED, answered=CREATED + 1)
    no = replace(seen, answer=StudyState.DECLINED, answered=CREATED + 2)
    studies.answer(office.journal, seen, yes, b"yes")
    with pytest.raises(InputError, match="meanwhile"):
        studies.answer(office.journal, seen, no, b"no")
    assert studies.find(office.journal, seen.study).answer is StudyState.APPROVED
    assert [word.raw for word in studies.words_to_send(office.journal)] == [b"yes"]
