"""F, scores, gain ratios and the zero-gain test against 90-digit logarithms and exact fractions."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.tree import criteria
from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import (
    entropy,
    f_entry,
    gain_ratio,
    gain_ratio_fraction,
    has_zero_gain,
    information_gain,
    information_gain_score,
    split_information,
)
from tests.support.exact_tree import exact_gain_is_zero, exact_score, f_by_decimals, precise_ratio

COUNTS = st.one_of(st.integers(0, 12), st.integers(0, 2**20))
SMALL_TABLES = st.integers(1, 4).flatmap(
    lambda classes: st.lists(
        st.lists(st.integers(0, 9), min_size=classes, max_size=classes), min_size=1, max_size=4
    )
)


@given(st.integers(0, 2**54), st.sampled_from([8, 16, 20, 32]))
@settings(max_examples=100)
def test_f_is_the_nearest_integer(x: int, s: int) -> None:
    assert f_entry(x, s) == f_by_decimals(x, s)


@given(st.integers(2, 2**60), st.integers(0, 40))
@settings(max_examples=50)
def test_f_does_not_depend_on_the_bits_of_work(x: int, s: int) -> None:
    if x & (x - 1):
        first = criteria._rounded(x, s, 64)
        assert first == criteria._rounded(x, s, 192) == f_entry(x, s)


def test_f_is_done_again_when_the_bits_do_not_settle_it() -> None:
    undecided = [x for x in range(3, 400) if x & (x - 1) and criteria._rounded(x, 32, 6) is None]
    assert undecided
    assert all(f_entry(x) == f_by_decimals(x, 32) for x in undecided)
    settled = [x for x in range(3, 400) if x & (x - 1) and x not in undecided]
    assert all(criteria._rounded(x, 32, 6) == f_entry(x) for x in settled)


def test_f_has_no_upper_limit() -> None:
    assert f_entry(2**200) == 200 * 2**232
    assert f_entry(2**200 + 1) > f_entry(2**200)
    assert all(f_entry(x) < f_entry(y) for x, y in pairwise(range(1, 200)))


@given(SMALL_TABLES, SMALL_TABLES)
@settings(max_examples=100)
def test_scores_order_tables_as_exact_gains_do(first: list[list[int]], second: list[list[int]]) -> None:
    scores = [information_gain_score(ContingencyTable.of(table)) for table in (first, second)]
    exact = [exact_score(table) for table in (first, second)]
    if exact[0] > exact[1]:
        assert scores[0] >= scores[1]
    if exact[0] == exact[1]:
        # Rounding moves a score by at most half a unit an entry.
        entries = sum(len(table) * (len(table[0]) + 1) for table in (first, second))
        assert abs(scores[0] - scores[1]) <= entries / 2


@given(SMALL_TABLES)
@settings(max_examples=100)
def test_zero_gain_is_exact(table: list[list[int]]) -> None:
    assert has_zero_gain(ContingencyTable.of(table)) == exact_gain_is_zero(table)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=4), st.lists(st.integers(0, 30), min_size=1, max_size=4)
)
@settings(max_examples=50)
def test_independent_tables_have_ratio_zero_whatever_rounding_says(
    rows: list[int], columns: list[int]
) -> None:
    table = ContingencyTable.of([[row * column for column in columns] for row in rows])
    assert has_zero_gain(table)
    assert gain_ratio_fraction(table)[0] == 0


def test_a_gain_below_the_rounding_still_counts_as_a_gain() -> None:
    half = 2**40
    table = ContingencyTable.of([[half + 1, half], [half, half + 1]])
    gain, split = gain_ratio_fraction(table)
    assert not has_zero_gain(table)
    assert gain >= 1
    assert split > 0


@given(SMALL_TABLES)
@settings(max_examples=100)
def test_ratio_fraction_is_near_the_precise_ratio(table: list[list[int]]) -> None:
    gain, split = gain_ratio_fraction(ContingencyTable.of(table))
    precise = precise_ratio(table)
    assert (split == 0) == (precise is None)
    if precise is not None:
        assert abs(Decimal(gain) / split - precise) < Decimal("1e-7")


@given(SMALL_TABLES)
@settings(max_examples=50)
def test_display_figures_keep_their_bounds(table: list[list[int]]) -> None:
    shown = ContingencyTable.of(table)
    tiny = Decimal("1e-20")
    before = entropy(shown.class_totals)
    assert 0 <= before <= Decimal(len(table[0])).ln() / Decimal(2).ln() + tiny
    assert -tiny <= information_gain(shown) <= before + tiny
    assert (split_information(shown) == 0) == (gain_ratio(shown) is None)


def test_display_figures_of_an_empty_table_are_zero() -> None:
    empty = ContingencyTable.of([[0, 0], [0, 0]])
    assert (entropy((0, 0)), information_gain(empty), gain_ratio(empty)) == (0, 0, None)


def test_the_cache_is_bounded() -> None:
    assert f_entry.cache_info().maxsize == 2**16


@pytest.mark.parametrize("rows", [[[1, 2], [3, 4]], [[0, 0]], [[5]]])
def test_table_sums(rows: list[list[int]]) -> None:
    table = ContingencyTable.of(rows)
    flat = [cell for row in rows for cell in row]
    assert ContingencyTable.from_cells(flat, len(rows[0])) == table
    assert table.row_totals == tuple(sum(row) for row in rows)
    assert table.class_totals == tuple(sum(column) for column in zip(*rows, strict=True))
    assert table.total == sum(flat)
    assert table.plus(table).minus(table) == table
    assert not any(str(cell) in repr(table) for cell in flat if cell > 2)
