"""Mode G's oracle on real numeric records: against exact fractions, and beside the trees that J48 grew on them.

`tests.support.numeric_reference` says why J48's trees can be compared in these ways only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shared.tree.gain_ratio_growing import GainRatioRules, GroupTest, grow_by_gain_ratio
from shared.tree.gain_ratio_layer import table_scale
from tests.support import numeric_reference, reference_data
from tests.support.exact_gain_ratio import GainRatioSetting, exact_gain_ratio_tree, gain_and_split
from tests.support.numeric_reference import NumericCase, load
from tests.support.numeric_samples import nested

pytestmark = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)

COMPLETE = [
    "play-tennis-numeric",
    "thyroid-recurrence-numeric",
    "early-stage-diabetes-numeric",
    "wdbc",
    "pima-diabetes",
]
"""The sets without missing values."""
HEIGHTS = {
    "play-tennis-numeric": 9,
    "heart-hungarian": 4,
    "heart-cleveland": 4,
    "thyroid-recurrence-numeric": 4,
    "early-stage-diabetes-numeric": 5,
    "wdbc": 1,
    "heart-2-hospitals": 2,
    "breast-cancer-wisconsin": 4,
    "pima-diabetes": 1,
}
"""As high as the slow way takes a second for."""


@pytest.mark.parametrize(("name", "height"), HEIGHTS.items())
def test_equals_the_exact_tree(name: str, height: int) -> None:
    case = load(name)
    rows = list(zip(*case.keys.tolist(), case.labels.tolist(), strict=True))
    rules = GainRatioRules(height, min_node=10, min_child=5) if height < 9 else GainRatioRules(height)
    layers = grow_by_gain_ratio(case.keys, case.labels, case.schema.class_count, rules)
    scale = table_scale(len(rows), case.schema.class_count)
    setting = GainRatioSetting(case.schema.class_count, scale, height, rules.min_node, rules.min_child)
    assert nested(layers) == exact_gain_ratio_tree(rows, setting)


def test_every_set_is_compared() -> None:
    assert set(HEIGHTS) == set(numeric_reference.names())


@pytest.mark.parametrize("name", COMPLETE)
def test_as_many_training_errors_as_j48(name: str) -> None:
    case = load(name)
    height = len(case.rows)
    layers = grow_by_gain_ratio(case.keys, case.labels, case.schema.class_count, GainRatioRules(height))
    assert _training_errors(layers, case) == _contradictions(case) == case.summary["training_errors"] == 0


@pytest.mark.parametrize("name", COMPLETE)
def test_no_test_of_j48_has_a_greater_ratio_than_ours(name: str) -> None:
    case = load(name)
    classes = case.schema.class_count
    compared = 0
    for rows, theirs in _binary_tests(case):
        keys, labels = case.keys[:, rows], case.labels[rows]
        scale = table_scale(labels.size, classes)
        (root,) = grow_by_gain_ratio(keys, labels, classes, GainRatioRules(1), scale=scale)[0]
        found = _fraction(labels, theirs, classes, scale)
        if isinstance(root, GroupTest):
            ours = _fraction(labels, keys[root.column] <= root.threshold, classes, scale)
            assert ours >= found
        else:
            assert found <= 0
        compared += 1
    assert compared >= {"play-tennis-numeric": 2, "thyroid-recurrence-numeric": 10}.get(name, 19)


def _training_errors(layers: Any, case: NumericCase) -> int:
    wrong, root = 0, nested(layers)
    for row, label in zip(case.keys.T.tolist(), case.labels.tolist(), strict=True):
        node = root
        while "kids" in node:
            node = node["kids"][row[node["column"]] > node["threshold"]]
        wrong += node["leaf"] != label
    return wrong


def _contradictions(case: NumericCase) -> int:
    """Records that no tree can place: those outside the most frequent class of their equals."""
    labels: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for row, label in zip(case.keys.T.tolist(), case.labels.tolist(), strict=True):
        labels[tuple(row)][label] += 1
    return sum(found.total() - max(found.values()) for found in labels.values())


def _fraction(labels: NDArray[np.int64], left: NDArray[np.bool_], classes: int, scale: int) -> Fraction:
    sides = (np.bincount(labels[side], minlength=classes).tolist() for side in (left, ~left))
    return Fraction(*gain_and_split(*sides, scale))


def _binary_tests(case: NumericCase) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Of each node of J48's tree with two branches: the rows there, and which of them go into the first."""
    texts = {name: [row[index] for row in case.rows] for index, name in enumerate(_names(case))}
    pending: list[tuple[dict[str, Any], NDArray[np.intp]]] = [(case.tree, np.arange(len(case.rows)))]
    while pending:
        node, rows = pending.pop()
        if "leaf" in node:
            continue
        own = texts[node["attribute"]]
        if "threshold" in node:
            bound = Decimal(str(node["threshold"]))
            branch = np.array([int(Decimal(own[row]) > bound) for row in rows])
        else:
            branch = np.array([list(node["branches"]).index(own[row]) for row in rows])
        if len(node["branches"]) == 2:
            yield rows, branch == 0
        pending.extend((kid, rows[branch == index]) for index, kid in enumerate(node["branches"].values()))


def _names(case: NumericCase) -> list[str]:
    return [attribute.name for attribute in case.schema.attributes]
