"""Pruning by hold-out records, beside predictions of the records themselves."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from shared.errors import InternalError
from shared.tree.cost_complexity import weakest_links
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.merging import merged
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.reduced_error import (
    best_on_hold_out,
    errors_at,
    prune_by_hold_out,
    prune_unnamed_by_hold_out,
)
from shared.tree.schema import Attribute, Schema

Row = tuple[int, ...]
SCHEMA = Schema.create([Attribute(name, ("0", "1", "2")) for name in "abcd"], "class", ["no", "yes"])


def drawn(seed: int, count: int) -> list[Row]:
    draw = random.Random(seed)
    rows = [tuple(draw.randrange(3) for _ in range(4)) for _ in range(count)]
    return [(*row, int(row[0] == 2 or (row[1] == 0 and draw.random() < 0.7))) for row in rows]


def grown(seed: int) -> Tree:
    rows = drawn(seed, 120)
    rules = GrowthRules(min_node=1, min_child=1, max_depth=None)
    return grow(SCHEMA, rules, lambda queries: count_rows(rows, queries, SCHEMA)).tree


def end_of(tree: Tree, row: Row) -> Node:
    node = tree.root
    while isinstance(node, Split) and row[node.attribute] >= 0:
        node = node.kids[row[node.attribute]]
    return node


def errors(tree: Tree, rows: list[Row]) -> int:
    found = [end_of(tree, row) for row in rows]
    labels = [node.label if isinstance(node, Leaf) else node.majority for node in found]
    return sum(label != row[-1] for label, row in zip(labels, rows, strict=True))


def ends(tree: Tree, rows: list[Row]) -> list[list[int]]:
    """As an evaluation counts them: by the place, in the order of the nodes, where the walk ends."""
    places = {id(node): place for place, node in enumerate(tree.nodes())}
    found = [[0, 0] for _ in places]
    for row in rows:
        found[places[id(end_of(tree, row))]][row[-1]] += 1
    return found


def hold_out(seed: int) -> list[Row]:
    """Some rows have no value of an attribute: their walk may end at a split."""
    rows = drawn(seed + 1000, 80)
    return [(*row[:2], -1, *row[3:]) if k % 9 == 0 else row for k, row in enumerate(rows)]


def cuts(node: Node) -> Iterator[Node]:
    """Every tree with one more subtree cut."""
    if isinstance(node, Split):
        assert node.majority is not None
        yield Leaf(node.majority, node.counts)
        for place, kid in enumerate(node.kids):
            for changed in cuts(kid):
                kids = (*node.kids[:place], changed, *node.kids[place + 1 :])
                yield Split(node.attribute, kids, node.majority, node.counts)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_more_can_be_cut_and_nothing_cut_did_harm(seed: int) -> None:
    tree, rows = grown(seed), hold_out(seed)
    pruned = prune_by_hold_out(tree, ends(tree, rows))
    assert pruned.node_count < tree.node_count
    assert errors(pruned, rows) <= errors(tree, rows)
    assert all(errors(Tree(more), rows) > errors(pruned, rows) for more in cuts(pruned.root))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_a_sequence_has_fewest_errors_and_is_the_smallest_such(seed: int) -> None:
    tree, rows = grown(seed), hold_out(seed)
    sequence = weakest_links(tree, "errors")
    made = [errors(pruned.tree, rows) for pruned in sequence]
    best = best_on_hold_out(tree, ends(tree, rows), sequence)
    assert best is sequence[max(place for place, each in enumerate(made) if each == min(made))]


def test_without_hold_out_records_one_leaf_is_left() -> None:
    tree = grown(1)
    assert isinstance(prune_by_hold_out(tree, [[0, 0] for _ in tree.nodes()]).root, Leaf)


def test_counts_of_another_tree_are_our_bug() -> None:
    with pytest.raises(InternalError):
        prune_by_hold_out(grown(1), [[0, 0]])


def unnamed(tree: Tree) -> Tree:
    """The tree as a secret mode opens it: classes at leaves, and nothing else."""
    return Tree.from_json(json.loads(tree.canonical()))


def by_records(node: Node, rows: list[Row]) -> tuple[Node, int]:
    """Reduced-error pruning record by record, top down: the node that stays, and its errors."""
    wrong = sum(1 for row in rows if isinstance(node, Leaf) and node.label != row[-1])
    if isinstance(node, Leaf):
        return node, wrong
    passed = [[row for row in rows if row[node.attribute] == value] for value in range(3)]
    kids = [by_records(kid, part) for kid, part in zip(node.kids, passed, strict=True)]
    made = sum(errors for _, errors in kids) + sum(row[node.attribute] < 0 for row in rows)
    classes = [sum(row[-1] == label for row in rows) for label in (0, 1)]
    label = int(classes[1] > classes[0])
    if rows and len(rows) - classes[label] <= made:
        return Leaf(label), len(rows) - classes[label]
    return Split(node.attribute, tuple(kid for kid, _ in kids)), made


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_without_majorities_is_pruned_by_the_classes_of_the_hold_out_records(seed: int) -> None:
    tree, rows = unnamed(grown(seed)), hold_out(seed)
    counted = ends(tree, rows)
    pruned = prune_unnamed_by_hold_out(tree, counted)
    expected, made = by_records(tree.root, rows)
    assert pruned == merged(Tree(expected))
    assert pruned.node_count < tree.node_count
    assert made <= errors_at(tree, counted, tree)
    complete = [row for row in rows if min(row) >= 0]
    whole = ends(tree, complete)
    cut = prune_unnamed_by_hold_out(tree, whole)
    assert errors_at(tree, whole, cut) == errors(cut, complete) <= errors(tree, complete)


def test_what_no_hold_out_record_reaches_stays() -> None:
    tree = Tree(Split(0, (Leaf(0), Split(1, (Leaf(0), Leaf(1), Leaf(0))), Split(2, (Leaf(1),) * 3))))
    nobody = [[0, 0]] * tree.node_count
    assert prune_unnamed_by_hold_out(tree, nobody) == merged(tree) != tree
    left = [[0, 0], [9, 0], *[[0, 0]] * (tree.node_count - 2)]
    assert prune_unnamed_by_hold_out(tree, left) == Tree(Leaf(0))
