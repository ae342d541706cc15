"""Products, inner products and conjunctions, with vector T6 of the protocol, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.arithmetic import (
    add_public,
    conjunction,
    multiply,
    product_terms,
    select,
    subtract_from_public,
    sum_of_products,
    xor_of_conjunctions,
)
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U16, U32, U64
from shared.mpc.sharing import BinaryShare, Share
from tests.support.mpc import arithmetic, assert_cost, binary, ring_arrays, run_and_open

RINGS = (U32, U64)


def columns(dtype: Any, count: int) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.integers(0, 40).flatmap(lambda n: st.tuples(*(ring_arrays(dtype, n, n) for _ in range(count))))


def test_vector_t6() -> None:
    """x = 6, y = 7 and the zero parts of the protocol's vector give its parts of 42."""
    x, y, zero = (
        [np.array([part % 2**64], U64) for part in parts]
        for parts in ((5, 11, -10), (1, 2, 4), (100, 200, -300))
    )
    products = []
    for i in range(3):
        after = (i + 1) % 3
        terms = product_terms(Share(x[i], x[after]), Share(y[i], y[after]))
        products.append(int((terms + zero[i])[0]))
    assert products == [126, 246, 2**64 - 330]
    assert sum(products) % 2**64 == 42


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_products(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(columns(dtype, 2))
    run = run_and_open(multiply, arithmetic(x, seed=1), arithmetic(y, seed=2))
    np.testing.assert_array_equal(run.value, x * y)
    assert_cost(run, rounds=1, elements=len(x), words_per_element=3, dtype=dtype)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_inner_products_cost_one_word_whatever_their_length(dtype: Any, data: st.DataObject) -> None:
    a, b, c, d = data.draw(columns(dtype, 4))

    def inner(party: Party, *x: Share) -> Program[Share]:
        return sum_of_products(party, [(x[0], x[1]), (x[2], x[3])])

    run = run_and_open(inner, *(arithmetic(one, seed=i) for i, one in enumerate((a, b, c, d))))
    np.testing.assert_array_equal(run.value, a * b + c * d)
    assert_cost(run, rounds=1, elements=len(a), words_per_element=3, dtype=dtype)


def test_products_broadcast() -> None:
    x, y = np.arange(3, dtype=U32), np.arange(12, dtype=U32).reshape(4, 3)
    np.testing.assert_array_equal(run_and_open(multiply, arithmetic(x), arithmetic(y)).value, x * y)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_selection(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(columns(dtype, 2))
    condition = np.arange(len(x), dtype=dtype) % dtype.type(2)
    run = run_and_open(select, arithmetic(condition, seed=1), arithmetic(x, seed=2), arithmetic(y, seed=3))
    np.testing.assert_array_equal(run.value, np.where(condition == 1, x, y))
    assert_cost(run, rounds=1, elements=len(x), words_per_element=3, dtype=dtype)


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64])
@given(data=st.data())
def test_conjunctions(dtype: Any, data: st.DataObject) -> None:
    a, b, c, d = data.draw(columns(dtype, 4))
    shares = [binary(one, seed=i) for i, one in enumerate((a, b, c, d))]

    def inner(party: Party, *x: BinaryShare) -> Program[BinaryShare]:
        return xor_of_conjunctions(party, [(x[0], x[1]), (x[2], x[3])])

    for run, expected in (
        (run_and_open(conjunction, *shares[:2]), a & b),
        (run_and_open(inner, *shares), (a & b) ^ (c & d)),
    ):
        np.testing.assert_array_equal(run.value, expected)
        assert_cost(run, rounds=1, elements=len(a), words_per_element=3, dtype=dtype)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_public_constants_need_no_message(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(columns(dtype, 2))

    def sums(party: Party, x: Share) -> Program[list[Share]]:
        yield from ()
        return [add_public(party, x, -5), add_public(party, x, y), subtract_from_public(party, 7, x)]

    run = run_and_open(sums, arithmetic(x))
    np.testing.assert_array_equal(run.value[0], x + np.array(2 ** (8 * dtype.itemsize) - 5, dtype))
    np.testing.assert_array_equal(run.value[1], x + y)
    np.testing.assert_array_equal(run.value[2], dtype.type(7) - x)
    assert_cost(run, rounds=0, bytes_per_element=0)


def test_inputs_are_left_as_they_were() -> None:
    x, y = arithmetic(np.arange(5, dtype=U32), seed=1), arithmetic(np.arange(5, dtype=U32), seed=2)
    before = [part.copy() for share in (*x, *y) for part in (share.own, share.next)]
    run_and_open(multiply, x, y)
    after = [part for share in (*x, *y) for part in (share.own, share.next)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
