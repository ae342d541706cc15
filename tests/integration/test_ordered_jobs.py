"""Thresholds on numbers in mode PPSDT, by a whole federation over real HTTP, beside J48's trees and the oracle's."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from shared.tree.export import reference_form
from tests.support import ordered_reference
from tests.support.federation import JobOutcome, LocalFederation, local_federation
from tests.support.reference_data import SKIP_REASON, deal, differences, is_available

pytestmark = pytest.mark.skipif(not is_available(), reason=SKIP_REASON)

HOSPITALS = ("h1", "h2", "h3")
C45: dict[str, Any] = {"criteria": ["c45"], "criterion": "c45", "thresholds": "gain"}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
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
    outcome = federation.run_job(schema, files_of(name, folder), **plan)
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
