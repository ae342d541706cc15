"""Turned public tables against numpy's roll."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.ring import U32, U64
from shared.mpc.rotation import rotated_tables
from tests.support.mpc import arithmetic, assert_cost, ring_elements, run_and_open


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_turns_as_numpy_does(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([U32, U64]))
    size = 2 ** data.draw(st.integers(0, 7))
    length = data.draw(st.integers(0, size))
    table = np.array(data.draw(st.lists(ring_elements(dtype), min_size=size, max_size=size)), dtype)
    shifts = np.array(data.draw(st.lists(ring_elements(U32), min_size=1, max_size=5)), U32)
    run = run_and_open(rotated_tables, table, arithmetic(shifts), length)
    expected = [np.roll(table, int(shift) % size)[:length] for shift in shifts]
    assert run.value.dtype == dtype
    np.testing.assert_array_equal(run.value, expected)


@pytest.mark.parametrize("shift", [0, 1, 31, 32, 33, 63, 2**32 - 1])
def test_costs_what_it_says_whatever_the_shift(shift: int) -> None:
    run = run_and_open(rotated_tables, np.arange(64, dtype=U32), arithmetic([shift, 5]), 40)
    assert_cost(run, rounds=2, elements=2, words_per_element=64 + 2 * 40)
