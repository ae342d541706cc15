"""Importance beside scikit-learn's, on its own trees, and on a tree whose answer can be told by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from shared.errors import InternalError
from shared.tree.importance import importances
from shared.tree.model import Leaf, Node, Split, Tree


def sklearn_tree(criterion: str, weights: dict[int, int] | None) -> tuple[DecisionTreeClassifier, Tree]:
    draw = np.random.default_rng(2)
    rows = draw.integers(0, 4, size=(200, 5))
    labels = np.where(draw.random(200) < 0.7, (rows[:, 0] + rows[:, 3]) // 3, draw.integers(0, 3, size=200))
    grown = DecisionTreeClassifier(criterion=criterion, random_state=0, class_weight=weights).fit(
        rows, labels
    )
    reached = grown.decision_path(rows).toarray().astype(bool)
    nodes: dict[int, Node] = {}
    for node in range(grown.tree_.node_count - 1, -1, -1):
        counts = tuple(map(int, np.bincount(labels[reached[:, node]], minlength=3)))
        left, right = int(grown.tree_.children_left[node]), int(grown.tree_.children_right[node])
        leaf = Leaf(0, counts)
        nodes[node] = (
            leaf
            if left < 0
            else Split(int(grown.tree_.feature[node]), (nodes[left], nodes[right]), 0, counts)
        )
    return grown, Tree(nodes[0])


@pytest.mark.parametrize("weights", [None, {0: 1, 1: 5, 2: 3}], ids=["plain", "weighed"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_shares_are_scikit_learns(criterion: str, weights: dict[int, int] | None) -> None:
    grown, tree = sklearn_tree(criterion, weights)
    factors = (1, 1, 1) if weights is None else tuple(weights.values())

    def weigh(counts: Any) -> tuple[int, ...]:
        return tuple(count * factor for count, factor in zip(counts, factors, strict=True))

    found = importances(tree, weigh)
    ours = np.zeros(5)
    for each in found:
        ours[each.attribute] = float(each.gini if criterion == "gini" else each.entropy)
    assert np.allclose(ours, grown.feature_importances_, rtol=1e-12, atol=1e-12)
    assert [each.gini for each in found] == sorted((each.gini for each in found), reverse=True)
    assert sum(each.splits for each in found) == sum(isinstance(node, Split) for node in tree.nodes())


def test_by_hand() -> None:
    """Gini impurity of 8 records, 4 and 4, is 4; a makes it twice 1.5, and b makes one of these 0."""
    below = Split(1, (Leaf(0, (1, 0)), Leaf(1, (0, 3))), 1, (1, 3))
    found = importances(Tree(Split(0, (Leaf(0, (3, 1)), below), 0, (4, 4))))
    assert [each.attribute for each in found] == [1, 0]
    assert found[0].gini == Decimal(3) / 5
    assert found[1].gini == Decimal(2) / 5


def test_a_leaf_asks_nothing_and_counts_are_needed() -> None:
    assert importances(Tree(Leaf(0, (3, 1)))) == ()
    with pytest.raises(InternalError):
        importances(Tree(Split(0, (Leaf(0), Leaf(1)), 0)))
