"""Look-up in public tables by unit vectors and by sorting, against plain indexing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc import lookup
from shared.mpc.lookup import LookupTable, sums_by_unit_vectors, sums_of_entries
from shared.mpc.ring import U32, U64, Words
from shared.mpc.sorted_lookup import entries_by_sorting
from shared.tree.f_table import f_table
from tests.support.mpc import OpenedRun, arithmetic, assert_cost, run_and_open


@st.composite
def asked(draw: st.DrawFn) -> tuple[Words, Words, Words, Words]:
    """A table, arguments, signs and group starts."""
    size = draw(st.integers(1, 70))
    table = np.array(draw(st.lists(st.integers(0, 2**64 - 1), min_size=size, max_size=size)), U64)
    ends = draw(st.just([0, size - 1]) | st.lists(st.integers(0, size - 1), min_size=1, max_size=30))
    arguments = np.array(ends, U32)
    signs = np.array(draw(st.lists(st.sampled_from([1, -1, 3]), min_size=len(ends), max_size=len(ends))))
    starts = sorted(draw(st.sets(st.integers(0, len(ends) - 1))) | {0})
    return table, arguments, signs.astype(np.int64).view(U64), np.array(starts, np.intp)


def expected(table: Words, arguments: Words, signs: Words, starts: Words) -> list[int]:
    return np.add.reduceat(table[arguments] * signs, starts).tolist()


@given(asked(), st.sampled_from([U32, U64]))
def test_sums_by_unit_vectors(case: tuple[Words, Words, Words, Words], ring: np.dtype) -> None:
    table, arguments, signs, starts = case
    ready = LookupTable.of(table)
    run = run_and_open(sums_by_unit_vectors, ready, arithmetic(arguments.astype(ring)), signs, starts)
    assert run.value.tolist() == expected(*case)
    assert_cost(
        run,
        rounds=3,
        elements=len(arguments),
        bytes_per_element=8 * (2**ready.high_bits + 3 * 2**ready.low_bits),
        fixed_bytes=24 * len(starts),
    )


def run_unit_vectors(ready: LookupTable, arguments: Words, signs: Words, starts: Words) -> OpenedRun:
    return run_and_open(
        lambda party, x: sums_of_entries(party, ready, x, signs, starts), arithmetic(arguments)
    )


@given(asked())
def test_pieces_and_sorting_give_the_same(case: tuple[Words, Words, Words, Words]) -> None:
    table, arguments = case[:2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "PIECE_WORDS", 100)
        patch.setattr(lookup, "BLOCK_WORDS", 20)
        assert run_unit_vectors(LookupTable.of(table), *case[1:]).value.tolist() == expected(*case)
        patch.setattr(lookup, "MOST_BITS", 0)
        ready = LookupTable.of(table)
        assert ready.is_sorted_for(len(arguments))
        assert run_unit_vectors(ready, *case[1:]).value.tolist() == expected(*case)


def test_values_above_the_arguments_bits_are_not_looked_at() -> None:
    """Counts are right in their low bits only."""
    table = np.arange(100, 116, dtype=U64)
    arguments = np.array([3, 16 + 4, 2**31 + 5], U32)
    run = run_and_open(
        lambda party, x: sums_by_unit_vectors(party, LookupTable.of(table), x, np.ones(3, U64), np.arange(3)),
        arithmetic(arguments),
    )
    assert run.value.tolist() == [103, 104, 105]


@pytest.mark.parametrize(("n", "queries"), [(1, 1), (7, 1), (8, 40), (300, 64), (2000, 500)])
def test_entries_by_sorting(n: int, queries: int) -> None:
    table = f_table(n, 32)
    arguments = np.random.default_rng(n).integers(0, n + 1, queries).astype(U32)
    arguments[0] = n
    run = run_and_open(lambda party, x: entries_by_sorting(party, table, x), arithmetic(arguments))
    assert run.value.tolist() == table[arguments].tolist()


def test_sorting_costs_what_it_says() -> None:
    """17 bits: the decomposition takes 4 rounds, six digits 36, the way there and back 6."""
    table = np.arange(2**16 + 1, dtype=U64)
    arguments = arithmetic(np.arange(64, dtype=U32))
    run = run_and_open(lambda party, x: entries_by_sorting(party, table, x), arguments)
    assert run.rounds == 4 + 6 * 6 + 6
    # The last digit has two bits of its three.
    sort = 5 * 144 + (28 + 12 * 3 + 32)
    assert sort + 80 <= run.total_bytes / (len(table) + 64) < sort + 81


def test_large_tables_are_sorted_and_small_ones_are_not() -> None:
    small, large = LookupTable.of(f_table(1000, 32)), LookupTable.of(f_table(10**5, 32))
    assert not small.is_sorted_for(10**6)
    assert large.is_sorted_for(10**5)
    assert not large.is_sorted_for(500)
