"""Places of records in a tree: what a prediction of each record walks to, on codes and for all records at once."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hospital_agent.records.derived_source import _at_places
from hospital_agent.records.matching import CodedRecords
from hospital_agent.records.rows import RecordRows
from hospital_agent.records.walking import places_of
from shared.protocol.tallies import evaluation_schema
from shared.tree.binary_tests import AtMost, Equals, UpTo
from shared.tree.counting import count_rows
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import tree_growth
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.prediction import predict
from shared.tree.schema import Attribute, Schema
from shared.wire.manifest import ClassSpec
from tests.support.places import place_codes

SCHEMA = Schema.create(
    [
        Attribute("colour", ("red", "green", "missing"), missing="fractional"),
        Attribute("stage", ("1", "2", "3", "4"), treat_as="ordered"),
        Attribute("age", (), fixed_point=FixedPoint.create("age", "-5", "120", 1)),
    ],
    "class",
    ("no", "yes"),
)


def trees(depth: int = 3) -> st.SearchStrategy[Node]:
    leaf = st.integers(0, 1).map(Leaf)
    if not depth:
        return leaf
    kid = st.deferred(lambda: trees(depth - 1))
    by_value = st.tuples(kid, kid).map(lambda kids: Split(0, kids, 0))
    up_to = st.tuples(kid, kid, st.integers(0, 2)).map(lambda t: Split(1, t[:2], 1, test=UpTo(t[2])))
    equals = st.tuples(kid, kid, st.integers(0, 3)).map(lambda t: Split(1, t[:2], 1, test=Equals(t[2])))
    at_most = st.tuples(kid, kid, st.integers(-50, 1200)).map(
        lambda t: Split(2, t[:2], 0, test=AtMost((Decimal(t[2]) / 10).normalize() + 0))
    )
    return st.one_of(leaf, by_value, up_to, equals, at_most)


ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(-50, 1200), st.integers(0, 1)),
    min_size=1,
    max_size=30,
)


def walked(tree: Tree, row: tuple[int, int, int, int]) -> int:
    """The oracle: one record, one question after another, on its own number."""
    numbers = {id(node): number for number, node in enumerate(tree.nodes())}
    node = tree.root
    while isinstance(node, Split):
        match node.test:
            case None if row[0] == 2:
                break
            case None:
                branch = row[0]
            case AtMost(threshold):
                branch = int(Decimal(row[2]) / 10 > threshold)
            case Equals(value):
                branch = int(row[1] == value)
            case UpTo(value):
                branch = int(row[1] > value)
        node = node.kids[branch]
    return numbers[id(node)]


@settings(max_examples=60, deadline=None)
@given(trees(), ROWS)
def test_places_are_those_of_single_walks(root: Node, rows: list[tuple[int, int, int, int]]) -> None:
    tree = Tree(_apart(root))
    columns = np.array(rows).T
    found = RecordRows(
        (columns[0].astype(np.uint8), columns[1].astype(np.uint8), (columns[2] + 50).astype(np.uint32)),
        columns[3].astype(np.uint8),
    )
    assert places_of(tree, SCHEMA, found).tolist() == [walked(tree, row) for row in rows]


def _apart(node: Node) -> Node:
    """The same tree, each node an object of its own: strategies may use one leaf twice."""
    if isinstance(node, Leaf):
        return Leaf(node.label)
    kids = tuple(map(_apart, node.kids))
    return Split(node.attribute, kids, node.majority, test=node.test)


FRACTIONAL = Schema.create(
    [
        Attribute("colour", ("red", "green", "missing"), missing="fractional"),
        Attribute("stage", ("1", "2", "3")),
        Attribute("side", ("left", "right", ""), missing="fractional"),
    ],
    "class",
    ("no", "yes", "both"),
)
CODED = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    min_size=6,
    max_size=40,
)


@settings(max_examples=30, deadline=None)
@given(CODED, CODED)
def test_records_without_a_value_count_where_the_vote_answers(
    grown_on: list[tuple[int, ...]], asked: list[tuple[int, ...]]
) -> None:
    rules = GrowthRules(min_node=1, min_child=1, max_depth=None)
    growth = tree_growth(FRACTIONAL).start(FRACTIONAL, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(grown_on, growth.queries, FRACTIONAL))
    tree = growth.tree
    columns = np.array(asked, dtype=np.uint8).T
    places = places_of(tree, FRACTIONAL, RecordRows(tuple(columns[:-1]), columns[-1])).tolist()
    labels = [node.label if isinstance(node, Leaf) else node.majority for node in tree.nodes()]
    answered = [[*labels, *range(3)][place] for place in places]
    names = [attribute.name for attribute in FRACTIONAL.attributes]
    expected = []
    for row in asked:
        values = [a.values[code] for a, code in zip(FRACTIONAL.attributes, row, strict=False)]
        record = {n: None if v in ("", "missing") else v for n, v in zip(names, values, strict=True)}
        expected.append(FRACTIONAL.classes.index(predict(tree, FRACTIONAL, record).label))
    assert answered == expected


@pytest.mark.parametrize("places", [5, 256, 257, 700])
def test_a_place_has_the_codes_that_the_evaluations_schema_says(places: int) -> None:
    spec = evaluation_schema(ClassSpec(name="class", labels=["no", "yes"]), places)
    schema = Schema.from_json(spec.model_dump(mode="json", by_alias=True))
    ends = np.arange(places, dtype=np.int64)
    read = CodedRecords(
        np.vstack([ends % 3, ends % 2]).astype(np.uint8), np.empty((0, places), dtype=np.uint32), ()
    )
    codes = _at_places(read, ends, schema).codes
    assert codes[:-1].T.tolist() == [place_codes(spec, place) for place in range(places)]
    assert codes[-1].tolist() == (ends % 2).tolist()
