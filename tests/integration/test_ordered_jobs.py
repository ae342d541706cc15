"""Thresholds on numbers in mode PPSDT, by a whole federation over real HTTP, beside J48's trees and the oracle's."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hospital_agent.journal import JobStatus
from privet.__main__ import run as privet
from shared.tree.export import reference_form
from tests.integration.test_agent_jobs import agent
from tests.support import ordered_reference
from tests.support.federation import OPEN_POLICY, JobOutcome, LocalFederation, local_federation
from tests.support.reference_data import SKIP_REASON, deal, differences, is_available
from tests.unit.shared.tree.test_ordered_growing import oracle_tree, shape

pytestmark = pytest.mark.skipif(not is_available(), reason=SKIP_REASON)

HOSPITALS = ("h1", "h2", "h3")
C45: dict[str, Any] = {"criteria": ["c45"], "criterion": "c45", "thresholds": "gain"}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    policy = f"{OPEN_POLICY}allow_fractional = true\n"
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS, policy=policy) as running:
        yield running


def files_of(name: str, folder: Path) -> dict[str, Path]:
    """The numbers as the file has them, dealt to three hospitals."""
    case, made = ordered_reference.load(name), {}
    header = [attribute.name for attribute in case.schema.attributes] + [case.schema.class_name]
    for hospital, rows in zip(HOSPITALS, deal(case.rows, 3), strict=True):
        made[hospital] = folder / f"{hospital}.csv"
        with made[hospital].open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    return made


def run(federation: LocalFederation, name: str, folder: Path, **rules: Any) -> JobOutcome:
    schema = ordered_reference.load(name).schema.to_json()
    plan = {"min_node": 1, "min_child": 1, "max_depth": None, **C45, **rules}
    outcome = federation.run_job(schema, files_of(name, folder), timeout_seconds=300, **plan)
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert len({model.tree_sha256 for model in outcome.models.values()}) == 1
    return outcome


def test_a_federation_grows_j48s_tree_on_numbers(federation: LocalFederation, tmp_path: Path) -> None:
    outcome = run(federation, "thyroid-recurrence-numeric", tmp_path, publish_tree=True)
    case = ordered_reference.load("thyroid-recurrence-numeric")
    tree = outcome.models["h1"].shown_tree
    assert tree.node_count == case.nodes
    assert differences(reference_form(tree, case.schema), case.tree) == []
    published = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/tree").json()
    assert published["tree_sha256"] == tree.sha256
    shown = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()
    assert any("split in two" in sentence for sentence in shown["growing"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["play-tennis-numeric", "early-stage-diabetes-numeric"])
def test_other_public_trees_are_j48s_as_well(federation: LocalFederation, tmp_path: Path, name: str) -> None:
    case = ordered_reference.load(name)
    tree = run(federation, name, tmp_path).models["h2"].shown_tree
    assert (tree.node_count, differences(reference_form(tree, case.schema), case.tree)) == (case.nodes, [])


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["thyroid-recurrence-numeric", "early-stage-diabetes-numeric", "pima-diabetes"]
)
def test_with_penalty_and_collapse_they_are_quinlans(
    federation: LocalFederation, tmp_path: Path, name: str
) -> None:
    rules = {"thresholds": "gain-mdl", "pruning": {"method": "collapse"}}
    case = ordered_reference.load(name)
    tree = run(federation, name, tmp_path, **rules).models["h3"].shown_tree
    assert ordered_reference.parted_otherwise(reference_form(tree, case.schema), case.collapsed) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["breast-cancer-wisconsin", "heart-cleveland"])
def test_files_with_gaps_give_j48s_tree_with_records_in_parts(
    federation: LocalFederation, tmp_path: Path, name: str
) -> None:
    case = ordered_reference.load(name)
    outcome = run(federation, name, tmp_path)
    form = reference_form(outcome.models["h1"].shown_tree, case.schema)
    assert ordered_reference.parted_otherwise(form, case.tree) == []
    assert ordered_reference.thresholds_of(form) == ordered_reference.thresholds_of(case.tree)
    learned = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/ledger").json()
    told = {entry["learned"] for entry in learned["fact"]["entries"]}
    assert {"intervals", "missing_groups"} <= told


@pytest.mark.long
def test_numbers_that_a_grid_rounds_give_the_oracles_tree_of_what_it_leaves(
    federation: LocalFederation, tmp_path: Path
) -> None:
    case = ordered_reference.load("wdbc")
    assert not case.is_whole
    tree = run(federation, "wdbc", tmp_path).models["h1"].shown_tree
    assert shape(tree.root) == shape(oracle_tree(case.schema, case.codes).root)


@pytest.mark.long
def test_a_database_counts_as_files_do(federation: LocalFederation, tmp_path: Path) -> None:
    name = "early-stage-diabetes-numeric"
    case, files = ordered_reference.load(name), files_of(name, tmp_path)
    database = tmp_path / "h2.duckdb"
    with duckdb.connect(str(database)) as connection:
        texts = f"read_csv('{files['h2']}', header = true, all_varchar = true)"
        connection.execute(
            f"CREATE TABLE cases AS SELECT * REPLACE (CAST(Age AS INTEGER) AS Age) FROM {texts}"
        )
    federation.hospitals["h1"].configure(files["h1"])
    federation.hospitals["h2"].configure(url=f"duckdb://{database}", table="cases")
    federation.hospitals["h3"].configure(files["h3"])
    study = federation.cloud.study(case.schema.to_json(), name="beside-files", criteria=["c45"])
    plan = {"criterion": "c45", "thresholds": "gain", "min_node": 1, "min_child": 1, "max_depth": None}
    job = federation.cloud.job(study, invited=list(HOSPITALS), **plan)
    assert {entry.status for entry in federation.wait(job, HOSPITALS).values()} == {JobStatus.COMPLETE}
    tree = federation.hospitals["h2"].model(job).shown_tree
    assert differences(reference_form(tree, case.schema), case.tree) == []


@pytest.mark.long
def test_a_tree_with_thresholds_is_judged_cut_back_explained_and_exported(
    federation: LocalFederation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = ordered_reference.load("thyroid-recurrence-numeric")
    for name, path in files_of("thyroid-recurrence-numeric", tmp_path).items():
        federation.hospitals[name].configure(path)
    study = federation.cloud.study(
        case.schema.to_json(), name="judged", criteria=["c45"], tallies=["evaluation"]
    )

    def finished(**plan: Any) -> str:
        rules = {"min_node": 1, "min_child": 1, "max_depth": None, **plan}
        job = federation.cloud.job(study, invited=list(HOSPITALS), **rules)
        assert {entry.status for entry in federation.wait(job, HOSPITALS).values()} == {JobStatus.COMPLETE}
        return job

    held_out = {"parts": 10, "first": 0, "last": 3, "seed": "5e" * 16}
    grown = finished(criterion="c45", thresholds="gain", selection=held_out)
    judged = finished(criterion="c45", tally={"kind": "evaluation", "model": grown})
    folder = federation.hospitals["h1"].folder
    tree = federation.hospitals["h1"].model(grown).shown_tree
    table = agent(capsys, "evaluation", folder, judged)["nodes"]
    assert len(table) == tree.node_count
    assert 0 < sum(map(sum, table)) < len(case.rows)
    cut = ("--evaluation", judged, "--method", "reduced-error")
    found = [agent(capsys, "prune", federation.hospitals[name].folder, grown, *cut) for name in HOSPITALS]
    assert found[0] == found[1] == found[2]
    assert found[0]["nodes"][1] < found[0]["nodes"][0]
    told = agent(capsys, "models", "show", folder, grown, "--importance")
    assert {"Response", "Age"} <= {entry["attribute"] for entry in told["importance"]}
    asked = agent(capsys, "predict", folder, "--model", grown, "--file", tmp_path / "h2.csv")["predictions"]
    assert all(answer["class"] in case.schema.classes for answer in asked)
    assert any("Age <= " in answer["path"] for answer in asked)
    written = {}
    for form in ("pmml", "python", "rules", "json", "dot"):
        written[form] = tmp_path / f"tree.{form}"
        assert (
            privet(["agent", "export", str(folder), grown, "--format", form, "-o", str(written[form])]) == 0
        )
    assert '"Age" <= ' in written["rules"].read_text()
    assert 'operator="lessOrEqual"' in written["pmml"].read_text()


def test_what_cannot_have_thresholds_is_refused_at_the_start(federation: LocalFederation) -> None:
    schema = ordered_reference.load("thyroid-recurrence-numeric").schema.to_json()
    study = federation.cloud.study(schema, name="refused")
    for plan in ({"profile": "paper"}, {"noise": {"sigma": "20"}, "max_depth": 3}):
        body = {"thresholds": "gain", "invited": list(HOSPITALS), **plan}
        answer = federation.cloud.people.post(f"/v1/studies/{study}/jobs", json=body)
        assert (answer.status_code, "thresholds" in answer.text) == (422, True), answer.text
