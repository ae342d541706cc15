"""Every public file in its original form, by inspect's own advice and a drafted contract, to the tree others grew.

No file is edited. `tests.support.public_files` says what a steward names; docs/data-to-tree.md is the table of it all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hospital_agent.records import open_source
from hospital_agent.records.source import DataSettings
from shared.contract.files import contract_of
from shared.contract.merging import merge
from shared.contract.mixing import mix, new_merger_secret, open_batch, public_key, seal_draft
from shared.tree.export import reference_form
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.numeric import column_keys, numeric_columns, tree_of_layers
from shared.wire.contract import DataContract
from tests.support import public_files
from tests.support.data_to_tree import Way, draft_words, merged_of_parts, prepare, reference_of, source_words
from tests.support.data_to_tree_table import CRITERIA, PAGE, computed, in_order_of, outcome_of
from tests.support.federation import LocalFederation, local_federation
from tests.support.public_files import HOSPITALS, RECIPES
from tests.support.reference_data import DATA, SKIP_REASON, TREES, differences, is_available, load

pytestmark = [
    pytest.mark.skipif(not is_available(), reason=SKIP_REASON),
    pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning"),
]
RULES = GrowthRules(min_node=1, min_child=1, max_depth=None)
SMALL = ["acute-inflammations", "contact-lenses", "play-tennis, numbers"]


def lines() -> dict[str, str]:
    """The page's lines by the name of their file."""
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][1:]
    return {line.split(" | ")[0].removeprefix("| "): line for line in table}


def test_every_public_file_has_a_line() -> None:
    files = {path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file()}
    assert {file for recipe in RECIPES.values() for file in recipe.files} == files - {"README.md"}
    assert list(lines()) == list(RECIPES)


def test_every_reference_tree_is_reached_for() -> None:
    """The first hundred rows and fewer of acute-inflammations have a test of their own."""
    reached = {recipe.reference for recipe in RECIPES.values() if recipe.reference}
    trees = {path.name.removesuffix(".gain-ratio.json") for path in TREES.glob("*.gain-ratio.json")}
    assert {name for name in trees if not name.startswith("acute")} == {
        name for name in reached if not name.startswith("acute")
    }


@pytest.mark.parametrize("name", SMALL)
def test_from_a_small_file_to_its_tree(name: str) -> None:
    line, outcome = computed(name)
    assert (line, outcome.faults) == (lines()[name], ())


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in RECIPES if name not in SMALL])
def test_from_the_file_to_the_tree(name: str) -> None:
    line, outcome = computed(name)
    assert (line, outcome.faults) == (lines()[name], ())


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.twin])
def test_one_set_in_two_forms_gives_one_tree(name: str, tmp_path: Path) -> None:
    """Trees over indices of attributes and classes; those with a reference are held against that one by name."""
    ways = []
    for one in (name, RECIPES[name].twin or ""):
        (tmp_path / one).mkdir()
        ways.append(prepare(one, tmp_path / one))
    assert outcome_of(ways[0]).found == outcome_of(ways[1]).found
    assert tree_of_height(ways[0], 6) == tree_of_height(ways[1], 6)


OWN_DRAFTS_DIFFER = {
    "adult": "32 561 rows take too long",
    "heart, two hospitals": "goes through merge anyway",
    "heart, two hospitals, numbers": "goes through merge anyway",
    "pima-indians-diabetes.data, zeros as gaps": "one part has too few zeros for inspect to find them",
    "play-tennis, numbers": "three rows do not show that a temperature is measured",
}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in RECIPES if name not in OWN_DRAFTS_DIFFER])
def test_three_hospitals_own_drafts_make_the_same_schema(name: str, tmp_path: Path) -> None:
    """Though one of them knows one class only, and none all values."""
    (tmp_path / "own").mkdir()
    assert merged_of_parts(name, tmp_path / "own") == prepare(name, tmp_path).schema
    secret = new_merger_secret()
    sealed = [seal_draft(draft, public_key(secret)) for draft in contracts_in(tmp_path / "own", "*-own.json")]
    (plain,) = contracts_in(tmp_path / "own", "merged.json")
    assert merge(open_batch(mix(sealed), secret)) == plain


def contracts_in(folder: Path, pattern: str) -> list[DataContract]:
    paths = sorted(folder.glob(pattern))
    return [contract_of(json.loads(path.read_text(encoding="utf-8")), path.name) for path in paths]


@pytest.mark.long
@pytest.mark.parametrize("rows", [20, 40, 60, 80, 100])
def test_the_beginnings_of_the_papers_file(rows: int, tmp_path: Path) -> None:
    """By information gain and by gain ratio, from the whole file's contract."""
    way = prepare("acute-inflammations", tmp_path)
    query = f"{way.recipe.query} LIMIT {rows}".format(file=way.recipe.paths[0])
    settings = DataSettings(url="duckdb://", query=query, contract=way.contract)
    snapshot = open_source(settings, tmp_path / "first").freeze(way.schema, bytes(16))
    for criterion, (file, member, _) in CRITERIA.items():
        document = reference_of(f"acute-inflammations-{rows}", file)
        expected = document.get("tree_first_of_tied", document[member])
        tree = grow(way.schema, replace(RULES, criterion=criterion), snapshot.count).tree
        form = in_order_of(reference_form(tree, way.schema), expected, document["attributes"])
        assert differences(form, expected) == [], (rows, criterion)


def test_a_wrong_tree_is_seen(tmp_path: Path) -> None:
    """The comparisons above can fail: half of the records, and a record changed."""
    case = load("zoo")
    settings = DataSettings(path=case.write_csv(tmp_path / "zoo.csv", case.rows[:50]))
    tree = grow(case.schema, RULES, open_source(settings, tmp_path).freeze(case.schema, bytes(16)).count).tree
    form = in_order_of(reference_form(tree, case.schema), case.expected, case.document["attributes"])
    assert differences(form, case.expected)


def test_another_reading_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    way = prepare("play-tennis", tmp_path)
    read = public_files.fields_of
    changed = lambda path: [["overcast", *fields[1:]] for fields in read(path)]  # noqa: E731
    monkeypatch.setattr("tests.support.second_reading.fields_of", changed)
    assert any("second reading" in fault for fault in outcome_of(way).faults)


@pytest.mark.long
@pytest.mark.parametrize("name", ["zoo", "early-stage-diabetes", "acute-inflammations"])
def test_the_same_contract_by_the_installed_command(name: str, tmp_path: Path) -> None:
    """Real processes: inspect, draft, check, as they are typed."""
    way, recipe = prepare(name, tmp_path), RECIPES[name]
    records = source_words(recipe, recipe.paths[0])
    contract = tmp_path / "typed.json"
    derive = ["--derive", str(recipe.derive)] if recipe.derive else []
    names = ["--names", ",".join(recipe.names)] if recipe.derive else []
    inspected = typed("inspect", *records, "--class", recipe.class_words, *derive, *names, "--floor", "1")
    typed("draft", *records, *draft_words(recipe), "-o", str(contract))
    assert typed("check", str(contract), *records)["fits"]
    assert contract.read_bytes() == way.contract_file.read_bytes()
    assert inspected["rows"] == way.rows


def typed(*words: str) -> Any:
    """`privet data ...` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "privet", "data", *words, "--json"],
        cwd=PAGE.parents[1],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("files"), HOSPITALS) as running:
        yield running


def job_of(federation: LocalFederation, way: Way, name: str, **plan: Any) -> set[str | None]:
    """A real job on the hospitals' parts; the fingerprints of its trees."""
    for hospital, part in zip(HOSPITALS, way.parts, strict=True):
        if way.recipe.query is None:
            federation.hospitals[hospital].configure(part)
        else:
            query = way.recipe.query.format(file=part)
            federation.hospitals[hospital].configure(url="duckdb://", query=query)
    document = json.loads(way.contract_file.read_text())
    criteria = ["information-gain", "gain-ratio", "c45"]
    study = federation.cloud.study(way.schema.to_json(), name=name, contract=document, criteria=criteria)
    job = federation.cloud.job(study, invited=list(HOSPITALS), **plan)
    entries = federation.wait(job, HOSPITALS, timeout_seconds=240)
    assert {entry.status.value for entry in entries.values()} == {"complete"}, [
        entry.reason for entry in entries.values()
    ]
    return {federation.hospitals[hospital].model(job).tree_sha256 for hospital in HOSPITALS}


@pytest.mark.long
@pytest.mark.parametrize("name", ["acute-inflammations", "heart, two hospitals", "zoo"])
@pytest.mark.parametrize("criterion", ["information-gain", "c45"])
def test_a_real_job_gives_that_tree(
    federation: LocalFederation, name: str, criterion: Any, tmp_path: Path
) -> None:
    """Three agents and a cloud over encrypted counts; the tree is the one that the table holds against Weka's."""
    way = prepare(name, tmp_path)
    study = f"{name.replace(', ', '-').replace(' ', '-')}-{criterion}"
    assert job_of(federation, way, study, criterion=criterion) == {way.counted(criterion).sha256}


@pytest.mark.long
@pytest.mark.parametrize("name", ["play-tennis, numbers", "wdbc"])
def test_a_real_job_on_shares_gives_that_tree(federation: LocalFederation, name: str, tmp_path: Path) -> None:
    """Mode gain-ratio, two layers, by the drafted contract."""
    way = prepare(name, tmp_path)
    secret = {"compute_parties": list(HOSPITALS), "max_records": way.rows}
    study = name.replace(", ", "-")
    found = job_of(federation, way, study, mode="gain-ratio", max_depth=2, secret=secret)
    assert found == {tree_of_height(way, 2)}


def tree_of_height(way: Way, height: int) -> str:
    """The fingerprint of mode gain-ratio's tree in the clear."""
    attributes, classes = way.codes()
    columns = numeric_columns(way.schema)
    keys = np.ascontiguousarray(column_keys(columns, attributes))
    layers = grow_by_gain_ratio(keys, classes, way.schema.class_count, GainRatioRules(height))
    return tree_of_layers(layers, way.schema, columns).sha256
