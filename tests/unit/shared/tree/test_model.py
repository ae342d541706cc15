"""The tree: canonical bytes, hash, JSON, sizes, export and drawing, also of a very long path."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings

from shared.errors import InputError
from shared.tree.counting import count_rows
from shared.tree.drawing import draw
from shared.tree.export import reference_form
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Attribute, Schema
from tests.support.tree_strategies import Sample, make_schema, rules, samples

PAINS = Schema.create(
    [Attribute("lumbar pain", ("no", "yes")), Attribute("urine pushing", ("no", "yes", "missing"))],
    "diagnosis",
    ["none", "nephritis", "both"],
)
TREE = Tree(
    Split(
        0,
        (
            Leaf(0, (30, 0, 0)),
            Split(1, (Leaf(1, (0, 20, 9)), Leaf(2, (0, 0, 1)), Leaf(1, (0, 0, 0))), 1, (0, 20, 10)),
        ),
        0,
        (30, 20, 10),
    )
)


def long_tree(depth: int) -> Tree:
    node: Node = Leaf(0)
    for attribute in reversed(range(depth)):
        node = Split(attribute, (Leaf(1), node), 0)
    return Tree(node)


def test_nodes_come_before_their_subtrees_in_value_order() -> None:
    assert [node.label if isinstance(node, Leaf) else "split" for node in TREE.nodes()] == [
        "split",
        0,
        "split",
        1,
        2,
        1,
    ]


def test_sizes() -> None:
    assert (TREE.node_count, TREE.leaf_count, TREE.depth) == (6, 4, 2)
    assert (Tree(Leaf(0)).node_count, Tree(Leaf(0)).leaf_count, Tree(Leaf(0)).depth) == (1, 1, 0)


@given(samples(), rules("information-gain"))
@settings(max_examples=50, deadline=None)
def test_json_there_and_back(sample: Sample, how: GrowthRules) -> None:
    tree = grow(sample.schema, how, lambda queries: count_rows(sample.rows, queries, sample.schema)).tree
    canonical = tree.canonical()
    assert rfc8785.dumps(json.loads(canonical)) == canonical
    assert tree.sha256 == hashlib.sha256(canonical).hexdigest()
    assert Tree.from_json(json.loads(json.dumps(tree.to_json(with_counts=True)))) == tree
    assert Tree.from_json(tree.to_json(with_counts=False)) == tree.without_counts()
    assert Tree.from_json(json.loads(canonical)).canonical() == canonical
    assert tree.without_counts().sha256 == tree.sha256
    assert "counts" not in json.dumps(tree.to_json(with_counts=False))


@pytest.mark.parametrize(
    "data",
    [
        None, [], 3, {}, {"leaf": -1}, {"leaf": "0"}, {"leaf": True}, {"leaf": 0, "more": 1},
        {"leaf": 0, "counts": [1.5]}, {"leaf": 0, "counts": 3}, {"attr": 0}, {"attr": 0, "kids": []},
        {"attr": 0, "kids": {"leaf": 0}}, {"attr": 0, "kids": [None]}, {"attr": "x", "kids": [{"leaf": 0}]},
        {"attr": 0, "kids": [{"leaf": 0}], "majority": None}, {"attr": 0, "kids": [{"leaf": 0}], "more": 0},
    ],
)  # fmt: skip
def test_json_of_another_form(data: Any) -> None:
    with pytest.raises(InputError, match="tree"):
        Tree.from_json(data)


def test_a_path_as_long_as_there_may_be_attributes() -> None:
    depth = 1024
    tree, schema = long_tree(depth), make_schema((2,) * depth, 2)
    assert (tree.depth, tree.node_count, tree.leaf_count) == (depth, 2 * depth + 1, depth + 1)
    assert tree.canonical().startswith(b'{"attr":0,"kids":[{"leaf":1},')
    assert Tree.from_json(tree.to_json(with_counts=False)).sha256 == tree.sha256
    assert reference_form(tree, schema)["attribute"] == "a0"
    assert len(draw(tree, schema).splitlines()) == 2 * depth + 1


def test_reference_form() -> None:
    assert reference_form(TREE, PAINS) == {
        "attribute": "lumbar pain",
        "branches": {
            "no": {"leaf": "none", "count": 30},
            "yes": {
                "attribute": "urine pushing",
                "branches": {
                    "no": {"leaf": "nephritis", "count": 29, "classes": {"nephritis": 20, "both": 9}},
                    "yes": {"leaf": "both", "count": 1},
                    "missing": {"leaf": "nephritis", "count": 0},
                },
            },
        },
    }
    assert reference_form(Tree(Leaf(2)), PAINS) == {"leaf": "both"}


def test_drawing() -> None:
    assert draw(TREE, PAINS).splitlines() == [
        "lumbar pain?",
        "├─ no: none (30 records)",
        "└─ yes: urine pushing?",
        "   ├─ no: nephritis (29 records: nephritis 20, both 9)",
        "   ├─ yes: both (1 record)",
        "   └─ missing: nephritis (no record: the majority above)",
    ]
    assert draw(TREE.without_counts(), PAINS).splitlines()[1] == "├─ no: none"
    assert draw(Tree(Leaf(1)), PAINS) == "nephritis"


def test_drawing_keeps_the_bars_of_open_branches() -> None:
    tree = Tree(Split(0, (Split(1, (Leaf(0), Leaf(1), Leaf(2))), Leaf(1))))
    assert draw(tree, PAINS).splitlines()[2] == "│  ├─ no: none"


def test_an_empty_value_is_named_in_a_drawing() -> None:
    schema = Schema.create([Attribute("a", ("", "x"))], "c", ["", "sick"])
    assert draw(Tree(Split(0, (Leaf(0), Leaf(1)))), schema).splitlines()[1] == "├─ (empty): (empty)"
