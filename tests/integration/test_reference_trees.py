"""The whole federation against trees that nobody here grew: every information-gain tree of the reference set.

Real HTTP, real daemons, a real cloud on SQLite and on PostgreSQL: each tree on one of them in every run, on the other
in the longer proofs. Rows are dealt in several ways, sorted by class among them, so that some hospital has rows of one
class only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from shared.tree.counting import count_rows
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from tests.support.databases import postgres_database
from tests.support.federation import LocalFederation, local_federation
from tests.support.reference_data import ReferenceCase, deal, differences, is_available, load, names

pytestmark = pytest.mark.skipif(not is_available(), reason="../shared/reference_trees is not here")

Rows = Sequence[tuple[str, ...]]
HOSPITALS = ("h1", "h2", "h3", "h4", "h5")
PAPER_MAX_ROWS = 200
WIDE = {"spect-train", "lymphography"}
"""In the published protocol each cell costs an exponentiation, so these take longest; the others show as much."""
RULES = {"min_node": 1, "min_child": 1, "max_depth": None}


def round_robin(rows: Rows, count: int) -> list[Rows]:
    return deal(rows, count)


def in_blocks(rows: Rows, count: int) -> list[Rows]:
    """Consecutive blocks of one size."""
    size = -(-len(rows) // count)
    return [rows[start : start + size] for start in range(0, size * count, size)]


def sorted_by_class(rows: Rows, count: int) -> list[Rows]:
    return in_blocks(sorted(rows, key=lambda row: row[-1]), count)


def very_unevenly(rows: Rows, count: int) -> list[Rows]:
    """One hospital has nearly everything, the others two rows each."""
    small = 2 * (count - 1)
    return [*(rows[2 * k : 2 * k + 2] for k in range(count - 1)), rows[small:]]


DEALS: list[Callable[[Rows, int], list[Rows]]] = [round_robin, in_blocks, sorted_by_class, very_unevenly]
CASES = names() if is_available() else []
PAPER_CASES = [name for name in CASES if len(load(name).rows) <= PAPER_MAX_ROWS]
GAIN_RATIO_CASES = names("gain-ratio") if is_available() else []


def spread(cases: Sequence[str], long: Collection[str] = ()) -> list[Any]:
    """Both databases for each case; one of them in every run, in turn, the other in the longer proofs."""
    return [
        pytest.param(
            kind,
            name,
            marks=[] if number % 2 == turn and name not in long else [pytest.mark.long],
            id=f"{kind}-{name}",
        )
        for number, name in enumerate(cases)
        for turn, kind in enumerate(("sqlite", "postgres"))
    ]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def federation(
    kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalFederation]:
    folder = tmp_path_factory.mktemp("federation")
    if kind == "sqlite":
        with local_federation(folder, HOSPITALS) as running:
            yield running
        return
    with (
        postgres_database(request.getfixturevalue("postgres_server")) as url,
        local_federation(folder, HOSPITALS, url) as running,
    ):
        yield running


def grown(
    federation: LocalFederation, case: ReferenceCase, dealt: Sequence[Rows], folder: Path, **plan: object
) -> list[str]:
    """The tree's hash at every hospital, after the check that it is the reference tree."""
    files = {
        name: case.write_csv(folder / f"{name}.csv", rows)
        for name, rows in zip(HOSPITALS, dealt, strict=False)
    }
    outcome = federation.run_job(case.schema.to_json(), files, **{**RULES, **plan})
    assert outcome.statuses == {JobStatus.COMPLETE}, {n: e.status for n, e in outcome.entries.items()}
    trees = [model.tree for model in outcome.models.values()]
    assert differences(reference_form(trees[0], case.schema), case.expected) == []
    return [tree.sha256 for tree in trees]


def pooled_hash(case: ReferenceCase) -> str:
    rules = GrowthRules(min_node=1, min_child=1, max_depth=None)
    return grow(case.schema, rules, lambda queries: count_rows(case.codes, queries, case.schema)).tree.sha256


@pytest.mark.parametrize(("kind", "name"), spread(CASES), indirect=["kind"])
def test_hardened(federation: LocalFederation, name: str, tmp_path: Path, kind: str) -> None:
    """Five hospitals on PostgreSQL, three on SQLite."""
    hospitals = 5 if kind == "postgres" else 3
    case = load(name)
    way = DEALS[CASES.index(name) % len(DEALS)]
    hashes = grown(federation, case, way(case.rows, hospitals), tmp_path)
    assert hashes == [pooled_hash(case)] * hospitals


@pytest.mark.long
@pytest.mark.parametrize("hospitals", [3, 5])
@pytest.mark.parametrize("way", DEALS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", CASES)
def test_hardened_every_way(
    federation: LocalFederation,
    name: str,
    way: Callable[[Rows, int], list[Rows]],
    hospitals: int,
    tmp_path: Path,
) -> None:
    case = load(name)
    hashes = grown(federation, case, way(case.rows, hospitals), tmp_path)
    assert hashes == [pooled_hash(case)] * hospitals


@pytest.mark.parametrize(("kind", "name"), spread(PAPER_CASES, WIDE), indirect=["kind"])
def test_paper(federation: LocalFederation, name: str, tmp_path: Path) -> None:
    case = load(name)
    dealt = DEALS[CASES.index(name) % len(DEALS)](case.rows, 3)
    hashes = grown(federation, case, dealt, tmp_path, profile="paper", synthetic=True)
    assert hashes == [pooled_hash(case)] * 3


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("way", DEALS, ids=lambda way: way.__name__)
def test_every_way_of_dealing_gives_one_tree(
    federation: LocalFederation, way: Callable[[Rows, int], list[Rows]], tmp_path: Path
) -> None:
    case = load("lymphography")
    assert grown(federation, case, way(case.rows, 5), tmp_path) == [pooled_hash(case)] * 5


@pytest.mark.parametrize(("kind", "name"), spread(GAIN_RATIO_CASES), indirect=["kind"])
def test_gain_ratio(federation: LocalFederation, name: str, tmp_path: Path) -> None:
    """By gain ratio over the federation: the tree of the pooled rows, whose choices an exact oracle confirms."""
    case = load(name, "gain-ratio")
    dealt = dict(zip(HOSPITALS, deal(case.rows, 3), strict=False))
    files = {hospital: case.write_csv(tmp_path / f"{hospital}.csv", rows) for hospital, rows in dealt.items()}
    outcome = federation.run_job(case.schema.to_json(), files, criterion="gain-ratio", **RULES)
    rules = GrowthRules("gain-ratio", min_node=1, min_child=1, max_depth=None)
    expected = grow(
        case.schema, rules, lambda queries: count_rows(case.codes, queries, case.schema)
    ).tree.sha256
    assert {model.tree.sha256 for model in outcome.models.values()} == {expected}
    assert len(outcome.models) == 3
