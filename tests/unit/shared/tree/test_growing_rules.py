"""Rules of growth beside a second way of computing: average gain to 90 digits, repeated rows, least gain."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from shared.errors import InputError
from shared.tree.average_gain import best_of_average_gain, many_values
from shared.tree.contingency import ContingencyTable
from shared.tree.counting import count_rows
from shared.tree.growing import Growth, grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Leaf, Split, Tree, fold
from shared.tree.pruning import Pruning
from shared.tree.schema import Attribute, Schema
from tests.support.exact_tree import DIGITS, precise_ratio

Row = tuple[int, ...]
FULL: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": None}
SCHEMA = Schema.create(
    [Attribute(f"a{index}", tuple(map(str, range(2 + index % 3)))) for index in range(6)],
    "class",
    ["no", "yes", "maybe"],
)


def drawn(seed: int, count: int = 60) -> list[Row]:
    draw = random.Random(seed)
    rows = [tuple(draw.randrange(len(a.values)) for a in SCHEMA.attributes) for _ in range(count)]
    return [(*row, max(0, row[2] - row[0] - 1) if draw.random() < 0.6 else draw.randrange(3)) for row in rows]


def tree_of(rows: list[Row], **rules: Any) -> Tree:
    return grow(SCHEMA, GrowthRules(**FULL | rules), lambda queries: count_rows(rows, queries, SCHEMA)).tree


# --- c45 ------------------------------------------------------------------------------------------------------


def precise_gain(table: list[list[int]]) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        sizes, totals = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
        whole = Decimal(sum(sizes))
        known = sum(
            (_f(size) - sum(map(_f, row)) for size, row in zip(sizes, table, strict=True)), Decimal(0)
        )
        return (_f(sum(sizes)) - sum(map(_f, totals), Decimal(0)) - known) / whole / Decimal(2).ln()


def _f(x: int) -> Decimal:
    return x * Decimal(x).ln() if x else Decimal(0)


def chosen_precisely(tables: dict[int, list[list[int]]], limit: int | None) -> int | None:
    """The rule as the reference trees state it, to 90 digits."""
    varied = {a: t for a, t in tables.items() if sum(any(row) for row in t) > 1}
    gains = {a: precise_gain(table) for a, table in varied.items()}
    counted = [gains[a] for a, t in varied.items() if limit is None or len(t) < limit]
    if not counted:
        return None
    least = sum(counted, Decimal(0)) / len(counted) - Decimal("0.001")
    ratios = {a: precise_ratio(table) for a, table in varied.items() if gains[a] >= least}
    best = max(ratio for ratio in ratios.values() if ratio is not None)
    return next(a for a, ratio in ratios.items() if ratio is not None and best - ratio < Decimal("1e-30"))


def test_the_choice_is_that_of_ninety_digits() -> None:
    draw = random.Random(11)
    decided = 0
    for _ in range(40):
        classes, records = draw.randrange(2, 4), draw.randrange(6, 60)
        labels = [draw.randrange(classes) for _ in range(records)]
        tables = {}
        for attribute in range(4):
            values = draw.randrange(2, 6)
            table = [[0] * classes for _ in range(values)]
            for label in labels:
                table[min(values - 1, label if draw.random() < 0.4 else draw.randrange(values))][label] += 1
            tables[attribute] = table
        limit = draw.choice([None, 3, 4])
        ours = best_of_average_gain({a: ContingencyTable.of(t) for a, t in tables.items()}, limit)
        assert ours == chosen_precisely(tables, limit)
        decided += ours != best_of_average_gain_without_average(tables)
    assert decided > 3


def best_of_average_gain_without_average(tables: dict[int, list[list[int]]]) -> int | None:
    ratios = {a: precise_ratio(table) for a, table in tables.items()}
    best = max(ratio for ratio in ratios.values() if ratio is not None)
    return next(a for a, ratio in ratios.items() if ratio == best)


@pytest.mark.parametrize(
    ("values", "records", "limit"),
    [
        ((2, 3), 10, 3),
        ((2, 4), 10, 3),
        ((3, 4), 10, None),
        ((2, 50), 100, 30),
        ((2, 50), 101, 31),
        ((9,), 10, None),
    ],
)
def test_from_how_many_values_on_there_are_too_many(
    values: tuple[int, ...], records: int, limit: int | None
) -> None:
    """As C4.5: an attribute counts with fewer than 0.3 x records values, unless none has so few."""
    assert many_values(values, records) == limit
    assert all(
        (limit is not None and value < limit) == (10 * value < 3 * records and limit is not None)
        for value in values
    )


def test_only_attributes_of_too_many_values_make_a_leaf() -> None:
    """The average is over nobody, so nobody is above it: C4.5 ends there."""
    names = Attribute("name", tuple(map(str, range(10))))
    schema = Schema.create([names, Attribute("same", ("0", "1"))], "class", ["no", "yes"])
    rows = [(k, 0, k % 2) for k in range(10)]
    counter = lambda queries: count_rows(rows, queries, schema)  # noqa: E731
    assert isinstance(grow(schema, GrowthRules("c45", **FULL), counter).tree.root, Leaf)
    assert isinstance(grow(schema, GrowthRules("gain-ratio", **FULL), counter).tree.root, Split)


# --- class weights --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["information-gain", "gain-ratio", "c45"])
@pytest.mark.parametrize(
    ("seed", "weights"), [(1, (1, 4, 2)), (2, (3, 1, 1)), (3, (7, 7, 7)), (4, (1, 1, 50))]
)
def test_weights_grow_the_tree_of_repeated_records(
    criterion: str, seed: int, weights: tuple[int, ...]
) -> None:
    """Pruned as well; only the counts in the nodes stay those of records."""
    rows = drawn(seed)
    repeated = [row for row in rows for _ in range(weights[row[-1]])]
    rules = {"criterion": criterion, "pruning": Pruning("pessimistic")}
    ours, theirs = tree_of(rows, class_weights=weights, **rules), tree_of(repeated, **rules)
    assert ours.sha256 == theirs.sha256
    assert weighed(ours, weights) == [node.counts for node in theirs.nodes()]


def weighed(tree: Tree, weights: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(map(int.__mul__, node.counts or (), weights)) for node in tree.nodes()]


def test_floors_are_of_records_whatever_they_weigh() -> None:
    rows = drawn(6)
    tree = tree_of(rows, class_weights=(1000, 1, 1), min_node=20, min_child=6)
    assert any(isinstance(node, Split) for node in tree.nodes())
    for node in tree.nodes():
        if isinstance(node, Split):
            assert sum(node.counts or ()) >= 20
            assert all(sum(kid.counts or ()) in {0, *range(6, 61)} for kid in node.kids)


def test_a_weight_turns_the_majority() -> None:
    rows: list[Row] = [(0, 0, 0, 0, 0, 0, int(k >= 5)) for k in range(8)]
    assert tree_of(rows).root == Leaf(0, (5, 3, 0))
    assert tree_of(rows, class_weights=(1, 2, 1)).root == Leaf(1, (5, 3, 0))


# --- least gain -----------------------------------------------------------------------------------------------


def gains_of(tree: Tree) -> list[Decimal]:
    found: list[Decimal] = []

    def of_split(split: Split, kids: list[None]) -> None:
        found.append(precise_gain([list(kid.counts or ()) for kid in split.kids]))

    fold(tree.root, lambda leaf: None, of_split)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_split_gains_less_than_asked(seed: int) -> None:
    rows = drawn(seed, 200)
    full = tree_of(rows)
    least = Fraction(1, 8)
    tree = tree_of(rows, min_gain=least)
    assert 1 < tree.node_count < full.node_count
    assert all(gain >= Decimal("0.125") for gain in gains_of(tree))
    cut = [node for node in tree.nodes() if isinstance(node, Leaf) and sum(map(bool, node.counts or ())) > 1]
    assert cut


def test_a_gain_of_exactly_what_is_asked_is_enough() -> None:
    """Two halves that a says wholly: the gain is 1 bit."""
    rows: list[Row] = [(k % 2, 0, 0, 0, 0, 0, k % 2) for k in range(8)]
    assert isinstance(tree_of(rows, min_gain=Fraction(1)).root, Split)
    assert isinstance(tree_of(rows, min_gain=Fraction(1) + Fraction(1, 10**9)).root, Leaf)


# --- all together ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"criterion": "C45"},
        {"min_gain": Fraction(-1, 9)},
        {"class_weights": (1, 0)},
        {"class_weights": (1001,)},
    ],
)
def test_rules_that_no_manifest_can_say(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        GrowthRules(**wrong)


def test_a_growth_goes_on_from_its_record() -> None:
    """The average's limit rests on the root's records, which a journal keeps in the decisions."""
    rows = drawn(8)
    rules = GrowthRules("c45", **FULL, class_weights=(1, 2, 3), pruning=Pruning("pessimistic"))
    growth = Growth.start(SCHEMA, rules, bytes(32))
    while not growth.is_done:
        growth = growth.absorb(count_rows(rows, growth.queries, SCHEMA))
        growth = Growth.from_json(SCHEMA, rules, growth.to_json())
    assert growth.tree == tree_of(
        rows, criterion="c45", class_weights=(1, 2, 3), pruning=Pruning("pessimistic")
    )
