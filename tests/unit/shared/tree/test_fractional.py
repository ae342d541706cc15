"""C4.5's fractional rows over sums of plain counts: the same trees and weights as rows that walk one by one."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError, InternalError, JobCode, JobFailure
from shared.tree.contingency import ContingencyTable
from shared.tree.counting import count_rows
from shared.tree.fractional_frontier import Part, PartedNode, open_populations
from shared.tree.fractional_growing import FractionalGrowth
from shared.tree.fractional_splitting import WeightedTable, weighted_gain, weighted_split_information
from shared.tree.frontier import NodeQuery
from shared.tree.growing import Growth, grow
from shared.tree.growth_rules import Criterion, GrowthRules
from shared.tree.growths import tree_growth
from shared.tree.model import Tree
from shared.tree.populations import disjoint_groups
from shared.tree.schema import Attribute, Schema
from tests.support import exact_fractional as oracle
from tests.support.reference_data import SKIP_REASON, is_available, load

CRITERIA: tuple[Criterion, ...] = ("information-gain", "gain-ratio", "c45")
Rows = list[tuple[int, ...]]


@dataclass(frozen=True)
class Case:
    """Records of 2 to 5 hospitals, with missing values, and the rules of a growth."""

    schema: Schema
    hospitals: list[Rows]
    rules: GrowthRules

    @property
    def rows(self) -> Rows:
        """All records together."""
        return [row for rows in self.hospitals for row in rows]

    @property
    def setting(self) -> oracle.Setting:
        """The same for the oracle."""
        attributes = self.schema.attributes
        rules = self.rules
        return oracle.Setting(
            tuple(attribute.branch_count for attribute in attributes),
            frozenset(index for index, attribute in enumerate(attributes) if attribute.is_fractional),
            self.schema.class_count,
            rules.criterion,
            rules.min_node,
            rules.min_child,
            rules.max_depth,
            rules.split_on_zero_gain,
            rules.class_weights,
            rules.min_gain,
        )

    def grown(self) -> Tree:
        """The tree from summed counts, each state read back from its JSON."""
        growth = FractionalGrowth.start(self.schema, self.rules, bytes(32))
        while not growth.is_done:
            kept = json.loads(json.dumps(growth.to_json()))
            assert FractionalGrowth.from_json(self.schema, self.rules, kept) == growth
            counts = [count_rows(rows, growth.queries, self.schema) for rows in self.hospitals]
            growth = growth.absorb([sum(cells) for cells in zip(*counts, strict=True)])
        return growth.tree


def schema_of(branches: Sequence[int], fractional: Sequence[bool], classes: int) -> Schema:
    return Schema.create(
        (
            Attribute(
                f"a{index}",
                (*(f"v{value}" for value in range(count)), *(["missing"] if marked else [])),
                missing="fractional" if marked else None,
            )
            for index, (count, marked) in enumerate(zip(branches, fractional, strict=True))
        ),
        "class",
        (f"c{label}" for label in range(classes)),
    )


@st.composite
def cases(draw: st.DrawFn, *, most_attributes: int = 4, most_rows: int = 40) -> Case:
    """Few distinct values, so that ties, pure nodes and empty branches are common."""
    branches = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=1, max_size=most_attributes))
    fractional = draw(st.lists(st.booleans(), min_size=len(branches), max_size=len(branches)))
    fractional[0] = True
    classes = draw(st.integers(2, 3))
    schema = schema_of(branches, fractional, classes)
    row = st.tuples(
        *(st.integers(0, len(a.values) - 1) for a in schema.attributes), st.integers(0, classes - 1)
    )
    hospitals = draw(
        st.lists(st.lists(row, max_size=most_rows // 2), min_size=2, max_size=5).filter(
            lambda found: any(found)
        )
    )
    rules = GrowthRules(
        criterion=draw(st.sampled_from(CRITERIA)),
        min_node=draw(st.integers(1, 5)),
        min_child=draw(st.integers(1, 3)),
        max_depth=draw(st.sampled_from([None, None, 1, 2, 3])),
        split_on_zero_gain=draw(st.booleans()),
        skip_known=draw(st.booleans()),
        class_weights=draw(st.none() | st.tuples(*[st.integers(1, 4)] * classes)),
        min_gain=draw(st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 10), Fraction(3, 10)])),
    )
    return Case(schema, hospitals, rules)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_summed_counts_give_the_tree_and_the_weights_of_rows_that_walk_in_parts(case: Case) -> None:
    assert oracle.faults(case.grown().to_json(with_counts=True), case.rows, case.setting) == []


@pytest.mark.long
@given(cases(most_attributes=7, most_rows=120))
@settings(max_examples=1500, deadline=None)
def test_so_do_larger_tables(case: Case) -> None:
    assert oracle.faults(case.grown().to_json(with_counts=True), case.rows, case.setting) == []


@given(cases())
@settings(max_examples=25, deadline=None)
def test_without_a_missing_value_the_tree_is_the_ordinary_one(case: Case) -> None:
    complete = [
        [
            row
            for row in rows
            if not any(
                a.is_fractional and code == a.missing_code
                for a, code in zip(case.schema.attributes, row[:-1], strict=True)
            )
        ]
        for rows in case.hospitals
    ]
    case = replace(case, hospitals=complete)
    plain = Schema.create(
        (Attribute(a.name, a.values[: a.branch_count]) for a in case.schema.attributes),
        case.schema.class_name,
        case.schema.classes,
    )
    ordinary = grow(plain, case.rules, lambda queries: count_rows(case.rows, queries, plain)).tree
    grown = case.grown()
    assert grown == ordinary
    assert oracle.faults(grown.to_json(with_counts=True), case.rows, case.setting) == []


THREE = Case(
    schema_of((2, 2, 2), (True, True, False), 2),
    [
        [(0, 0, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1), (2, 0, 0, 0), (1, 0, 1, 1)],
        [(0, 2, 0, 0), (1, 1, 1, 1), (1, 2, 0, 1), (2, 2, 1, 1)],
        [(0, 0, 0, 1), (2, 1, 1, 0), (1, 1, 1, 0)],
    ],
    GrowthRules(min_node=1, min_child=1),
)


def test_weights_are_products_of_shares() -> None:
    """Root: a0 known in 9 of 12 records, 4 with v0 and 5 with v1, so each of the 3 others goes by 4/9 and 5/9."""
    tree = THREE.grown()
    assert tree.root.weights == (Fraction(6), Fraction(6))
    kids = tree.to_json(with_counts=True)["kids"]
    sizes = [sum(map(Fraction, kid.get("weights", kid.get("counts")))) for kid in kids]
    assert sizes == [4 + 3 * Fraction(4, 9), 5 + 3 * Fraction(5, 9)]


def test_the_oracle_sees_a_wrong_weight_a_wrong_split_and_a_wrong_label() -> None:
    """The control: none of the checks passes by being empty."""
    good = THREE.grown().to_json(with_counts=True)
    assert oracle.faults(good, THREE.rows, THREE.setting) == []
    assert good["attr"] == 0
    weight, split, label = (copy.deepcopy(good) for _ in range(3))
    part = next(kid for kid in weight["kids"] if "weights" in kid)
    part["weights"] = part["weights"][::-1] if len(set(part["weights"])) > 1 else ["1/7", "1/7"]
    split["attr"] = 2
    label["majority"] = 1 - label["majority"]
    for wrong in (weight, split, label):
        assert oracle.faults(wrong, THREE.rows, THREE.setting) != []


def test_every_population_is_asked_once_and_only_if_it_has_records() -> None:
    growth = FractionalGrowth.start(THREE.schema, THREE.rules, bytes(32))
    growth = growth.absorb(count_rows(THREE.rows, growth.queries, THREE.schema))
    assert growth.open_nodes == 2
    assert [query.path for query in growth.queries] == [((0, 0),), ((0, 2),), ((0, 1),)]
    complete = [row for row in THREE.rows if row[0] != 2]
    growth = FractionalGrowth.start(THREE.schema, THREE.rules, bytes(32))
    growth = growth.absorb(count_rows(complete, growth.queries, THREE.schema))
    assert [query.path for query in growth.queries] == [((0, 0),), ((0, 1),)]


def test_populations_that_overlap_are_counted_apart() -> None:
    """Records without a0 are split on a1 in one branch and on a2 in the other."""
    paths = [((0, 0), (1, 0)), ((0, 2), (1, 0)), ((0, 1), (2, 0)), ((0, 2), (2, 0)), ((0, 2), (2, 1))]
    queries = [NodeQuery(path, (3,), (0, 1)) for path in paths]
    assert disjoint_groups(queries) == [[0, 1, 2], [3, 4]]
    schema = schema_of((2, 2, 2, 2), (True, False, False, False), 2)
    rows = [(2, 0, 0, 1, 0), (2, 0, 1, 1, 1), (0, 0, 0, 0, 0), (1, 1, 0, 0, 1)]
    cells = count_rows(rows, queries, schema)
    # By value and class of a3: each row of two cells is one value.
    by_query = [cells[start : start + 4] for start in range(0, 20, 4)]
    assert by_query == [[1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_scores_do_not_depend_on_the_unit() -> None:
    """G(m/D) = G(m)/D: the same weights in a unit a million times smaller score a million times as much."""
    rows, unknown = ((3, 1), (0, 5), (2, 2)), (1, 4)
    small = WeightedTable(ContingencyTable(rows), unknown)
    scaled = WeightedTable(ContingencyTable.of([c * 10**6 for c in row] for row in rows), (10**6, 4 * 10**6))
    for score in (weighted_gain, weighted_split_information):
        assert abs(score(scaled) - score(small) * 10**6) < 10 * 10**6
        assert score(small) > 10**9


def test_sums_that_contradict_each_other_are_refused() -> None:
    growth = FractionalGrowth.start(THREE.schema, THREE.rules, bytes(32))
    growth = growth.absorb(count_rows(THREE.rows, growth.queries, THREE.schema))
    cells = count_rows(THREE.rows, growth.queries, THREE.schema)
    growth.absorb(cells)
    cells[0] += 1
    with pytest.raises(JobFailure) as failure:
        growth.absorb(cells)
    assert failure.value.code is JobCode.INCONSISTENT_COUNTS


@given(cases(), st.data())
@settings(max_examples=25, deadline=None)
def test_one_cell_changed_in_any_round_is_detected(case: Case, data: st.DataObject) -> None:
    growth = FractionalGrowth.start(case.schema, case.rules, bytes(32))
    # A table of the root alone contradicts nothing.
    while not growth.is_done and (growth.depth or len(case.schema.attributes) > 1):
        cells = count_rows(case.rows, growth.queries, case.schema)
        edited = [*cells]
        edited[data.draw(st.integers(0, len(cells) - 1))] += data.draw(st.sampled_from([1, 2, 1000]))
        with pytest.raises(JobFailure) as failure:
            growth.absorb(edited)
        assert failure.value.code is JobCode.INCONSISTENT_COUNTS
        growth = growth.absorb(cells)


def test_two_nodes_that_know_other_numbers_of_one_population_are_noticed() -> None:
    """Records without a0, with v0 of a1 and of a2: reached by /0=0/1=0/2=0 and by /0=1/2=0/1=0."""
    ways = (((0, 2), (1, 0), (2, 0)), ((0, 2), (2, 0), (1, 0)))
    paths = (((0, 0), (1, 0), (2, 0)), ((0, 1), (2, 0), (1, 0)))
    schema = schema_of((2, 2, 2, 2), (True, False, False, False), 2)

    def frontier(*rows: tuple[int, int]) -> list[PartedNode]:
        return [
            PartedNode(path, 0, (Part(way, Fraction(1, 2), row),))
            for path, way, row in zip(paths, ways, rows, strict=True)
        ]

    asked = open_populations(schema, frontier((3, 4), (3, 4)), THREE.rules)
    assert [node.path for node in asked.values()] == [ways[0]]
    with pytest.raises(JobFailure) as failure:
        open_populations(schema, frontier((3, 4), (4, 3)), THREE.rules)
    assert failure.value.code is JobCode.INCONSISTENT_COUNTS


def test_noisy_sums_are_not_for_parts_of_records() -> None:
    with pytest.raises(InternalError):
        FractionalGrowth.start(THREE.schema, GrowthRules(noisy=True, skip_known=False), bytes(32))


def test_the_ordinary_growth_takes_no_schema_that_asks_for_parts() -> None:
    with pytest.raises(InternalError):
        Growth.start(THREE.schema, THREE.rules, bytes(32))
    assert tree_growth(THREE.schema) is FractionalGrowth


def damages() -> list[Any]:
    def weight(kept: Any) -> None:
        kept["open"][0]["parts"][1][1] = "1/3"

    def row(kept: Any) -> None:
        kept["open"][0]["parts"][0][2][0] += 1

    def population(kept: Any) -> None:
        kept["open"][0]["parts"][1][0] = "/0=1"

    def unit(kept: Any) -> None:
        kept["units"][0][0] = 0

    def zero(kept: Any) -> None:
        kept["open"][0]["parts"][1][1] = "1/0"

    def majority(kept: Any) -> None:
        kept["open"][0]["majority"] ^= 1

    def dropped(kept: Any) -> None:
        kept["open"].pop()

    def decision(kept: Any) -> None:
        kept["history"][0][0]["attr"] = 1

    return [weight, row, population, unit, zero, majority, dropped, decision]


@pytest.mark.parametrize("damage", damages(), ids=lambda damage: damage.__name__)
def test_a_damaged_record_is_noticed(damage: Any) -> None:
    growth = FractionalGrowth.start(THREE.schema, THREE.rules, bytes(32))
    growth = growth.absorb(count_rows(THREE.rows, growth.queries, THREE.schema))
    kept = json.loads(json.dumps(growth.to_json()))
    assert FractionalGrowth.from_json(THREE.schema, THREE.rules, kept) == growth
    damage(kept)
    with pytest.raises(InputError, match="damaged"):
        FractionalGrowth.from_json(THREE.schema, THREE.rules, kept)


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("x", ("a", "missing", "b"), missing="fractional"),
        Attribute("x", ("a", "b"), missing="fractional"),
        Attribute("x", ("missing",), missing="fractional"),
        Attribute.numeric("x", ["1", "2"]),
        Attribute("x", ("a", "missing"), missing="own"),  # type: ignore[arg-type]
    ],
)
def test_the_mark_needs_a_last_value_for_empty_fields(attribute: Attribute) -> None:
    marked = replace(attribute, missing=attribute.missing or "fractional")
    with pytest.raises(InputError):
        Schema.create([marked], "class", ["0", "1"])


@pytest.mark.long
@pytest.mark.skipif(not is_available(), reason=SKIP_REASON)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "name", ["breast-cancer-ljubljana", "heart-2-hospitals-categorical", "mushroom", "vote"]
)
def test_public_data_with_gaps_give_the_oracles_trees(name: str, criterion: Criterion) -> None:
    """Every column that has a `?` is fractional; three hospitals, depth 5."""
    case = load(name)
    attributes = [
        Attribute(a.name, (*(v for v in a.values if v != "?"), "missing"), missing="fractional")
        if "?" in a.values
        else a
        for a in case.schema.attributes
    ]
    schema = Schema.create(attributes, case.schema.class_name, case.schema.classes)
    assert any(attribute.is_fractional for attribute in attributes)
    coded = [
        (
            *(
                a.code_of("" if a.is_fractional and text == "?" else text)
                for a, text in zip(attributes, row[:-1], strict=True)
            ),
            schema.class_code(row[-1]),
        )
        for row in case.rows
    ]
    rules = GrowthRules(criterion=criterion, min_node=2, min_child=1, max_depth=5)
    made = Case(schema, [coded[start::3] for start in range(3)], rules)
    assert oracle.faults(made.grown().to_json(with_counts=True), made.rows, made.setting) == []
