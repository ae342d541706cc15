"""Leaves of one class made one: fewer nodes, the same answers, and nothing more to join."""

from __future__ import annotations

import itertools

from hypothesis import given, settings

from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.merging import as_asked, merged
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.pruning import Pruning, prune
from tests.support.tree_strategies import Sample, rules, samples


def answer(node: Node, row: tuple[int, ...]) -> int:
    while isinstance(node, Split):
        node = node.kids[row[node.attribute]]
    return node.label


def grown(sample: Sample, rules: GrowthRules) -> Tree:
    return grow(sample.schema, rules, lambda asked: count_rows(sample.rows, asked, sample.schema)).tree


@settings(max_examples=40, deadline=None)
@given(samples(), rules("information-gain"))
def test_it_answers_alike_and_has_no_split_of_one_class(sample: Sample, rules: GrowthRules) -> None:
    tree = grown(sample, rules)
    small = merged(tree)
    values = [range(len(attribute.values)) for attribute in sample.schema.attributes]
    for row in itertools.islice(itertools.product(*values), 500):
        assert answer(small.root, row) == answer(tree.root, row)
    for node in small.nodes():
        if isinstance(node, Split):
            assert len(
                {kid.label if isinstance(kid, Leaf) else None for kid in node.kids} - {None}
            ) != 1 or any(isinstance(kid, Split) for kid in node.kids)
    assert merged(small) == small


@settings(max_examples=40, deadline=None)
@given(samples(), rules("information-gain"))
def test_it_cuts_nothing_that_collapse_by_counts_would_not(sample: Sample, rules: GrowthRules) -> None:
    """By counts a subtree may collapse besides where classes tie: so it has at most as many nodes."""
    tree = grown(sample, rules)
    assert prune(tree, Pruning("collapse")).node_count <= merged(tree).node_count <= tree.node_count


def test_only_collapse_asks_for_it() -> None:
    tree = Tree(Split(0, (Leaf(1, (0, 2)), Leaf(1, (1, 3))), 1, (1, 5)))
    assert as_asked(tree, Pruning("collapse")) == Tree(Leaf(1, (1, 5)))
    for pruning in (None, Pruning("majority")):
        assert as_asked(tree, pruning) is tree
