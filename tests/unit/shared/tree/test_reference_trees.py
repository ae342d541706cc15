"""Pooled rows give the trees of other programs (../shared/reference_trees), first column on exact ties."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.tree.contingency import ContingencyTable
from shared.tree.counting import count_rows
from shared.tree.criteria import information_gain
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.schema import Attribute, Schema
from tests.support import reference_data
from tests.support.reference_data import ReferenceCase, differences

pytestmark = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)


def our_tree(case: ReferenceCase, criterion: Criterion) -> dict[str, Any]:
    rules = GrowthRules(criterion=criterion, min_node=1, min_child=1, max_depth=None)
    rows = case.codes
    growth = grow(case.schema, rules, lambda queries: count_rows(rows, queries, case.schema))
    return reference_form(growth.tree, case.schema)


@pytest.mark.parametrize("name", reference_data.names("information-gain"))
def test_information_gain_trees_are_equal(name: str) -> None:
    case = reference_data.load(name)
    counts = {label: sum(row[-1] == label for row in case.rows) for label in case.class_labels}
    assert {label: count for label, count in counts.items() if count} == case.document["class_counts"]
    assert differences(our_tree(case, "information-gain"), case.expected) == []


@pytest.mark.parametrize("name", reference_data.names("gain-ratio"))
def test_gain_ratio_trees_part_only_where_the_average_gain_rule_decides(name: str) -> None:
    """C4.5 lets only attributes of at least average gain compete (less 0.001); criterion gain-ratio lets all."""
    case = reference_data.load(name, "gain-ratio")
    for node, theirs, rows in partings(our_tree(case, "gain-ratio"), case.expected, case, list(case.rows)):
        gains = {attribute: gain_of(case, rows, attribute) for attribute in case.attribute_names}
        varied = [gain for attribute, gain in gains.items() if occurring(case, rows, attribute) > 1]
        average = sum(varied) / len(varied)
        assert gains[node] < average - 0.001 <= gains[theirs], (node, theirs)


@pytest.mark.parametrize("name", reference_data.names("gain-ratio"))
def test_c45_trees_are_equal(name: str) -> None:
    """J48's trees without pruning and collapsing, at exact ties too: both take the first column."""
    case = reference_data.load(name, "gain-ratio")
    assert differences(our_tree(case, "c45"), case.expected) == []


def test_a_wrong_tree_is_told_from_the_reference() -> None:
    case = reference_data.load("play-tennis")
    ours = our_tree(case, "information-gain")
    ours["branches"]["overcast"]["count"] += 1
    assert len(differences(ours, case.expected)) == 1
    assert differences({"leaf": "yes", "count": 14}, case.expected) != []


def partings(
    ours: dict[str, Any], theirs: dict[str, Any], case: ReferenceCase, rows: list[tuple[str, ...]]
) -> list[tuple[str, str, list[tuple[str, ...]]]]:
    """The topmost nodes where the attributes differ: ours, theirs, and the rows there."""
    if "leaf" in theirs:
        assert differences(ours, theirs) == []
        return []
    if ours["attribute"] != theirs["attribute"]:
        return [(ours["attribute"], theirs["attribute"], rows)]
    column = case.attribute_names.index(ours["attribute"])
    return [
        parting
        for value, subtree in theirs["branches"].items()
        for parting in partings(
            ours["branches"][value], subtree, case, [row for row in rows if row[column] == value]
        )
    ]


def gain_of(case: ReferenceCase, rows: list[tuple[str, ...]], attribute: str) -> float:
    column = case.attribute_names.index(attribute)
    values = case.schema.attributes[column].values
    found = [(row[column], row[-1]) for row in rows]
    table = [[found.count((value, label)) for label in case.class_labels] for value in values]
    return float(information_gain(ContingencyTable.of(table)))


def occurring(case: ReferenceCase, rows: list[tuple[str, ...]], attribute: str) -> int:
    return len({row[case.attribute_names.index(attribute)] for row in rows})


def edge_cases() -> list[dict[str, Any]]:
    path = reference_data.TREES / "edge-cases.json"
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return cases


@pytest.mark.parametrize("edge", edge_cases(), ids=lambda edge: edge["case"])
@pytest.mark.parametrize("criterion", ["information-gain", "gain-ratio"])
def test_edge_cases_end_as_in_j48(edge: dict[str, Any], criterion: Criterion) -> None:
    attributes = [Attribute(name, tuple(values)) for name, values in edge["attributes"].items()]
    schema = Schema.create(attributes, "class", edge["class_order"])
    rows = tuple(tuple(row) for row in edge["rows"])
    names, expected = tuple(edge["attributes"]), edge["weka_j48_-U_-M_1_-O_-J"]
    case = ReferenceCase(
        edge["case"], schema, rows, names, tuple(edge["class_order"]), expected, frozenset(), edge
    )
    assert differences(our_tree(case, criterion), expected) == []
