"""Radix sort and partition against numpy's stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U8, U16, U32, U64, Words, bits_of
from shared.mpc.sharing import BinaryShare, Share
from shared.mpc.sorting import digit_destination, digit_indicators, partition_destination, stable_sort
from tests.support.mpc import arithmetic, assert_cost, binary, ring_arrays, run_and_open

KEY_BYTES_AND_WIDTHS = [(U8, 8), (U8, 3), (U16, 16), (U16, 11), (U32, 17), (U32, 32), (U64, 40)]


def rows(keys: Words) -> Words:
    return np.arange(len(keys), dtype=U32)


def check_sorted(run: Any, keys: Words, width_bits: int) -> None:
    low = keys & keys.dtype.type(2**width_bits - 1)
    order = np.argsort(low, kind="stable")
    sorted_keys, [moved_rows] = run.value
    assert np.array_equal(moved_rows, order)
    assert np.array_equal(sorted_keys, keys[order])


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("greatest", [0, 2, 2**16 - 1])
def test_sorts_as_numpy(size: int, greatest: int) -> None:
    keys = np.random.default_rng(size).integers(0, greatest, size, endpoint=True).astype(U16)
    run = run_and_open(stable_sort, binary(keys), 16, [arithmetic(rows(keys))])
    check_sorted(run, keys, 16)
    assert_cost(run, rounds=8 * 6, bytes_per_element=8 * (64 + 4 * (2 + 4)), elements=size)


@pytest.mark.parametrize(("dtype", "width_bits"), KEY_BYTES_AND_WIDTHS)
@pytest.mark.parametrize("digit_bits", [1, 2, 3, 4])
def test_every_width_and_digit(dtype: Any, width_bits: int, digit_bits: int) -> None:
    """Bits above the width are carried along and not looked at."""
    keys = np.random.default_rng(width_bits).integers(0, 2 ** bits_of(dtype), 40, dtype=dtype)
    run = run_and_open(stable_sort, binary(keys), width_bits, [arithmetic(rows(keys))], digit_bits=digit_bits)
    check_sorted(run, keys, width_bits)
    assert run.rounds == 6 * -(-width_bits // digit_bits)


@given(keys=ring_arrays(U8, min_size=1, max_size=70), seed=st.integers(0, 2**20))
def test_any_keys(keys: Words, seed: int) -> None:
    check_sorted(run_and_open(stable_sort, binary(keys), 8, [arithmetic(rows(keys))], seed=seed), keys, 8)


def test_keys_alone_and_keys_of_no_bits() -> None:
    keys = np.array([3, 1, 2], U8)
    assert run_and_open(stable_sort, binary(keys), 2).value[0].tolist() == [1, 2, 3]
    run = run_and_open(stable_sort, binary(keys), 0, [binary(keys)])
    assert (run.value[0].tolist(), run.value[1][0].tolist(), run.rounds) == ([3, 1, 2], [3, 1, 2], 0)
    with pytest.raises(ValueError, match="no 9 bits"):
        run_and_open(stable_sort, binary(keys), 9)


def test_several_sorts_share_their_rounds() -> None:
    columns = [np.random.default_rng(seed).integers(0, 16, 50).astype(U8) for seed in range(4)]

    def program(party: Party, keys: list[BinaryShare], rows: Share) -> Program[Any]:
        return (yield from together(*(stable_sort(party, key, 4, [rows]) for key in keys)))

    run = run_and_open(program, [binary(column) for column in columns], arithmetic(np.arange(50, dtype=U32)))
    for column, (keys, [moved_rows]) in zip(columns, run.value, strict=True):
        assert np.array_equal(keys, np.sort(column))
        assert np.array_equal(moved_rows, np.argsort(column, kind="stable"))
    assert run.rounds == 2 * 6


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_indicators_and_destination(bits: int) -> None:
    keys = np.random.default_rng(bits).integers(0, 256, 100).astype(U8)
    digits = (keys >> 2) & (2**bits - 1)
    values = np.arange(1, 2**bits)[:, None]
    run = run_and_open(digit_indicators, binary(keys), 2, bits)
    assert np.array_equal(run.value, digits == values)
    assert_cost(run, rounds=2, bytes_per_element=12 * (2**bits - 1), elements=100)
    run = run_and_open(digit_destination, arithmetic((digits == values).astype(U32)))
    assert np.array_equal(np.argsort(run.value), np.argsort(digits, kind="stable"))
    assert_cost(run, rounds=1, bytes_per_element=12, elements=100)


@given(st.lists(st.booleans(), min_size=1, max_size=130))
def test_partition(bits: list[bool]) -> None:
    bit = np.array(bits, U32)
    run = run_and_open(partition_destination, arithmetic(bit))
    assert np.array_equal(np.argsort(run.value), np.argsort(bit, kind="stable"))
    assert_cost(run, rounds=1, bytes_per_element=12, elements=len(bits))


def test_sizes_and_order_of_messages_do_not_depend_on_keys() -> None:
    def sizes(keys: Words) -> list[tuple[int, int, int]]:
        return run_and_open(stable_sort, binary(keys), 16, [arithmetic(rows(keys))]).run.sent_bytes

    assert sizes(np.zeros(300, U16)) == sizes(np.arange(300, dtype=U16)[::-1].copy())
