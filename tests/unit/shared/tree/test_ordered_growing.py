"""Trees with thresholds from summed counts: J48's on public data, an exact oracle's on random tables.

The oracle knows rows, not tables. It compares gains as products of powers of whole numbers, without any logarithm:
`2^(N gain)` is a rational number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hospital_agent.records.counting import count_codes
from shared.errors import InputError, InternalError, JobFailure
from shared.tree.binary_tests import UpTo
from shared.tree.counting import count_rows
from shared.tree.export import reference_form
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import tree_growth
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.ordered_growing import OrderedGrowth
from shared.tree.pruning import Pruning
from shared.tree.schema import Attribute, Schema
from shared.tree.thresholds import is_ordered
from tests.support import ordered_reference, reference_data
from tests.support.c45_numeric import grow_c45
from tests.support.reference_data import differences

PLAIN = GrowthRules(
    criterion="c45", min_node=1, min_child=1, max_depth=None, thresholds="gain", split_on_zero_gain=False
)
WITH_DATA = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)
Rows = Sequence[Sequence[int]]


def grown(schema: Schema, rules: GrowthRules, rows: Rows) -> OrderedGrowth:
    """A growth driven to its end, through its journal's form at each level."""
    growth = OrderedGrowth.start(schema, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(rows, growth.queries, schema))
        assert OrderedGrowth.from_json(schema, rules, growth.to_json()) == growth
    return growth


@WITH_DATA
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("play-tennis-numeric", [58, 72]),
        ("early-stage-diabetes-numeric", [164, 158, 206, 228, 246, 272, 156, 35, 32]),
        ("thyroid-recurrence-numeric", [240, 690, 419, 148, 80]),
    ],
)
def test_trees_are_j48s_node_by_node_and_so_many_cells_are_asked(name: str, cells: list[int]) -> None:
    case = ordered_reference.load(name)
    assert case.is_whole
    growth, asked = OrderedGrowth.start(case.schema, PLAIN, bytes(32)), []
    while not growth.is_done:
        asked.append(growth.slot_count)
        growth = growth.absorb(count_rows(case.codes, growth.queries, case.schema))
    assert asked == cells
    tree = growth.tree
    assert tree.node_count == case.nodes
    assert differences(reference_form(tree, case.schema), case.tree) == []


@WITH_DATA
@pytest.mark.parametrize(
    "name",
    [
        "play-tennis-numeric",
        pytest.param("early-stage-diabetes-numeric", marks=pytest.mark.long),
        "thyroid-recurrence-numeric",
        pytest.param("pima-diabetes", marks=pytest.mark.long),
    ],
)
def test_with_the_penalty_and_collapsed_they_are_those_of_quinlans_own_program(name: str) -> None:
    case = ordered_reference.load(name)
    tree = grown(
        case.schema, replace(PLAIN, thresholds="gain-mdl", pruning=Pruning("collapse")), case.codes
    ).tree
    assert ordered_reference.parted_otherwise(reference_form(tree, case.schema), case.collapsed) == []


@WITH_DATA
@pytest.mark.long
@pytest.mark.parametrize("name", ["pima-diabetes", "wdbc"])
def test_on_a_coarser_grid_the_tree_is_the_oracles_of_the_gridded_numbers(name: str) -> None:
    case = ordered_reference.load(name)
    assert not case.is_whole
    tree = grown(case.schema, PLAIN, case.codes).tree
    assert shape(tree.root) == shape(oracle_tree(case.schema, case.codes).root)


ATTRIBUTES = st.lists(
    st.one_of(
        st.integers(2, 9).map(lambda k: ("cuts", k)),
        st.integers(2, 6).map(lambda k: ("ordered", k)),
        st.integers(1, 4).map(lambda k: ("equality", k)),
    ),
    min_size=1,
    max_size=4,
)


def schema_of(kinds: Sequence[tuple[str, int]], classes: int) -> Schema:
    """A schema of numbers with cuts, of listed values in an order, and of categories."""
    attributes = []
    for place, (kind, size) in enumerate(kinds):
        name, values = f"a{place}", tuple(str(value) for value in range(size))
        if kind == "cuts":
            attributes.append(Attribute.numeric(name, [Decimal(cut * cut) for cut in range(size - 1)]))
        elif kind == "ordered":
            attributes.append(Attribute(name, values, treat_as="ordered"))
        else:
            attributes.append(Attribute(name, values))
    return Schema.create(attributes, "class", [f"c{label}" for label in range(classes)])


@dataclass(frozen=True)
class Sample:
    """A schema, and rows of codes with the class last."""

    schema: Schema
    rows: list[tuple[int, ...]]


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Few records of few attributes."""
    schema = schema_of(draw(ATTRIBUTES), draw(st.integers(2, 3)))
    sizes = [len(attribute.values) for attribute in schema.attributes]
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes), st.integers(0, schema.class_count - 1))
    return Sample(schema, draw(st.lists(row, min_size=1, max_size=60)))


@given(samples())
@settings(max_examples=60)
def test_a_random_tree_is_the_oracles_by_criterion_c45(sample: Sample) -> None:
    schema, rows = sample.schema, sample.rows
    tree = grown(schema, PLAIN, rows).tree
    assert shape(tree.root) == shape(oracle_tree(schema, rows).root)


@given(
    samples(),
    st.sampled_from(["gain", "gain-mdl"]),
    st.integers(1, 4),
    st.lists(st.integers(1, 4), min_size=3, max_size=3),
)
@settings(max_examples=60)
def test_every_split_is_among_the_exactly_best_ones(
    sample: Sample, thresholds: Any, min_child: int, weights: list[int]
) -> None:
    schema, rows = sample.schema, sample.rows
    rules = GrowthRules(
        criterion="information-gain",
        min_node=1,
        min_child=min_child,
        max_depth=None,
        thresholds=thresholds,
        class_weights=tuple(weights[: schema.class_count]),
    )
    tree = grown(schema, rules, rows).tree
    check_exactly(tree.root, schema, rules, list(rows), frozenset())
    # What follows from known sums need not be asked for: the tree is the same.
    assert grown(schema, replace(rules, skip_known=False), rows).tree == tree


def check_exactly(node: Node, schema: Schema, rules: GrowthRules, rows: Rows, used: frozenset[int]) -> None:
    counts = Counter(row[-1] for row in rows)
    assert node.counts == tuple(counts[label] for label in range(schema.class_count))
    offers = exact_offers(schema, rules, rows, used)
    best = max(offers.values(), default=Fraction(1))
    if isinstance(node, Leaf):
        assert len(counts) <= 1 or best <= 1
        return
    place = None if node.test is None else node.test.value  # type: ignore[union-attr]
    mine = [
        value
        for (attribute, cut), value in offers.items()
        if attribute == node.attribute and same(cut, place, rows, attribute)
    ]
    assert mine
    assert max(mine) == best > 1
    for kid, child in enumerate(node.kids):
        inside = [
            row
            for row in rows
            if (row[node.attribute] == kid if place is None else (row[node.attribute] > place) == bool(kid))
        ]
        check_exactly(child, schema, rules, inside, used | ({node.attribute} if place is None else set()))


def same(cut: int | None, place: int | None, rows: Rows, attribute: int) -> bool:
    """Whether two thresholds part these rows alike."""
    if cut is None or place is None:
        return cut is place
    return all((row[attribute] > cut) == (row[attribute] > place) for row in rows)


def exact_offers(
    schema: Schema, rules: GrowthRules, rows: Rows, used: frozenset[int]
) -> dict[tuple[int, int | None], Fraction]:
    """`2^(N gain)` over what the penalty takes, of every split that is allowed, by attribute and threshold."""
    found: dict[tuple[int, int | None], Fraction] = {}
    for index, attribute in enumerate(schema.attributes):
        if not is_ordered(attribute):
            parts = [[row for row in rows if row[index] == value] for value in range(len(attribute.values))]
            if index not in used and all(len(part) >= rules.min_child for part in parts if part):
                found[index, None] = exact_gain(parts, rules)
            continue
        cuts = {}
        for cut in sorted({row[index] for row in rows})[:-1]:
            parts = [[row for row in rows if (row[index] > cut) == side] for side in (False, True)]
            least = Fraction(len(rows), 10 * schema.class_count)
            if min(map(len, parts)) >= max(Fraction(rules.min_child), min(Fraction(25), least)):
                cuts[cut] = exact_gain(parts, rules)
        tries = len(cuts) if rules.thresholds == "gain-mdl" else 1
        found |= {(index, cut): gain / tries for cut, gain in cuts.items()}
    return found


def exact_gain(parts: Sequence[Rows], rules: GrowthRules) -> Fraction:
    """`2^(N gain)` of a partition: n^n of whole and cells over n^n of the parts' and the classes' sums."""
    tables = [
        rules.weighed([sum(row[-1] == c for row in part) for c in range(len(rules.class_weights or ()))])
        for part in parts
    ]
    totals = [sum(column) for column in zip(*tables, strict=True)]
    return Fraction(
        power(sum(totals)) * prod(power(cell) for table in tables for cell in table),
        prod(power(sum(table)) for table in tables) * prod(map(power, totals)),
    )


def power(number: int) -> int:
    return number**number


def shape(root: Node) -> list[Any]:
    """A tree by what a training record sees: attributes, branches, labels and counts; thresholds by what they part."""
    if isinstance(root, Leaf):
        return [root.label, root.counts]
    return [root.attribute, root.counts, *(shape(kid) for kid in root.kids)]


def oracle_tree(schema: Schema, rows: Rows) -> Tree:
    """The rule's tree by rows: the codes of ordered attributes stand for numbers."""
    as_numbers = [
        numeric(a.name, len(a.values)) if is_ordered(a) else Attribute(a.name, a.values)
        for a in schema.attributes
    ]
    plain = Schema.create(as_numbers, schema.class_name, schema.classes)
    *codes, labels = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return grow_c45(plain, codes, labels)


def numeric(name: str, values: int) -> Attribute:
    return Attribute(name, (), fixed_point=FixedPoint.create(name, "0", str(values), 0))


@given(samples(), st.booleans())
@settings(max_examples=30)
def test_the_kernel_counts_sides_and_single_values_as_by_hand(sample: Sample, skip_known: bool) -> None:
    schema, codes = sample.schema, np.array(sample.rows, dtype=np.uint8).T.copy()
    sizes = [len(attribute.values) for attribute in schema.attributes]
    growth = OrderedGrowth.start(schema, replace(PLAIN, skip_known=skip_known), bytes(32))
    while not growth.is_done:
        counts = count_codes(codes, sizes, schema.class_count, growth.queries)
        assert counts == count_rows(sample.rows, growth.queries, schema)
        growth = growth.absorb(counts)


AGES = Schema.create([Attribute.numeric("age", range(10, 90, 10), "unknown")], "class", ["no", "yes"])


@pytest.mark.parametrize(
    ("occurring", "named"),
    [
        ((0, 1), "<= 10"),  # 10 and 20: the value below the middle
        ((0, 2), "<= 20"),
        ((0, 5), "<= 30"),
        ((3, 8), "<= 60"),  # the last interval has no upper end: 80 stands for it
        ((0, 9), "!= unknown"),  # an empty field is alone on the right
        ((7, 8), "<= 80"),
    ],
)
def test_a_gap_is_named_by_the_greatest_cut_that_is_not_above_its_middle(
    occurring: tuple[int, int], named: str
) -> None:
    rows = [(value, label) for label, value in enumerate(occurring) for _ in range(4)]
    tree = grown(AGES, PLAIN, rows).tree
    assert next(iter(reference_form(tree, AGES)["branches"])) == named


def test_few_records_on_a_side_are_no_place_for_a_threshold() -> None:
    """One of 30 records: a tenth a class would be 1.5."""
    rows = [(0, 0), *((3, 1) for _ in range(29))]
    assert grown(AGES, PLAIN, rows).tree.node_count == 1
    assert grown(AGES, PLAIN, rows[:20]).tree.node_count == 3
    # Of 1000 records a tenth a class would be 50; 25 are enough whatever the node has.
    many = [*((0, 0) for _ in range(25)), *((3, 1) for _ in range(975))]
    assert grown(AGES, PLAIN, many).tree.node_count == 3
    assert grown(AGES, PLAIN, many[1:]).tree.node_count == 1


def test_of_two_places_of_equal_gain_the_lower_one_is_taken() -> None:
    rows = [(age, age % 2) for age in (0, 1, 2) for _ in range(4)]
    tree = grown(AGES, replace(PLAIN, max_depth=1), rows).tree
    assert isinstance(tree.root, Split)
    assert tree.root.test == UpTo(0)


def test_sums_that_contradict_the_node_above_end_the_job() -> None:
    sample = [(age, ward, (age + ward) % 2) for age in range(6) for ward in range(3) for _ in range(3)]
    schema = schema_of([("cuts", 6), ("equality", 3)], 2)
    growth = OrderedGrowth.start(schema, PLAIN, bytes(32))
    growth = growth.absorb(count_rows(sample, growth.queries, schema))
    right = count_rows(sample, growth.queries, schema)
    assert growth.absorb(right)
    for place in range(len(right)):
        wrong = [count + (index == place) for index, count in enumerate(right)]
        with pytest.raises(JobFailure, match="contradict"):
            growth.absorb(wrong)
    with pytest.raises(InternalError, match="one Python integer per asked cell"):
        growth.absorb(right[:-1])


def test_a_damaged_record_of_the_journal_is_told() -> None:
    sample = [(age, ward, (age + ward) % 2) for age in range(6) for ward in range(3) for _ in range(3)]
    schema = schema_of([("cuts", 6), ("equality", 3)], 2)
    growth = OrderedGrowth.start(schema, PLAIN, bytes(32))
    growth = growth.absorb(count_rows(sample, growth.queries, schema))
    kept = growth.to_json()
    assert OrderedGrowth.from_json(schema, PLAIN, kept) == growth
    split = kept["history"][0][0]
    for damage in ({"up_to": 5}, {"up_to": -1}, {"up_to": "2"}, {"up_to": 0 if split.get("up_to") else 1}):
        history = [[split | damage]]
        with pytest.raises(InputError, match="damaged"):
            OrderedGrowth.from_json(schema, PLAIN, kept | {"history": history})
    with pytest.raises(InputError, match="damaged"):
        OrderedGrowth.from_json(schema, PLAIN, kept | {"parents": []})


def test_what_has_no_exact_sums_of_whole_records_is_not_grown_so() -> None:
    with pytest.raises(InternalError):
        OrderedGrowth.start(AGES, GrowthRules(thresholds="gain", noisy=True, skip_known=False), bytes(32))
    with pytest.raises(InputError, match="thresholds"):
        GrowthRules(thresholds="median")  # type: ignore[arg-type]
    assert tree_growth(AGES, PLAIN) is OrderedGrowth
    assert tree_growth(AGES, GrowthRules()) is Growth
