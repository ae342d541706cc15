"""Fractional missing values on a real federation: files and a database, one tree, answers, policy."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.journal import JobStatus
from tests.integration.test_agent_jobs import THREE, agent, answers
from tests.support import exact_fractional as oracle
from tests.support.clinic import CLASSES, NAMES, ROWS
from tests.support.federation import OPEN_POLICY, LocalFederation, local_federation

FRACTIONAL = (1, 3)
SCHEMA: dict[str, Any] = {
    "attributes": [
        {"name": name, "values": ["0", "1", "missing"], "missing": "fractional"}
        if index in FRACTIONAL
        else {"name": name, "values": ["0", "1"]}
        for index, name in enumerate(NAMES)
    ],
    "class": {"name": "diagnosis", "labels": list(CLASSES)},
}
SETTING = oracle.Setting((2,) * len(NAMES), frozenset(FRACTIONAL), len(CLASSES))


def rows_with_gaps() -> list[tuple[int, ...]]:
    """The records of the clinic, one field in five of the marked attributes lost."""
    drawn = random.Random(5)
    return [
        tuple(
            2 if index in FRACTIONAL and drawn.random() < 0.2 else code for index, code in enumerate(row[:-1])
        )
        + row[-1:]
        for row in ROWS
    ]


RECORDS = rows_with_gaps()


def fields(row: tuple[int, ...]) -> list[str]:
    return [*("" if code == 2 else str(code) for code in row[:-1]), CLASSES[row[-1]]]


def files(folder: Path) -> dict[str, Path]:
    made = {}
    for start, name in enumerate(THREE):
        lines = [",".join((*NAMES, "diagnosis")), *(",".join(fields(row)) for row in RECORDS[start::3])]
        made[name] = folder / f"{name}.csv"
        made[name].write_text("\n".join(lines) + "\n")
    return made


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    policy = OPEN_POLICY + "allow_fractional = true\n"
    with local_federation(tmp_path_factory.mktemp("fractional"), THREE, policy=policy) as running:
        yield running


def test_three_hospitals_grow_the_pooled_tree_and_answer_with_its_vote(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path), publish_tree=True)
    assert outcome.statuses == {JobStatus.COMPLETE}
    published = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/result").json()
    assert published["tree_sha256"] == outcome.models["h1"].tree_sha256
    drawn = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/tree").json()["tree"]
    assert len(drawn["kids"]) == 2
    asked = {"record": {"nausea": "0"}}
    told = federation.cloud.people.post(f"/v1/jobs/{outcome.job}/predict", json=asked)
    assert (told.status_code, "without the counts" in told.text) == (422, True)
    form = outcome.models["h1"].shown_tree.to_json(with_counts=True)
    assert "weights" in json.dumps(form)
    assert oracle.faults(form, RECORDS, SETTING) == []
    assert {model.tree for model in outcome.models.values()} == {outcome.models["h1"].tree}
    folder = federation.hospitals["h2"].folder
    known = ("nausea=0", "urine pushing=1", "burning of urethra=0")
    words = [word for value in known for word in ("--set", value)]
    (answer,) = agent(capsys, "predict", folder, *words)["predictions"]
    votes = oracle.vote(form, (0, 2, 1, 2, 0, 0), SETTING)
    assert answer["parted_at"] in NAMES
    assert answer["class"] == CLASSES[votes.index(max(votes))]
    assert answer["probability"] == float(max(votes))
    shown = agent(capsys, "models", "show", folder, outcome.job)
    assert "missing:" not in shown["drawing"]


@pytest.mark.long
@pytest.mark.parametrize("criterion", ["information-gain", "gain-ratio"])
def test_records_in_a_database_are_counted_in_the_same_populations(
    federation: LocalFederation, tmp_path: Path, criterion: str
) -> None:
    made = files(tmp_path)
    database = tmp_path / "h3.duckdb"
    with duckdb.connect(str(database)) as connection:
        columns = ", ".join(f'"{name}" TEXT' for name in (*NAMES, "diagnosis"))
        connection.execute(f"CREATE TABLE cases ({columns})")
        marks = ", ".join("?" * (len(NAMES) + 1))
        connection.executemany(f"INSERT INTO cases VALUES ({marks})", [fields(row) for row in RECORDS[2::3]])
    for name in ("h1", "h2"):
        federation.hospitals[name].configure(made[name])
    federation.hospitals["h3"].configure(url=f"duckdb://{database}", table="cases")
    study = federation.cloud.study(SCHEMA, name=f"in-a-database-{criterion}")
    job = federation.cloud.job(study, invited=list(THREE), criterion=criterion)
    entries = federation.wait(job, THREE)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}
    form = federation.hospitals["h3"].model(job).shown_tree.to_json(with_counts=True)
    setting = oracle.Setting(SETTING.branches, SETTING.fractional, SETTING.classes, criterion)
    assert oracle.faults(form, RECORDS, setting) == []


def test_a_hospital_that_has_not_allowed_small_groups_declines(
    federation: LocalFederation, tmp_path: Path
) -> None:
    federation.hospitals["h2"].allow(OPEN_POLICY)
    job = federation.start_job(SCHEMA, files(tmp_path))
    entry = federation.wait(job, THREE)["h2"]
    assert entry.status is JobStatus.DECLINED
    assert "allow_fractional" in str(entry.reason)
    assert answers(federation, job)["h2"] == "declined"
    federation.hospitals["h2"].allow(OPEN_POLICY + "allow_fractional = true\n")


def test_a_mode_that_has_no_parts_of_records_is_refused_at_the_start_with_the_reason(
    federation: LocalFederation,
) -> None:
    study = federation.cloud.study(SCHEMA, name="without-parts")
    for plan in ({"profile": "paper"}, {"profile": "hardened", "max_depth": 3, "noise": {"sigma": "20"}}):
        answer = federation.cloud.people.post(
            f"/v1/studies/{study}/jobs", json={"min_node": 1, "min_child": 1, "invited": list(THREE), **plan}
        )
        assert answer.status_code == 422, answer.text
        assert "fractional" in answer.text
