"""Evaluations on public data: what all hospitals open is what predictions of the pooled records say, tree by tree.

SQLite and PostgreSQL take turns. The trees are those of `test_reference_trees`, grown by other programs as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from hospital_agent.keyring import Keyring
from hospital_agent.models.tallies import TallyResult, cabinet_of
from shared.tree.model import Leaf, Tree
from shared.tree.prediction import predict
from tests.support.databases import postgres_database
from tests.support.federation import LocalFederation, local_federation
from tests.support.reference_data import SKIP_REASON, ReferenceCase, deal, is_available, load, names

pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_available(), reason=SKIP_REASON)]
HOSPITALS = ("h1", "h2", "h3")
CASES = names() if is_available() else []
FOLDS = 4


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def federation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("federation")
    if request.param == "sqlite":
        with local_federation(folder, HOSPITALS) as running:
            yield running
        return
    with (
        postgres_database(request.getfixturevalue("postgres_server")) as url,
        local_federation(folder, HOSPITALS, url) as running,
    ):
        yield running


def study_of(federation: LocalFederation, case: ReferenceCase, folder: Path, name: str) -> str:
    for hospital, rows in zip(HOSPITALS, deal(case.rows, 3), strict=True):
        federation.hospitals[hospital].configure(case.write_csv(folder / f"{hospital}.csv", rows))
    return federation.cloud.study(case.schema.to_json(), name=name, tallies=["evaluation"])


def done(federation: LocalFederation, study: str, **plan: object) -> str:
    job = federation.cloud.job(study, invited=list(HOSPITALS), **plan)
    entries = federation.wait(job, HOSPITALS, timeout_seconds=300)
    assert {entry.status for entry in entries.values()} == {JobStatus.COMPLETE}, entries
    return job


def opened(federation: LocalFederation, job: str) -> TallyResult:
    folder = federation.hospitals["h1"].folder
    ring = Keyring.open(folder)
    return cabinet_of(folder, ring.identity.public, ring.hospital_trust().root).get(job)


def confusion(tree: Tree, result: TallyResult, classes: int) -> list[list[int]]:
    table = [[0] * classes for _ in range(classes)]
    for node, row in zip(tree.nodes(), result.places(tree).values(), strict=True):
        label = node.label if isinstance(node, Leaf) else node.majority
        for true, count in enumerate(row):
            table[true][int(label or 0)] += count
    return table


def predicted(case: ReferenceCase, tree: Tree) -> list[list[int]]:
    """The oracle: every record by itself, by its texts."""
    labels = case.schema.classes
    table = [[0] * len(labels) for _ in labels]
    for row in case.rows:
        record = dict(zip([a.name for a in case.schema.attributes], row[:-1], strict=True))
        answer = predict(tree, case.schema, record).label
        table[labels.index(row[-1])][labels.index(answer)] += 1
    return table


@pytest.mark.parametrize("name", CASES)
def test_all_records_are_counted_as_they_are_predicted(
    federation: LocalFederation, name: str, tmp_path: Path
) -> None:
    case = load(name)
    study = study_of(federation, case, tmp_path, f"all-{CASES.index(name)}")
    grown = done(federation, study, min_node=2)
    tree = federation.hospitals["h1"].model(grown).shown_tree
    result = opened(federation, done(federation, study, tally={"kind": "evaluation", "model": grown}))
    assert confusion(tree, result, len(case.schema.classes)) == predicted(case, tree)
    leaves = [node.counts for node in tree.nodes() if isinstance(node, Leaf)]
    places = list(result.places(tree).values())
    assert [row for row, node in zip(places, tree.nodes(), strict=True) if isinstance(node, Leaf)] == leaves


def test_folds_test_every_record_once(federation: LocalFederation, tmp_path: Path) -> None:
    name = CASES[0]
    case = load(name)
    study = study_of(federation, case, tmp_path, "folds")
    tested, trained = 0, 0
    for fold in range(FOLDS):
        parted = {"parts": FOLDS, "first": fold, "last": fold + 1, "seed": "c4" * 16}
        grown = done(federation, study, selection=parted)
        tree = federation.hospitals["h2"].model(grown).shown_tree
        trained += sum(tree.root.counts or ())
        result = opened(federation, done(federation, study, tally={"kind": "evaluation", "model": grown}))
        tested += result.records
        assert result.records + sum(tree.root.counts or ()) == len(case.rows)
    assert tested == len(case.rows)
    assert trained == (FOLDS - 1) * len(case.rows)
