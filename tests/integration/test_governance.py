"""Studies from document to job and to withdrawal, with a real cloud, real daemons and the commands people type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from cloud_service.store import governance
from cloud_service.store.study_tables import StudyDocumentRow
from cloud_service.store.tables import table_of
from hospital_agent.cloud import CloudClient, InboxMessage
from hospital_agent.journal import JobStatus, Journal, studies
from privet.__main__ import run
from shared.protocol.governing import sign_answer
from shared.wire.study import StudyAnswer
from tests.integration.test_agent_jobs import THREE, agent, answers, files, pooled_sha256
from tests.support.clinic import SCHEMA
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

DOCUMENTS = table_of(StudyDocumentRow)
BY_STUDY = OPEN_POLICY.replace("automatic", "study")


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("governed"), (*THREE, "h4"), policy=BY_STUDY) as running:
        yield running


@pytest.fixture
def study(
    federation: LocalFederation,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """A study that every agent has been shown, over records of this test only; its id."""
    for name, path in files(tmp_path, *federation.hospitals).items():
        federation.hospitals[name].configure(path)
        federation.hospitals[name].allow(BY_STUDY)
    name = f"s{abs(hash(request.node.name)) % 10**9}"
    federation.cloud.study(dict(SCHEMA), name=name, **getattr(request, "param", {}))
    for hospital in federation.hospitals:
        federation.until(lambda hospital=hospital: entry_of(federation, hospital, name) is not None)
    return name


def entry_of(federation: LocalFederation, hospital: str, study: str) -> studies.StudyEntry | None:
    with Journal.open(federation.hospitals[hospital].folder) as journal:
        return studies.study(journal, study)


def say(capsys: pytest.CaptureFixture[str], federation: LocalFederation, hospital: str, *words: str) -> Any:
    word, *rest = words
    return agent(capsys, "studies", word, federation.hospitals[hospital].folder, *rest)


def approve(
    capsys: pytest.CaptureFixture[str], federation: LocalFederation, study: str, *hospitals: str
) -> None:
    for hospital in hospitals:
        assert say(capsys, federation, hospital, "approve", study, "--yes")["answer"] == "approved"


def standings(federation: LocalFederation, study: str) -> Mapping[str, str]:
    shown = federation.cloud.people.get(f"/v1/studies/{study}").json()
    return {one["hospital"]: one["answer"] for one in shown["answers"]}


def start(federation: LocalFederation, study: str, status: int = 201, **plan: Any) -> Any:
    rules = {"min_node": 1, "min_child": 1, "max_depth": None, "invited": list(THREE), **plan}
    answer = federation.cloud.people.post(f"/v1/studies/{study}/jobs", json=rules)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_job_waits_for_the_study_and_runs_without_further_questions(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = say(capsys, federation, "h1", "show", study)
    assert (shown["answer"], shown["members"]) == ("pending", [*THREE, "h4"])
    assert any("Learned at most" in text for text in shown["in_words"])
    job = start(federation, study)["id"]
    for name in THREE:
        federation.until(lambda name=name: federation.hospitals[name].entry(job) is not None)
        assert federation.hospitals[name].entry(job).status is JobStatus.AWAITING  # type: ignore[union-attr]
    approve(capsys, federation, study, *THREE)
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
    assert federation.hospitals["h1"].model(job).tree.sha256 == pooled_sha256()
    federation.until(
        lambda: standings(federation, study) == {**dict.fromkeys(THREE, "approved"), "h4": "pending"}
    )
    again = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.status for entry in again.values()} == {JobStatus.COMPLETE}
    assert say(capsys, federation, "h1", "list")["studies"][0]["jobs_begun"] == 2


def test_who_declines_is_invited_no_more_and_the_coordinator_reads_why(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("decline", study, "--code", "legal", "--reason", "no basis in our state law")
    assert say(capsys, federation, "h4", *words)["answer"] == "declined"
    federation.until(lambda: standings(federation, study)["h4"] == "declined")
    told = federation.cloud.people.get(f"/v1/studies/{study}").json()["answers"][3]
    assert (told["code"], told["reason"]) == ("legal", "no basis in our state law")
    refused = start(federation, study, 409, invited=[*THREE, "h4"])
    assert "h4 has declined" in refused["detail"]
    job = start(federation, study, invited=None)
    assert [member["id"] for member in job["members"]] == list(THREE)
    federation.cloud.people.post(f"/v1/jobs/{job['id']}/cancel")


def test_a_withdrawal_ends_the_job_in_the_middle_and_can_be_undone(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approve(capsys, federation, study, *THREE)
    federation.hospitals["h3"].stop()  # so that the job stands still with two hospitals accepted
    job = start(federation, study)["id"]
    federation.until(lambda: list(answers(federation, job).values()).count("accepted") == 2)
    withdrawn = say(capsys, federation, "h2", "withdraw", study, "--yes", "--code", "ethics")
    assert withdrawn["answer"] == "withdrawn"
    entries = federation.wait(job, ("h1", "h2"))
    assert {entry.status for entry in entries.values()} == {JobStatus.FAILED}
    assert "withdrew" in str(entries["h2"].reason)
    federation.until(lambda: standings(federation, study)["h2"] == "withdrawn")
    events = federation.cloud.people.get(f"/v1/jobs/{job}/events?after=0").json()["events"]
    assert {"aborted_by", "withdrawn_by"} & {event["kind"] for event in events}
    assert "h2 has withdrawn" in start(federation, study, 409)["detail"]
    federation.hospitals["h3"].start()
    federation.wait(job, THREE)
    approve(capsys, federation, study, "h2")
    federation.until(lambda: standings(federation, study)["h2"] == "approved")
    entries = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}


def test_a_withdrawal_counts_at_once_for_what_has_just_come(
    federation: LocalFederation,
    study: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Said while the agent waits at its inbox: the round that opens with the answer is not counted any more."""
    approve(capsys, federation, study, *THREE)
    poll = CloudClient.poll

    def slow(client: CloudClient, after: int, **how: Any) -> list[InboxMessage]:
        came = poll(client, after, **how)
        if client.agent == "h2" and any(b'"type":"round_open"' in message.raw for message in came):
            say(capsys, federation, "h2", "withdraw", study, "--yes")
        return came

    monkeypatch.setattr(CloudClient, "poll", slow)
    entries = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.FAILED}
    assert "withdrew" in str(entries["h2"].reason)
    assert "contribution" not in entries["h2"].tally.sent


@pytest.mark.long
def test_a_withdrawal_counts_at_once_for_an_agent_that_was_down(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approve(capsys, federation, study, *THREE)
    federation.hospitals["h3"].stop()
    job = start(federation, study)["id"]
    federation.until(lambda: list(answers(federation, job).values()).count("accepted") == 2)
    federation.hospitals["h2"].stop()
    federation.hospitals["h3"].start()
    say(capsys, federation, "h2", "withdraw", study, "--yes")
    federation.hospitals["h2"].start()
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.FAILED}
    assert "contribution" not in entries["h2"].tally.sent


@pytest.mark.parametrize("study", [{"min_node": 20, "max_depth": 4, "max_jobs": 1}], indirect=True)
def test_the_cloud_refuses_a_job_outside_the_document(federation: LocalFederation, study: str) -> None:
    assert (
        "(min_node) is 2; the study wants at least 20" in start(federation, study, 422, min_node=2)["detail"]
    )
    assert "max_depth" in start(federation, study, 422, min_node=20)["detail"]
    assert "not a member" in start(federation, study, 422, invited=[*THREE[:2], "h9"])["detail"]
    fitted = start(federation, study, min_node=10, min_child=5, max_depth=8)
    asked = {name: federation.cloud.services.jobs.get(fitted["id"]).job.manifest for name in ("it",)}["it"]
    assert (asked.min_node, asked.max_depth) == (20, 4)
    assert "had its 1 jobs" in start(federation, study, 409, min_node=20, max_depth=4)["detail"]
    federation.cloud.people.post(f"/v1/jobs/{fitted['id']}/cancel")


@pytest.mark.long
@pytest.mark.parametrize("study", [{"start": "approved"}], indirect=True)
def test_a_study_may_wait_for_all_it_invites(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "h1 has not approved yet" in start(federation, study, 409)["detail"]
    approve(capsys, federation, study, *THREE)
    federation.until(lambda: list(standings(federation, study).values()).count("approved") == 3)
    entries = federation.wait(start(federation, study, invited=None)["id"], THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}


def test_a_closed_study_takes_no_more_jobs(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert federation.cloud.people.post(f"/v1/studies/{study}/close").json()["closed"]
    assert "closed" in start(federation, study, 409)["detail"]
    federation.until(lambda: bool(say(capsys, federation, "h1", "show", study)["closed"]))
    folder = federation.hospitals["h1"].folder
    assert run(["agent", "studies", "approve", str(folder), study, "--yes"]) == 3


def test_an_answer_under_another_key_or_to_another_document_is_refused(
    federation: LocalFederation, study: str
) -> None:
    people, keys = federation.cloud.people, federation.cloud.parties.identities
    sha256 = people.get(f"/v1/studies/{study}").json()["document_sha256"]
    true = StudyAnswer(hospital="h1", study=study, study_sha256=sha256, answer="approve", time=10)

    def post(answer: StudyAnswer, signer: str) -> tuple[int, str]:
        body = sign_answer(answer, keys[signer]).canonical()  # type: ignore[index]
        path = f"/v1/agent/studies/{study}/answer"
        got = people.post(path, content=body, headers={"content-type": "application/json"})
        return got.status_code, "" if got.status_code == 204 else got.json()["code"]

    assert post(true, "h2") == (401, "bad_signature")
    other = true.model_copy(update={"study_sha256": "00" * 32})
    assert post(other, "h1") == (409, "roster_mismatch")
    withdrawing = true.model_copy(update={"answer": "withdraw", "code": "other"})
    assert post(withdrawing, "h1") == (409, "replay_conflict")
    assert post(true, "h1") == post(true, "h1") == (204, "")
    older = withdrawing.model_copy(update={"time": 9})
    assert post(older, "h1") == (409, "replay_conflict")
    assert standings(federation, study)["h1"] == "approved"


def test_a_document_of_a_cloud_that_was_certified_anew_is_taken(
    federation: LocalFederation, study: str
) -> None:
    """The agent that still holds the list of before looks for a newer one at once, not with its next sign of life."""
    daemon = federation.hospitals["h1"].daemon
    assert daemon is not None
    keyring = daemon.office.keyring
    held = keyring.federation
    assert held is not None
    before = [
        member.model_copy(update={"certificate_sha256": "00" * 32}) if member.role == "cloud" else member
        for member in held.members
    ]
    keyring.federation = held.model_copy(update={"members": before, "issued": held.issued - 1})
    federation.cloud.study(dict(SCHEMA), name=f"{study}-anew")
    federation.until(lambda: entry_of(federation, "h1", f"{study}-anew") is not None)
    assert keyring.federation == held


def test_an_edited_document_is_not_kept_and_its_jobs_are_declined(
    federation: LocalFederation, study: str
) -> None:
    """As of a cloud whose database was changed: what it hands out is no longer what it announced."""
    cloud, name = federation.cloud, f"{study}e"
    hospital = federation.hospitals["h1"]
    hospital.stop()
    cloud.study(dict(SCHEMA), name=name, min_node=30)
    with cloud.services.database.write() as connection:
        row = governance.document(connection, name)
        assert row is not None
        edited = bytes(row.document).replace(b'"min_node":30', b'"min_node":10')
        connection.execute(update(DOCUMENTS).where(DOCUMENTS.c.study == name).values(document=edited))
    hospital.start()
    federation.until(lambda: f"the document of study {name} was not taken" in hospital.output.getvalue())
    assert entry_of(federation, "h1", name) is None
    entries = federation.wait(start(federation, name, min_node=10)["id"], ("h1",))
    assert entries["h1"].status is JobStatus.DECLINED
    assert "has not shown the document" in str(entries["h1"].reason)


@pytest.mark.long
def test_a_hospital_consents_to_a_difference_and_nobody_else_can(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approve(capsys, federation, study, *federation.hospitals)
    wide = federation.wait(start(federation, study, invited=None)["id"], (*THREE, "h4"))
    assert {entry.status for entry in wide.values()} == {JobStatus.COMPLETE}
    less = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.code for entry in less.values()} == {"policy_difference"}
    assert "privet agent consent" in str(less["h1"].reason)
    other = agent(capsys, "consent", federation.hospitals["h1"].folder, study, "--yes")
    assert other["with_sha256"] == other["without_sha256"]
    _wait_for_words(federation, "h1")
    still = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.code for entry in still.values()} == {"policy_difference"}
    agent(capsys, "consent", federation.hospitals["h4"].folder, study, "--yes")
    _wait_for_words(federation, "h4")
    allowed = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.status for entry in allowed.values()} == {JobStatus.COMPLETE}


def _wait_for_words(federation: LocalFederation, hospital: str) -> None:
    def sent() -> bool:
        with Journal.open(federation.hospitals[hospital].folder) as journal:
            return not studies.words_to_send(journal)

    federation.until(sent)


def test_a_restart_with_one_hospital_less_after_contributions_is_a_difference(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was sent in round 0 of a job that ended may have been added up in private (rule A4)."""
    approve(capsys, federation, study, *federation.hospitals)
    late, silent = federation.hospitals["h3"], federation.hospitals["h4"]
    late.stop()
    job = start(federation, study, invited=None)["id"]
    federation.until(lambda: list(answers(federation, job).values()).count("accepted") == 3)
    silent.stop()  # it accepted, and stays away from round 0
    late.start()
    for name in THREE:
        federation.until(lambda name=name: _sent(federation, name, job))
    federation.cloud.people.post(f"/v1/jobs/{job}/cancel")
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.FAILED}
    silent.start()
    less = federation.wait(start(federation, study)["id"], THREE)
    assert {entry.code for entry in less.values()} == {"policy_difference"}
    same = federation.wait(start(federation, study, invited=None)["id"], (*THREE, "h4"))
    assert {entry.status for entry in same.values()} == {JobStatus.COMPLETE}


def _sent(federation: LocalFederation, hospital: str, job: str) -> bool:
    with Journal.open(federation.hospitals[hospital].folder) as journal:
        return any(message.type == "contribution" for message in journal.sent(job))


def test_a_policy_stands_above_an_approved_study(
    federation: LocalFederation, study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    approve(capsys, federation, study, *THREE)
    federation.hospitals["h2"].allow(BY_STUDY.replace("min_node = 1", "min_node = 5"))
    entries = federation.wait(start(federation, study)["id"], THREE)
    assert (entries["h2"].status, entries["h2"].code) == (JobStatus.DECLINED, "declined")
    assert "the policy wants at least 5" in str(entries["h2"].reason)
    assert json.loads(json.dumps(say(capsys, federation, "h2", "show", study)))["answer"] == "approved"
