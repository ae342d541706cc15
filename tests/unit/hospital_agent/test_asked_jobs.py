"""Jobs by which hospitals ask shared trees, at each agent: who asked, how often, and apart from the study's jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hospital_agent.daemon.approvals import study_refusal
from hospital_agent.daemon.casework import Casework
from hospital_agent.daemon.office import Office
from hospital_agent.journal import Journal, studies
from hospital_agent.journal.studies import StudyEntry
from hospital_agent.models.questions import Question, Questions
from hospital_agent.people.narrowing import narrower
from hospital_agent.policy import Policy, review
from shared.ids import CLOUD, AgentId
from shared.protocol.governing import sign_study
from shared.wire.manifest import Manifest
from tests.support.asking import STUDY, asked_job, attested, wish
from tests.support.studies import CREATED, document
from tests.support.world import Parties

PARTIES = Parties([AgentId("h1"), AgentId("h2"), AgentId("h3"), AgentId("h4")])
FEW = {"questions_per_day": 2, "questions": 3, "records_per_day": 10, "records": 12}
ALLOWED = document(PARTIES, **{**STUDY, "asking": FEW}, max_jobs=1, expires=CREATED + 2_000_000)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """What the rules look at of the office of h1, which was shown the study."""
    with Journal.open(tmp_path) as journal:
        signed = sign_study(ALLOWED, PARTIES.identities[CLOUD], PARTIES.certificates[CLOUD])
        with journal.transaction():
            studies.learn(journal, StudyEntry(ALLOWED.id, ALLOWED.sha256, signed.canonical()))
        keyring = SimpleNamespace(hospital_trust=lambda: PARTIES.trust)
        questions = Questions(tmp_path, lambda: float(CREATED))
        parts = {"journal": journal, "keyring": keyring, "questions": questions, "own": "h1"}
        yield cast(Office, SimpleNamespace(**parts, policy=Policy(), clock=lambda: float(CREATED + 20)))


def job(number: int, hospital: str = "h2", records: int = 1, **changes: Any) -> Manifest:
    return asked_job(PARTIES, ALLOWED, hospital, records=records, **changes).model_copy(
        update={"job": f"{number:032x}"}
    )


def refusal(office: Office, manifest: Manifest, *waiting: Manifest) -> str | None:
    cases = {
        other.job: SimpleNamespace(
            entry=SimpleNamespace(study=ALLOWED.id),
            participation=SimpleNamespace(manifest=other, members=()),
        )
        for other in waiting
    }
    found = study_refusal(office, cast(Casework, SimpleNamespace(cases=cases)), manifest)
    return None if found is None else found.reason


def begin(office: Office, *jobs: Manifest) -> None:
    with office.journal.transaction():
        for manifest in jobs:
            studies.note_asked(office.journal, manifest, int(office.clock()))


def at(office: Office, moment: int) -> Office:
    """The same office at another time, Unix seconds."""
    return cast(Office, SimpleNamespace(**{**vars(office), "clock": lambda: float(moment)}))


def test_each_hospital_has_its_own_number_of_questions(office: Office) -> None:
    begin(office, job(1), job(2))
    assert "3 questions within 24 hours; the study allows 2" in str(refusal(office, job(3)))
    assert refusal(office, job(3, "h3")) is None


def test_a_cloud_that_dates_jobs_back_gains_no_days(office: Office) -> None:
    """Each job is of another day by its manifest, and of one with its own wish; all come today."""
    dated = []
    for number in range(1, 4):
        created = CREATED + number * 100_000
        asked = attested(PARTIES, wish("h2", time=created))
        dated.append(job(number, asked=asked).model_copy(update={"created": created}))
    later = at(office, CREATED + 1_000_000)
    begin(later, *dated[:2])
    assert "3 questions within 24 hours; the study allows 2" in str(refusal(later, dated[2]))
    office.journal.connection.execute("DELETE FROM asked_questions")
    for manifest in dated[:2]:
        begin(at(office, manifest.created), manifest)
    assert refusal(at(office, dated[2].created), dated[2]) is None


def test_questions_that_may_still_begin_are_counted(office: Office) -> None:
    begin(office, job(1))
    assert refusal(office, job(2)) is None
    assert "3 questions" in str(refusal(office, job(3), job(2)))
    assert refusal(office, job(3), job(2, "h3")) is None


def test_records_are_counted_by_the_wish(office: Office) -> None:
    begin(office, job(1, records=9))
    assert refusal(office, job(2, records=1)) is None
    assert "11 records within 24 hours" in str(refusal(office, job(2, records=2)))


def test_questions_use_up_no_jobs_of_the_study_nor_do_jobs_use_up_questions(office: Office) -> None:
    begin(office, job(1), job(2))
    of_a_person = job(5, asked=None)
    assert refusal(office, of_a_person, job(3, "h3"), job(4, "h4")) is None
    with office.journal.transaction():
        studies.note_begun(office.journal, ALLOWED.id)
    assert "has had its 1 jobs" in str(refusal(office, of_a_person))
    assert refusal(office, job(6, "h3")) is None


def test_a_wish_that_was_heard_once_begins_nothing_more(office: Office) -> None:
    asked = attested(PARTIES, wish("h2"))
    begin(office, job(1, asked=asked))
    assert "begun a job before" in str(refusal(office, job(2, asked=asked)))
    another = attested(PARTIES, wish("h3"))
    first, second = (job(number, "h3", asked=another) for number in (3, 4))
    assert "begun a job before" in str(refusal(office, second, first))


def test_a_forged_wish_and_an_unknown_study_are_refused(office: Office) -> None:
    forged = attested(PARTIES, wish("h2")).model_copy(update={"signature": "00" * 64})
    assert "Nobody is known to have asked this" in str(refusal(office, job(1, asked=forged)))
    office.journal.connection.execute("DELETE FROM studies")
    unnamed = job(1).model_copy(update={"study_sha256": None})
    assert "has not shown the document" in str(refusal(office, unnamed))


def test_the_asking_hospital_takes_only_what_it_asked_and_waits_for(office: Office) -> None:
    assert "has not asked this question" in str(refusal(office, job(1, "h1")))
    question = office.questions.new("simulation", "ab" * 16, "ward", ["age"], [["50"]])
    ask = wish("h1").model_copy(update={"question": question.id})
    mine = job(1, "h1", asked=attested(PARTIES, ask))
    assert refusal(office, mine) is None
    kept = office.questions.get(question.id)
    assert kept is not None
    assert (kept.state, kept.job, kept.rows) == ("running", mine.job, (("50",),))
    assert refusal(office, mine) is None
    assert "has not asked" in str(refusal(office, job(2, "h1", asked=attested(PARTIES, ask))))


def test_a_house_can_keep_out_of_it(office: Office) -> None:
    parts: dict[str, Any] = {"own": "h1", "synthetic": False, "seen_rosters": []}
    rules: dict[str, Any] = {"allow_secret_modes": True, "min_node": 1, "min_child": 1}
    assert review(Policy(**rules), job(1), **parts) is None
    found = review(Policy(**rules, allow_asking=False), job(1), **parts)
    assert found is not None
    assert "allow_asking is off" in found.reason
    assert review(Policy(**rules, allow_asking=False), job(1, asked=None), **parts) is None
    told = narrower(Policy(**rules, allow_asking=False), ALLOWED, "h1")
    assert "jobs by which a hospital asks a shared tree by itself" in told


def test_a_question_ends_where_no_job_comes_or_no_answer(tmp_path: Path) -> None:
    now = 1000.0
    questions = Questions(tmp_path, lambda: now)

    def ask() -> Question:
        return questions.new("s", "ab" * 16, "ward", ["sex"], [["f"]])

    lost, running = ask(), ask()
    claimed = questions.claim(running.id, "cd" * 16)
    assert claimed is not None
    assert questions.claim(running.id, "ef" * 16) is None
    now += 30
    ask()
    kept = [questions.get(lost.id), questions.get(running.id)]
    assert [(one.state, one.rows) for one in kept if one] == [("failed", ()), ("running", (("f",),))]
    assert questions.claim(lost.id, "cd" * 16) is None
    now += 7 * 86_400
    over = questions.give_up(claimed)
    assert (over.state, over.rows) == ("failed", ())
