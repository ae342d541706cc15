"""Trees grown as C4.5 grows and prunes them, by a whole federation over real HTTP, beside other programs' trees.

Contact lenses: the pruned tree is the one that Weka's J48 is known to print for its own sample file of 24 records: four
leaves, seven nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shared.tree.counting import count_rows
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.pruning import Pruning
from tests.support.databases import postgres_database
from tests.support.federation import LocalFederation, local_federation
from tests.support.reference_data import SKIP_REASON, deal, differences, is_available, load, names

pytestmark = pytest.mark.skipif(not is_available(), reason=SKIP_REASON)

HOSPITALS = ("h1", "h2", "h3")
CASES = names("gain-ratio") if is_available() else []
C45: dict[str, Any] = {"criteria": ["c45"], "criterion": "c45"}
CONTACT_LENSES = {
    "attribute": "tear-prod-rate",
    "branches": {
        "normal": {
            "attribute": "astigmatism",
            "branches": {
                "no": {"leaf": "soft", "count": 6, "classes": {"none": 1, "soft": 5}},
                "yes": {
                    "attribute": "spectacle-prescrip",
                    "branches": {
                        "hypermetrope": {"leaf": "none", "count": 3, "classes": {"hard": 1, "none": 2}},
                        "myope": {"leaf": "hard", "count": 3},
                    },
                },
            },
        },
        "reduced": {"leaf": "none", "count": 12},
    },
}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalFederation]:
    with local_federation(tmp_path_factory.mktemp("federation"), HOSPITALS) as running:
        yield running


def files_of(name: str, folder: Path) -> dict[str, Path]:
    case = load(name, "gain-ratio")
    dealt = zip(HOSPITALS, deal(case.rows, 3), strict=True)
    return {hospital: case.write_csv(folder / f"{hospital}.csv", rows) for hospital, rows in dealt}


def test_contact_lenses_as_j48_prunes_them(federation: LocalFederation, tmp_path: Path) -> None:
    """Two branches of at least two records, which J48 wants of a split by default, follow here from min_node 4."""
    case = load("contact-lenses", "gain-ratio")
    outcome = federation.run_job(
        case.schema.to_json(),
        files_of("contact-lenses", tmp_path),
        **C45,
        min_node=4,
        pruning={"method": "pessimistic"},
        publish_tree=True,
    )
    trees = [model.shown_tree for model in outcome.models.values()]
    assert len(trees) == 3
    assert differences(reference_form(trees[0], case.schema), CONTACT_LENSES) == []
    assert {tree.sha256 for tree in trees} == {trees[0].sha256}
    published = federation.cloud.people.get(f"/v1/jobs/{outcome.job}/tree")
    assert published.status_code == 200, published.text
    assert published.json()["tree_sha256"] == trees[0].sha256


@pytest.mark.long
@pytest.mark.parametrize(
    ("pruning", "rule"),
    [
        ({"method": "collapse"}, Pruning("collapse")),
        ({"method": "majority", "share": "0.7"}, Pruning("majority", share=Fraction(7, 10))),
    ],
)
def test_weights_go_by_label_and_all_rules_reach_the_hospitals(
    federation: LocalFederation, tmp_path: Path, pruning: dict[str, str], rule: Pruning
) -> None:
    case = load("contact-lenses", "gain-ratio")
    asked: dict[str, Any] = {
        "min_node": 1,
        "class_weights": {"hard": 5},
        "min_gain": "0.05",
        "pruning": pruning,
    }
    outcome = federation.run_job(case.schema.to_json(), files_of("contact-lenses", tmp_path), **asked)
    weights = tuple(5 if label == "hard" else 1 for label in case.class_labels)
    rules = GrowthRules(
        min_node=1,
        min_child=1,
        max_depth=None,
        class_weights=weights,
        min_gain=Fraction(1, 20),
        pruning=rule,
    )
    expected = grow(case.schema, rules, lambda queries: count_rows(case.codes, queries, case.schema)).tree
    assert {model.shown_tree.sha256 for model in outcome.models.values()} == {expected.sha256}
    shown = federation.cloud.people.get(f"/v1/jobs/{outcome.job}").json()
    assert any("hard 5" in sentence for sentence in shown["growing"])
    refused = federation.cloud.people.post("/v1/studies/study-0/jobs", json={"class_weights": {"harder": 5}})
    assert refused.status_code == 422
    assert "no such class" in refused.text


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_c45_tree_over_the_federation(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """All 21 gain-ratio trees of the reference set, exactly."""
    if database == "postgres":
        with postgres_database(request.getfixturevalue("postgres_server")) as url:
            check_all(tmp_path, url)
    else:
        check_all(tmp_path, None)


def check_all(folder: Path, url: str | None) -> None:
    with local_federation(folder, HOSPITALS, *(() if url is None else (url,))) as running:
        for name in CASES:
            case = load(name, "gain-ratio")
            outcome = running.run_job(case.schema.to_json(), files_of(name, folder), **C45)
            assert len(outcome.models) == 3, name
            for model in outcome.models.values():
                assert differences(reference_form(model.shown_tree, case.schema), case.expected) == [], name
