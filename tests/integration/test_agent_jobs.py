"""Real daemons and a real cloud over real HTTP: jobs from offer to tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from tests.support.clinic import CLASSES, NAMES, ROWS, SCHEMA, dealt
from tests.support.federation import LocalFederation, local_federation

LOOSE = GrowthRules(min_node=1, min_child=1, max_depth=None)


def write_rows(path: Path, rows: list[tuple[int, ...]]) -> Path:
    lines = [",".join((*NAMES, "diagnosis"))]
    lines += [",".join((*map(str, row[:-1]), CLASSES[row[-1]])) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def files(folder: Path) -> Mapping[str, Path]:
    return {name: write_rows(folder / f"{name}.csv", rows) for name, rows in dealt("h1", "h2", "h3").items()}


def pooled_sha256() -> str:
    schema = Schema.from_json(SCHEMA)
    return grow(schema, LOOSE, lambda queries: count_rows(ROWS, queries, schema)).tree.sha256


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation")) as running:
        yield running


def test_three_hospitals_grow_the_tree_of_the_pooled_records(
    federation: LocalFederation, tmp_path: Path
) -> None:
    outcome = federation.run_job(SCHEMA, files(tmp_path))
    assert outcome.statuses == {JobStatus.COMPLETE}
    assert {model.tree.sha256 for model in outcome.models.values()} == {pooled_sha256()}
    print(outcome.seconds, {n: e.tally for n, e in outcome.entries.items()})
