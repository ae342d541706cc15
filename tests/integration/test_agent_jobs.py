"""Real daemons and a real cloud over real HTTP: jobs from offer to tree, and every way in which one is declined."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus, Journal
from privet.__main__ import run
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree
from shared.tree.schema import Schema
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA, dealt
from tests.support.federation import OPEN_POLICY, Hospital, LocalFederation, local_federation

HOSPITALS = ("h1", "h2", "h3", "h4")
THREE = HOSPITALS[:3]


def write_rows(path: Path, rows: list[tuple[int, ...]]) -> Path:
    lines = [",".join((*NAMES, "diagnosis"))]
    lines += [",".join((*map(str, row[:-1]), CLASSES[row[-1]])) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def files(folder: Path, *hospitals: str) -> dict[str, Path]:
    """The records of the clinic, dealt; files of two folders differ in bytes, so they are not the same records."""
    dealt_rows = dealt(*(hospitals or THREE))
    made = {name: write_rows(folder / f"{name}.csv", rows) for name, rows in dealt_rows.items()}
    for path in made.values():
        path.write_text(path.read_text() + "\n" * (abs(hash(str(folder))) % 1000))
    return made


def pooled_sha256(**rules: Any) -> str:
    return pooled_tree(**rules).sha256


def pooled_tree(**rules: Any) -> Tree:
    schema = Schema.from_json(SCHEMA)
    loose = GrowthRules(**{"min_node": 1, "min_child": 1, "max_depth": None, **rules})
    return grow(schema, loose, lambda queries: count_rows(ROWS, queries, schema)).tree


def answers(federation: LocalFederation, job: str) -> Mapping[str, str]:
    """What each hospital answered, as the cloud knows it."""
    document = federation.cloud.people.get(f"/v1/jobs/{job}").json()
    return {member["id"]: member["answer"] for member in document["members"]}


def agent(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """A command of `privet agent` with `--json`; its document."""
    capsys.readouterr()
    code = run(["agent", *map(str, words), "--json"])
    out = capsys.readouterr().out
    assert code == 0, out
    return json.loads(out)


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        yield running


@pytest.fixture(autouse=True)
def _open_policies(federation: LocalFederation) -> None:
    for hospital in federation.hospitals.values():
        hospital.allow(OPEN_POLICY)


@pytest.mark.parametrize("profile", ["hardened", "paper"])
@pytest.mark.parametrize("criterion", ["information-gain", "gain-ratio"])
def test_the_hospitals_grow_the_tree_of_the_pooled_records(
    federation: LocalFederation, tmp_path: Path, profile: str, criterion: str
) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path), profile=profile, criterion=criterion)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256(criterion=criterion)}
    result = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/result").json()
    assert result["tree_sha256"] == pooled_sha256(criterion=criterion)
    for entry in outcome.entries.values():
        assert {"freeze", "count", "encrypt", "decrypt", "choose", "transport"} <= set(entry.tally.seconds)
        assert {"job_accept", "contribution", "attest"} <= set(entry.tally.sent)
        assert {"job_offer", "roster", "round_open", "aggregate", "job_done", "receipt"} <= set(
            entry.tally.received
        )
        assert min(entry.tally.received.values()) >= 0


def test_nothing_secret_is_left_of_a_finished_job(federation: LocalFederation, tmp_path: Path) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path))
    for name in THREE:
        folder = federation.hospitals[name].folder
        assert not list((folder / "snapshots").iterdir())
        assert outcome.entries[name].participation is None
        with Journal.open(folder) as journal:
            sent = journal.sent(outcome.job)
            assert [message.raw for message in sent] == [None] * len(sent)
            assert all(message.receipt for message in sent)
            kinds = [record["kind"] for record in journal.audit_records() if record.get("job") == outcome.job]
        assert kinds[:2] == ["offer_came", "accepted"]
        assert "ended" in kinds
        assert b"ephemeral_private" not in b"".join(p.read_bytes() for p in folder.glob("journal*"))


def test_frozen_records_that_no_job_has_are_deleted_at_the_start(
    federation: LocalFederation, tmp_path: Path
) -> None:
    """An agent killed between freezing and its journal leaves records that nothing names."""
    assert federation.run_job(SCHEMA, files(tmp_path)).statuses == {JobStatus.COMPLETE}
    hospital = federation.hospitals["h1"]
    hospital.stop()
    ends = ("{}.codes", "{}.codes.part", ".{}.codes.new", "{}.sql.json")
    left = [hospital.folder / "snapshots" / end.format("ab" * 32) for end in ends]
    for path in left:
        path.write_bytes(b"records")
    hospital.start()
    federation.until(lambda: not any(path.exists() for path in left))


def test_records_that_do_not_fit_are_declined_and_only_the_hospital_reads_why(
    federation: LocalFederation, tmp_path: Path
) -> None:
    made = files(tmp_path)
    lines = made["h2"].read_text().splitlines()
    lines[4] = lines[4].replace("1", "planted-value", 1)
    made["h2"].write_text("\n".join(lines))
    outcome = federation.run_job(SCHEMA, made)
    entry = outcome.entries["h2"]
    assert (entry.status, entry.code) == (JobStatus.DECLINED, "data")
    assert entry.reason is not None
    assert "h2.csv" in entry.reason
    assert "line 5" in entry.reason
    assert "planted-value" not in entry.reason
    told = answers(federation, outcome.job)
    assert told.pop("h2") == "data"
    # Two cannot make a job, so it ends at once; an acceptance that was under way comes too late.
    assert set(told.values()) <= {"accepted", "pending"}
    assert {outcome.entries[name].status for name in ("h1", "h3")} == {JobStatus.FAILED}


@pytest.mark.parametrize(
    ("policy", "plan", "code"),
    [
        ("min_hospitals = 4", {}, "policy_min_hospitals"),
        ("min_child = 6", {"min_child": 5}, "declined"),
        ("max_depth = 0", {"profile": "paper"}, "policy_profile"),
        ("approval = 3", {}, "declined"),
    ],
)
def test_a_job_outside_the_policy_is_declined(
    federation: LocalFederation, tmp_path: Path, policy: str, plan: dict[str, Any], code: str
) -> None:
    federation.hospitals["h3"].allow(policy)
    outcome = federation.run_job(SCHEMA, files(tmp_path), **plan)
    assert (outcome.entries["h3"].status, outcome.entries["h3"].code) == (JobStatus.DECLINED, code)
    assert answers(federation, outcome.job)["h3"] == code


def test_a_roster_that_differs_by_one_hospital_is_declined(
    federation: LocalFederation, tmp_path: Path
) -> None:
    made = files(tmp_path, *HOSPITALS)
    assert federation.run_job(SCHEMA, made).statuses == {JobStatus.COMPLETE}
    rest = {name: made[name] for name in THREE}
    outcome = federation.run_job(SCHEMA, rest)
    assert {entry.code for entry in outcome.entries.values()} == {"policy_difference"}
    assert "h4" in str(outcome.entries["h1"].reason)
    assert federation.run_job(SCHEMA, made).statuses == {JobStatus.COMPLETE}


def test_the_difference_rule_holds_for_the_roster_itself(federation: LocalFederation, tmp_path: Path) -> None:
    made = files(tmp_path, *HOSPITALS)
    assert federation.run_job(SCHEMA, {name: made[name] for name in THREE}).statuses == {JobStatus.COMPLETE}
    made["h4"].unlink()
    for name in THREE:
        federation.hospitals[name].configure(made[name])
    other = files(tmp_path, *HOSPITALS)["h4"]
    rows = {**{name: made[name] for name in THREE}, "h4": other}
    outcome = federation.run_job(SCHEMA, rows)
    assert {outcome.entries[name].code for name in THREE} <= {"policy_difference", "deadline", "cancelled"}
    assert JobStatus.COMPLETE not in outcome.statuses


def test_two_jobs_at_once_do_not_get_around_the_difference_rule(
    federation: LocalFederation, tmp_path: Path
) -> None:
    made = files(tmp_path, *HOSPITALS)
    late = federation.hospitals["h3"]
    late.stop()
    wide = federation.start_job(SCHEMA, made)
    narrow = federation.start_job(SCHEMA, {name: made[name] for name in THREE})

    federation.until(lambda: all(federation.hospitals["h1"].entry(job) for job in (wide, narrow)))
    federation.until(lambda: all(federation.hospitals["h2"].entry(job) for job in (wide, narrow)))
    late.start()
    ends = [federation.wait(wide, HOSPITALS), federation.wait(narrow, THREE)]
    for name in THREE:
        assert {entries[name].status for entries in ends} != {JobStatus.COMPLETE}


def offered_to_a_person(
    federation: LocalFederation, asking: Hospital, folder: Path, capsys: pytest.CaptureFixture[str]
) -> str:
    """A job that waits at this hospital for a person's answer; its id."""
    asking.allow(OPEN_POLICY.replace("automatic", "ask"))
    job = federation.start_job(SCHEMA, files(folder))
    federation.until(lambda: bool(agent(capsys, "offers", asking.folder)["offers"]))
    return job


def test_a_person_is_asked_where_the_policy_says_so(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = federation.hospitals["h1"]
    job = offered_to_a_person(federation, asking, tmp_path, capsys)
    (offer,) = agent(capsys, "offers", asking.folder)["offers"]
    assert (offer["job"], offer["hospitals"]) == (job, list(THREE))
    assert agent(capsys, "approve", asking.folder, job[:8])["answer"] == "approved"
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
    shown = agent(capsys, "status", asking.folder)
    assert shown["running"]
    assert [found["status"] for found in shown["jobs"] if found["job"] == job] == ["complete"]
    answer = agent(capsys, "predict", asking.folder, "--model", job, "--set", "lumbar pain=0")
    assert answer["predictions"][0]["steps"] == [{"attribute": "lumbar pain", "value": "0"}]
    federation.until(lambda: not asking.unanswered())
    assert agent(capsys, "forget", asking.folder, job)["forgotten"]
    assert job not in str(agent(capsys, "status", asking.folder))


def test_a_person_may_say_no(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = federation.hospitals["h2"]
    job = offered_to_a_person(federation, asking, tmp_path, capsys)
    agent(capsys, "decline", asking.folder, job, "--reason", "not this month")
    entries = federation.wait(job, THREE)
    assert (entries["h2"].status, entries["h2"].reason) == (JobStatus.DECLINED, "not this month")
    assert "month" not in str(federation.cloud.people.get(f"/v1/jobs/{job}/events?after=0").text)


def test_an_offer_that_is_gone_is_no_longer_shown(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = federation.hospitals["h3"]
    job = offered_to_a_person(federation, asking, tmp_path, capsys)
    assert federation.cloud.people.post(f"/v1/jobs/{job}/cancel").status_code == 200
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.FAILED}
    assert agent(capsys, "offers", asking.folder)["offers"] == []
