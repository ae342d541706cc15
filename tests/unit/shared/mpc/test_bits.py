"""Packing bits into words, and words into planes of bits: local, and inverse to one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.bits import (
    pack,
    pack_bits,
    packed_length,
    plane_words,
    planes_of,
    unpack,
    unpack_bits,
    words_of,
)
from shared.mpc.ring import U8, U16, U32, U64
from tests.support.mpc import binary, opened, ring_arrays

COUNTS = [0, 1, 63, 64, 65, 200]


def some_bits(*shape: int) -> Any:
    return np.random.default_rng(5).integers(0, 2, shape, dtype=np.uint8)


@pytest.mark.parametrize("count", COUNTS)
def test_bit_i_of_word_j_is_element_64_j_plus_i(count: int) -> None:
    bits = some_bits(count)
    words = pack(bits)
    assert words.dtype == U64
    assert len(words) == packed_length(count)
    expected = [
        sum(int(bit) << i for i, bit in enumerate(bits[start : start + 64])) for start in range(0, count, 64)
    ]
    assert words.tolist() == expected
    np.testing.assert_array_equal(unpack(words, count), bits)


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64])
@pytest.mark.parametrize("shape", [(70,), (3, 5), (2, 3, 128), (4, 0)])
def test_shared_bits_are_packed_and_unpacked(dtype: Any, shape: tuple[int, ...]) -> None:
    bits = some_bits(*shape).astype(dtype)
    packed = [pack_bits(x) for x in binary(bits)]
    np.testing.assert_array_equal(opened(packed), pack(bits))
    unpacked = [unpack_bits(x, shape[-1], dtype) for x in packed]
    assert unpacked[0].dtype == dtype
    np.testing.assert_array_equal(opened(unpacked), bits)


def test_truth_values_are_packed_as_they_are() -> None:
    bits = some_bits(100)
    np.testing.assert_array_equal(pack(bits.astype(bool)), pack(bits))


def test_packing_reaches_over_slices() -> None:
    words = pack(some_bits(6, 130))
    np.testing.assert_array_equal(unpack(words[::2], 130), some_bits(6, 130)[::2])


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64])
@given(data=st.data())
def test_planes_hold_the_low_bits(dtype: Any, data: st.DataObject) -> None:
    values = data.draw(ring_arrays(dtype))
    width = data.draw(st.integers(1, 8 * dtype.itemsize))
    planes = [planes_of(x, width) for x in binary(values)]
    expected = [[int(value) >> place & 1 for value in values] for place in range(width)]
    np.testing.assert_array_equal(unpack(opened(planes), len(values)), expected)
    np.testing.assert_array_equal(opened(planes), plane_words(values, width))
    words = [words_of(x, len(values), dtype) for x in planes]
    np.testing.assert_array_equal(opened(words), values & dtype.type(2**width - 1))
