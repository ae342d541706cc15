"""Fractions compared without division, up to the greatest products that are allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.bits import unpack
from shared.mpc.fractions import (
    LOWEST_NUMERATOR,
    fraction_greater,
    wide_fraction_choosing,
    wide_fraction_greater,
)
from shared.mpc.ring import U32, U64, Words
from tests.support.mpc import arithmetic, as_words, assert_cost, run_and_open

HIGHEST = 2**31 + LOWEST_NUMERATOR - 1
NUMERATORS = st.sampled_from([LOWEST_NUMERATOR, -1, 0, 1, HIGHEST - 1, HIGHEST]) | st.integers(
    LOWEST_NUMERATOR, HIGHEST
)
DENOMINATORS = st.sampled_from([1, 2, 2**31 - 2, 2**31 - 1]) | st.integers(1, 2**31 - 1)
FRACTIONS = st.tuples(NUMERATORS, DENOMINATORS)
EQUAL_ONES = FRACTIONS.map(lambda fraction: (*fraction, *fraction)) | st.tuples(
    st.integers(-40, 40), st.integers(1, 2**20), st.integers(1, 50)
).map(lambda one: (one[0], one[1], one[0] * one[2], one[1] * one[2]))
ROWS = st.lists(st.builds(lambda x, y: (*x, *y), FRACTIONS, FRACTIONS) | EQUAL_ONES, max_size=70)


def columns(rows: list[tuple[int, ...]], dtype: Any) -> list[Any]:
    table = np.array(rows, object).reshape(-1, 4)
    return [arithmetic(as_words(table[:, place], dtype), seed=place) for place in range(4)]


def greater(rows: list[tuple[int, ...]]) -> list[int]:
    return [int(a * e > b * d) for a, d, b, e in rows]


@given(rows=ROWS)
def test_fractions_are_compared_exactly(rows: list[tuple[int, ...]]) -> None:
    run = run_and_open(fraction_greater, *columns(rows, U32))
    assert unpack(run.value, len(rows)).tolist() == greater(rows)


@given(rows=ROWS)
def test_wide_fractions_are_compared_exactly(rows: list[tuple[int, ...]]) -> None:
    run = run_and_open(wide_fraction_greater, *columns(rows, U64))
    assert unpack(run.value, len(rows)).tolist() == greater(rows)


@given(rows=ROWS)
def test_choosing_takes_no_round_of_its_own(rows: list[tuple[int, ...]]) -> None:
    for dtype in (U32, U64):
        differences = np.random.default_rng(1).integers(0, 2**32, (2, len(rows))).astype(dtype)
        run = run_and_open(wide_fraction_choosing, *columns(rows, U64), arithmetic(differences))
        assert run.value[0].tolist() == greater(rows)
        np.testing.assert_array_equal(run.value[1], differences * np.array(greater(rows), dtype))
        assert run.rounds == 7


def test_very_large_fractions_may_have_products_up_to_two_to_the_62() -> None:
    rows = [(2**40, 2**21, 2**41 - 1, 2**22 - 1), (2**41 - 1, 2**22 - 1, 2**40, 2**21)]
    run = run_and_open(wide_fraction_greater, *columns(rows, U64))
    assert unpack(run.value, 2).tolist() == greater(rows)


def test_what_fractions_cost() -> None:
    rows = [(1, 2, 3, 4)] * 640
    run = run_and_open(fraction_greater, *columns(rows, U32))
    assert_cost(run, rounds=9, elements=640, bytes_per_element=129.5)
    run = run_and_open(wide_fraction_greater, *columns(rows, U64))
    assert_cost(run, rounds=7, elements=640, bytes_per_element=65.5)
    fields: Words = np.zeros((2, 640), U32)
    run = run_and_open(wide_fraction_choosing, *columns(rows, U64), arithmetic(fields))
    assert_cost(run, rounds=7, elements=640, bytes_per_element=65.875 + 36)


def test_sizes_do_not_depend_on_values() -> None:
    one, other = (
        run_and_open(fraction_greater, *columns(rows, U32)).run.sent_bytes
        for rows in ([(-1, 1, -1, 1)] * 65, [(2**30, 1, 7, 2**31 - 1)] * 65)
    )
    assert one == other
