"""What holds for jobs that only count as for all others: noise, the difference rule, floors, restarts, databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from cloud_service.service.terms import consents_for
from hospital_agent.cloud import CloudClient
from hospital_agent.journal import JobStatus, Journal, studies
from hospital_agent.journal.budget import Ledger
from hospital_agent.keyring import Keyring
from hospital_agent.models.tallies import cabinet_of, confusion_of
from privet.__main__ import run
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.prediction import predict
from shared.tree.schema import Schema
from tests.integration.test_agent_crash import Crash, crash_once
from tests.integration.test_agent_jobs import agent, write_rows
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]
FOUR = ("h1", "h2", "h3", "h4")
THREE = FOUR[:3]
HELD_OUT = {"parts": 4, "first": 1, "last": 2, "seed": "a1" * 16}


def prepared(federation: LocalFederation, folder: Path, *hospitals: str, **rules: Any) -> str:
    """Records dealt to the hospitals, and a study that allows counting; its id."""
    folder.mkdir(exist_ok=True)
    for start, name in enumerate(hospitals):
        path = write_rows(folder / f"{name}.csv", ROWS[start :: len(hospitals)])
        federation.hospitals[name].configure(path)
    return federation.cloud.study(SCHEMA, name="counting", tallies=["evaluation", "histogram"], **rules)


def ended(
    federation: LocalFederation, study: str, hospitals: tuple[str, ...], **plan: Any
) -> tuple[str, set[JobStatus], list[str]]:
    job = federation.cloud.job(study, invited=list(hospitals), **plan)
    entries = federation.wait(job, hospitals)
    reasons = [str(entry.reason) for entry in entries.values()]
    return job, {entry.status for entry in entries.values()}, reasons


def total(federation: LocalFederation, name: str, job: str) -> list[list[list[int]]]:
    ring = Keyring.open(federation.hospitals[name].folder)
    cabinet = cabinet_of(federation.hospitals[name].folder, ring.identity.public, ring.hospital_trust().root)
    return [[list(row) for row in table.rows] for table in cabinet.get(job).tables]


def test_a_tally_carries_noise_once_and_pays_for_one_round(tmp_path: Path) -> None:
    wide = OPEN_POLICY + "max_epsilon = 1000\n"
    with local_federation(tmp_path / "federation", THREE, policy=wide) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        noisy, statuses, _ = ended(
            federation, study, THREE, tally={"kind": "histogram"}, noise={"sigma": "12.5"}
        )
        plain, _, _ = ended(federation, study, THREE, tally={"kind": "histogram"})
        assert statuses == {JobStatus.COMPLETE}
        tables = [total(federation, name, noisy) for name in THREE]
        assert tables == tables[:1] * 3
        assert tables[0] != total(federation, "h1", plain)
        for name in THREE:
            with Journal.open(federation.hospitals[name].folder) as journal:
                lines = [line for line in Ledger(journal.connection).lines() if line.job == noisy]
            assert [(line.round, line.attempt, line.cells) for line in lines] == [(0, 0, len(NAMES))]


def test_a_tally_takes_any_criterion_of_its_study(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE, criteria=["c45", "gain-ratio"])
        _, statuses, _ = ended(federation, study, THREE, tally={"kind": "histogram"})
        assert statuses == {JobStatus.COMPLETE}


def test_counts_that_would_tell_of_one_hospital_are_declined(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", FOUR) as federation:
        study = prepared(federation, tmp_path / "records", *FOUR)
        grown, statuses, _ = ended(federation, study, FOUR, selection=HELD_OUT)
        assert statuses == {JobStatus.COMPLETE}
        for tally in ({"kind": "histogram"}, {"kind": "evaluation", "model": grown}):
            _, statuses, reasons = ended(federation, study, THREE, tally=tally)
            assert statuses == {JobStatus.DECLINED}
            assert all("same hospitals but for h4" in reason for reason in reasons)


def test_too_few_records_end_a_tally_and_leave_nothing(tmp_path: Path) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        job, statuses, reasons = ended(
            federation, study, THREE, tally={"kind": "histogram"}, min_node=len(ROWS) + 1
        )
        assert statuses == {JobStatus.FAILED}
        assert any("fewer records of this selection than min_node" in reason for reason in reasons)
        assert federation.cloud.people.get(f"/v1/jobs/{job}").json()["failure"] == "too_few_records"
        assert not list((federation.hospitals["h1"].folder / "tallies").glob("*.json"))
        _, statuses, _ = ended(federation, study, THREE, selection=HELD_OUT, min_child=30)
        assert statuses == {JobStatus.COMPLETE}, "declining by the job's number would tell the hospital's"
        for name in THREE:
            federation.hospitals[name].allow(OPEN_POLICY.replace("min_child = 1", "min_child = 30"))
        _, statuses, reasons = ended(federation, study, THREE, selection=HELD_OUT, min_child=30)
        assert statuses == {JobStatus.DECLINED}
        assert all("too few on one side" in reason for reason in reasons)


def test_an_agent_that_dies_in_a_tally_counts_the_same_records_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        grown, _, _ = ended(federation, study, THREE, selection=HELD_OUT)
        expected, _, _ = ended(federation, study, THREE, tally={"kind": "evaluation", "model": grown})
        victim = federation.hospitals["h3"]
        for at in (1, 2, 3):
            crashed = crash_once(monkeypatch, CloudClient, "post_message", at=at, before=at == 2)
            job = federation.cloud.job(
                study, invited=list(THREE), tally={"kind": "evaluation", "model": grown}
            )
            federation.until(crashed.is_set)
            federation.until(lambda: isinstance(victim.failure, Crash))
            monkeypatch.undo()
            victim.failure = None
            victim.start()
            entries = federation.wait(job, THREE)
            assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
            for name in THREE:
                assert total(federation, name, job) == total(federation, name, expected)
        assert not list((victim.folder / "snapshots").glob("*"))


def test_a_database_is_parted_and_walked_as_a_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        grown, _, _ = ended(federation, study, THREE, selection=HELD_OUT)
        by_file = [agent(capsys, "evaluate", federation.hospitals[name].folder, grown) for name in THREE]
        for name in THREE:
            path = tmp_path / f"{name}.duckdb"
            with duckdb.connect(str(path)) as connection:
                records = tmp_path / "records" / f"{name}.csv"
                connection.execute(f"CREATE TABLE ward AS SELECT * FROM read_csv('{records}', header = true)")
            federation.hospitals[name].configure(url=f"duckdb://{path}", table="ward")
        by_table = [agent(capsys, "evaluate", federation.hospitals[name].folder, grown) for name in THREE]
        assert by_table == by_file
        job, statuses, reasons = ended(federation, study, THREE, tally={"kind": "evaluation", "model": grown})
        assert statuses == {JobStatus.COMPLETE}, reasons
        (rows,) = total(federation, "h1", job)
        nodes = len(by_file[0]["nodes"])
        assert rows[:nodes] == [
            [sum(cell) for cell in zip(*(one["nodes"][node] for one in by_file), strict=True)]
            for node in range(nodes)
        ]
        again, statuses, reasons = ended(federation, study, THREE, selection=HELD_OUT)
        assert statuses == {JobStatus.COMPLETE}, reasons
        by_table = [agent(capsys, "evaluate", federation.hospitals[name].folder, again) for name in THREE]
        assert [one["nodes"] for one in by_table] == [one["nodes"] for one in by_file]


def test_all_records_of_a_patient_are_held_out_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        for name in THREE:
            path = tmp_path / f"{name}.csv"
            header = ",".join(("mrn", *NAMES, "diagnosis"))
            own = ROWS[THREE.index(name) :: 3]
            lines = [
                f"{name}-{number // 2},{','.join(map(str, row[:-1]))},{CLASSES[row[-1]]}"
                for number, row in enumerate(own)
            ]
            path.write_text("\n".join([header, *lines]) + "\n")
            federation.hospitals[name].configure(path, patient="mrn")
        halves = {**HELD_OUT, "parts": 2}
        grown, statuses, reasons = ended(federation, study, THREE, selection=halves)
        assert statuses == {JobStatus.COMPLETE}, reasons
        shown = [agent(capsys, "evaluate", federation.hospitals[name].folder, grown) for name in THREE]
        assert all(one["records"] % 2 == 0 and 0 < one["records"] < 40 for one in shown)
        for name in THREE:
            database = tmp_path / f"{name}.duckdb"
            with duckdb.connect(str(database)) as connection:
                connection.execute(
                    f"CREATE TABLE ward AS FROM read_csv('{tmp_path / name}.csv', header = true)"
                )
            federation.hospitals[name].configure(url=f"duckdb://{database}", table="ward", patient="mrn")
        again, statuses, reasons = ended(federation, study, THREE, selection=halves)
        assert statuses == {JobStatus.COMPLETE}, reasons
        by_table = [agent(capsys, "evaluate", federation.hospitals[name].folder, again) for name in THREE]
        assert [one["nodes"] for one in by_table] == [one["nodes"] for one in shown]


def test_records_that_lack_a_value_count_by_the_class_that_the_vote_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every ninth record lacks its answer about lumbar pain; the tree's missing values are fractional."""
    values = [
        {"name": name, "values": ["0", "1", "missing"], "missing": "fractional"}
        if name == "lumbar pain"
        else {"name": name, "values": ["0", "1"]}
        for name in NAMES
    ]
    schema = {"attributes": values, "class": SCHEMA["class"]}
    lacking = NAMES.index("lumbar pain")
    texts = [
        ["" if number % 9 == 0 and place == lacking else str(code) for place, code in enumerate(row[:-1])]
        + [CLASSES[row[-1]]]
        for number, row in enumerate(ROWS)
    ]
    policy = OPEN_POLICY + "allow_fractional = true\n"
    with local_federation(tmp_path / "federation", THREE, policy=policy) as federation:
        for start, name in enumerate(THREE):
            path = tmp_path / f"{name}.csv"
            own = [",".join(row) for row in texts[start::3]]
            path.write_text("\n".join([",".join((*NAMES, "diagnosis")), *own]) + "\n")
            federation.hospitals[name].configure(path)
        study = federation.cloud.study(schema, name="lacking", tallies=["evaluation"])
        grown, statuses, reasons = ended(federation, study, THREE, max_depth=3)
        assert statuses == {JobStatus.COMPLETE}, reasons
        job, statuses, reasons = ended(federation, study, THREE, tally={"kind": "evaluation", "model": grown})
        assert statuses == {JobStatus.COMPLETE}, reasons
        shown = agent(capsys, "evaluation", federation.hospitals["h1"].folder, job)
        model = federation.hospitals["h1"].model(grown)
        expected = [[0] * len(CLASSES) for _ in CLASSES]
        for row in texts:
            record = dict(zip(NAMES, row[:-1], strict=True))
            answer = predict(model.shown_tree, model.schema, record).label
            expected[CLASSES.index(row[-1])][CLASSES.index(answer)] += 1
        assert sum(map(sum, shown["votes"])) > 0
        assert confusion_of(shown["nodes"], shown["answers"], shown["votes"], len(CLASSES)) == expected
        words = ("--evaluation", job, "--exact")
        told = agent(capsys, "report", federation.hospitals["h1"].folder, grown, *words)["judged"][0]
        assert told["evaluation"]["confusion"]["cells"] == expected
        assert told["evaluation"]["records"] == len(texts)


def test_each_hospital_is_left_out_once_and_judges_the_tree_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Leave-one-hospital-out: growing without one needs its consent, judging sends nothing."""
    with local_federation(tmp_path / "federation", FOUR) as federation:
        study = prepared(federation, tmp_path / "records", *FOUR)
        for name in FOUR:
            federation.until(lambda name=name: _knows(federation, name, study))  # type: ignore[misc]
            agent(capsys, "consent", federation.hospitals[name].folder, study, "--yes")
        federation.until(lambda: _consents(federation, study) == len(FOUR))
        schema = Schema.from_json(SCHEMA)
        rules = GrowthRules(min_node=1, min_child=1, max_depth=None)
        for left_out in FOUR:
            others = tuple(name for name in FOUR if name != left_out)
            grown, statuses, reasons = ended(federation, study, others)
            assert statuses == {JobStatus.COMPLETE}, reasons
            copy = tmp_path / f"without-{left_out}.json"
            agent(capsys, "models", "export", federation.hospitals[others[0]].folder, grown, "--to", copy)
            shown = agent(capsys, "evaluate", federation.hospitals[left_out].folder, "--file", copy)
            pooled = [row for name in others for row in ROWS[FOUR.index(name) :: 4]]
            tree = grow(schema, rules, lambda queries, rows=pooled: count_rows(rows, queries, schema)).tree  # type: ignore[misc]
            assert shown["tree_sha256"] == tree.sha256
            expected = [[0] * len(CLASSES) for _ in CLASSES]
            for row in ROWS[FOUR.index(left_out) :: 4]:
                record = dict(zip(NAMES, map(str, row[:-1]), strict=True))
                expected[row[-1]][CLASSES.index(predict(tree, schema, record).label)] += 1
            assert confusion_of(shown["nodes"], shown["answers"], None, len(CLASSES)) == expected


def _knows(federation: LocalFederation, name: str, study: str) -> bool:
    with Journal.open(federation.hospitals[name].folder) as journal:
        return studies.study(journal, study) is not None


def _consents(federation: LocalFederation, study: str) -> int:
    services = federation.cloud.services
    document = services.studies.get(study).document
    assert document is not None
    with services.database.read() as connection:
        return len(consents_for(connection, document.sha256))


def test_an_agent_that_names_no_records_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with local_federation(tmp_path / "federation", THREE) as federation:
        study = prepared(federation, tmp_path / "records", *THREE)
        grown, _, _ = ended(federation, study, THREE, selection=HELD_OUT)
        federation.hospitals["h1"].configure()
        assert run(["agent", "evaluate", str(federation.hospitals["h1"].folder), grown, "--json"]) == 3
        assert "exactly one of path and url" in capsys.readouterr().out
        _, _, reasons = ended(federation, study, THREE, tally={"kind": "evaluation", "model": grown})
        assert any("database" in reason or "path and url" in reason for reason in reasons)
