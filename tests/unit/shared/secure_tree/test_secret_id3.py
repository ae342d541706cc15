"""Mode I gives the tree of the pooled rows, exactly, and opens what the tree shows and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError, InternalError
from shared.mpc import lookup
from shared.mpc.local import LocalRun, Tap, run_local
from shared.mpc.sharing import split_binary
from shared.secure_tree import secret_id3 as trainer
from shared.secure_tree import secret_id3_records
from shared.secure_tree.secret_id3 import secret_id3
from shared.secure_tree.secret_id3_layout import MOST_RECORDS, Layout, record_bits
from shared.secure_tree.secret_id3_openings import openings_shown_by
from shared.tree.counting import Row, count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree
from shared.tree.schema import Attribute, Schema
from tests.support import reference_data
from tests.support.mpc import seeded_random_bytes
from tests.support.tree_strategies import Sample, make_schema, rules, samples

PLAIN = GrowthRules(min_node=1, min_child=1, max_depth=None, split_on_zero_gain=True)
needs_data = pytest.mark.skipif(not reference_data.is_available(), reason=reference_data.SKIP_REASON)


def in_secret(
    schema: Schema,
    rows: list[tuple[int, ...]],
    rules: GrowthRules,
    *,
    open_empty: bool = False,
    seed: int = 0,
    tap: Tap | None = None,
) -> LocalRun[Tree]:
    bits = record_bits(Layout.of(schema, len(rows)), rows)
    shares = split_binary(bits, seeded_random_bytes(seed + 1000))
    return run_local(
        lambda party: secret_id3(party, shares[party.index], schema, rules, open_empty=open_empty),
        seeded_random_bytes(seed),
        tap,
    )


def pooled(schema: Schema, rows: list[tuple[int, ...]], rules: GrowthRules) -> Tree:
    return grow(schema, rules, lambda queries: count_rows(rows, queries, schema)).tree


def check(
    schema: Schema, rows: list[tuple[int, ...]], rules: GrowthRules, *, open_empty: bool = False
) -> LocalRun[Tree]:
    run = in_secret(schema, rows, rules, open_empty=open_empty)
    expected = pooled(schema, rows, rules)
    assert [tree.canonical() for tree in run.results] == [expected.canonical()] * 3
    for meter in run.meters:
        opened = {kind: n for kind, n in meter.opened.items() if kind != "position under a shuffle"}
        shown = openings_shown_by(expected, schema, rules, len(rows), open_empty=open_empty)
        assert opened == {kind: count for kind, count in shown.items() if count}
    return run


@settings(max_examples=60, deadline=None)
@given(samples(), rules("information-gain"), st.booleans())
def test_the_tree_is_that_of_the_pooled_rows(sample: Sample, rules: GrowthRules, open_empty: bool) -> None:
    check(sample.schema, sample.rows, rules, open_empty=open_empty)


@settings(max_examples=15, deadline=None)
@given(samples(least_attributes=3), rules("information-gain"))
def test_small_memory_changes_nothing(sample: Sample, rules: GrowthRules) -> None:
    """Levels in parts, children in batches, products class by class, look-ups in pieces and by sorting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "MEMBERS_KEPT", 100)
        patch.setattr(trainer, "MEMBERS_AT_ONCE", 50)
        patch.setattr(secret_id3_records, "PRODUCTS_AT_ONCE", 0)
        patch.setattr(lookup, "PIECE_WORDS", 200)
        patch.setattr(lookup, "MOST_BITS", 4)
        check(sample.schema, sample.rows, rules)


def test_vector_t3() -> None:
    records = (
        "010000 010000 010000 011011 110101 001112 001112 111113 111113 "
        "010000 010000 011011 001102 001002 111113 "
        "010000 000000 000000 010001 110101 001002 111103"
    )
    rows = [tuple(map(int, record)) for record in records.split()]
    tree = check(make_schema((2,) * 5, 4), rows, PLAIN).results[0]
    assert tree.sha256 == "3f3533ae0ea8824fce928c6fa2fe0333866334f93967a6d89099c2aba1951961"


def test_a_tie_that_floats_would_turn() -> None:
    """Vector T8: two attributes of equal gain by the table, of different ones by doubles."""
    first = [[5, 1, 0], [1, 4, 5]]
    second = [[2, 4, 0], [1, 0, 3], [3, 1, 2]]
    by_class: list[tuple[list[int], list[int]]] = [
        (
            [v for v in range(2) for _ in range(first[v][c])],
            [v for v in range(3) for _ in range(second[v][c])],
        )
        for c in range(3)
    ]
    for order in ((0, 1), (1, 0)):
        rows = [
            (*((a, b)[i] for i in order), c)
            for c, (left, right) in enumerate(by_class)
            for a, b in zip(left, right, strict=True)
        ]
        tree = check(make_schema(tuple((2, 3)[i] for i in order), 3), rows, PLAIN).results[0]
        assert tree.canonical().startswith(b'{"attr":0,')


@pytest.mark.parametrize("rows", [[], [(0, 1)], [(1, 0), (1, 0)], [(0, 0), (1, 1)]])
def test_hardly_any_records(rows: list[tuple[int, ...]]) -> None:
    for min_node in (1, 2, 5):
        check(make_schema((2,), 2), rows, GrowthRules(min_node=min_node, min_child=1))


def test_many_classes_attributes_and_values() -> None:
    random = np.random.default_rng(5)
    values = tuple(random.integers(1, 9, 40).tolist())
    columns = [random.integers(0, count, 60) for count in (*values, 17)]
    rows = [tuple(map(int, row)) for row in zip(*columns, strict=True)]
    check(make_schema(values, 17), rows, GrowthRules(min_node=2, min_child=1, max_depth=3))


def test_one_class_or_no_record_opens_nothing() -> None:
    for schema, rows in ((make_schema((2, 3), 1), [(0, 0, 0), (1, 2, 0)]), (make_schema((2, 3), 3), [])):
        run = check(schema, rows, PLAIN)
        assert run.rounds == 0
        assert run.results[0].canonical() == b'{"leaf":0}'


QUICK = ("play-tennis", "contact-lenses", "acute-inflammations-120", "balance-scale", "vote", "zoo")


@needs_data
@pytest.mark.parametrize("name", QUICK)
def test_reference_trees(name: str) -> None:
    case = reference_data.load(name)
    check(case.schema, case.codes, GrowthRules(min_node=1, min_child=1, max_depth=None))


@needs_data
@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in reference_data.names() if name not in QUICK])
def test_the_other_reference_trees(name: str) -> None:
    case = reference_data.load(name)
    for chosen in (GrowthRules(min_node=1, min_child=1, max_depth=None), GrowthRules()):
        check(case.schema, case.codes, chosen, open_empty=True)


def test_rounds_depend_neither_on_nodes_nor_on_attributes() -> None:
    random = np.random.default_rng(3)
    rounds = []
    for attributes, count in ((9, 90), (9, 990), (17, 990)):
        columns = random.integers(0, 3, (count, attributes + 1)) % ([3] * attributes + [2])
        rows = [tuple(map(int, row)) for row in columns]
        run = check(
            make_schema((3,) * attributes, 2), rows, GrowthRules(min_node=1, min_child=1, max_depth=3)
        )
        rounds.append(run.rounds)
    # Counts of 90 and of 990 records have two digits each.
    assert rounds[0] == rounds[1] == rounds[2]


def test_levels_are_counted_and_named() -> None:
    run = check(make_schema((2, 2), 2), [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)] * 3, PLAIN)
    meter = run.meters[0]
    assert set(meter.by_phase) == {"input", "counts", "choice", "opening", "labels"}
    assert meter.layer == 1


def test_bits_of_records() -> None:
    layout = Layout.of(make_schema((3, 1, 2), 3), 3)
    rows: list[Row] = [(0, 0, 1, 2), (2, 0, 0, 0), (1, 0, 1, 1)]
    bits = record_bits(layout, rows)
    assert bits.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("row", [(3, 0, 0, 0), (0, 0, 0, 3), (0, -1, 0, 0)])
def test_codes_outside_the_schema_are_refused(row: tuple[int, ...]) -> None:
    with pytest.raises(InternalError, match="codes that the schema does not have"):
        record_bits(Layout.of(make_schema((3, 1, 2), 3), 1), [row])


def test_too_many_records_are_refused() -> None:
    with pytest.raises(InternalError, match="at most"):
        Layout.of(make_schema((2,), 2), MOST_RECORDS + 1)


def test_an_attribute_without_listed_values_is_refused() -> None:
    schema = Schema((Attribute("age", ()),), "class", ("a", "b"))
    with pytest.raises(InputError, match="attribute 'age': mode I asks for one of listed values"):
        Layout.of(schema, 1)


@pytest.mark.parametrize(
    ("values", "classes", "is_refused"),
    [((256,) * 1024, 4, True), ((256,) * 64, 64, True), ((2,) * 1024, 64, False), ((16,) * 512, 64, False)],
)
def test_studies_whose_counts_no_memory_holds_are_refused(
    values: tuple[int, ...], classes: int, is_refused: bool
) -> None:
    """Each within the limits of a study: 1024 attributes, 256 values, 64 classes, 2^20 cells."""
    schema = make_schema(values, classes)
    if not is_refused:
        Layout.of(schema, 1)
        return
    with pytest.raises(InputError, match="the children of one node would have up to"):
        Layout.of(schema, 1)
