"""Shares: splitting and combining, local operations in the ring, no content in their text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.ring import U8, U16, U32, U64, signed, word_of_width
from shared.mpc.sharing import (
    BinaryShare,
    Share,
    concatenate,
    concatenate_binary,
    public_binary_share,
    public_share,
)
from tests.support.mpc import arithmetic, as_words, binary, edge_values, opened, ring_arrays

RINGS = (U32, U64)
WORDS = (U8, U16, U32, U64)


def pairs(dtype: Any) -> st.SearchStrategy[tuple[Any, Any]]:
    return st.integers(0, 70).flatmap(lambda n: st.tuples(ring_arrays(dtype, n, n), ring_arrays(dtype, n, n)))


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_what_was_split_combines(dtype: Any, data: st.DataObject) -> None:
    values = data.draw(ring_arrays(dtype))
    np.testing.assert_array_equal(opened(arithmetic(values)), values)


@pytest.mark.parametrize("dtype", WORDS)
@given(data=st.data())
def test_what_was_split_by_xor_combines(dtype: Any, data: st.DataObject) -> None:
    values = data.draw(ring_arrays(dtype))
    np.testing.assert_array_equal(opened(binary(values)), values)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_local_operations_are_those_of_the_ring(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(pairs(dtype))
    both = list(zip(arithmetic(x, seed=1), arithmetic(y, seed=2), strict=True))
    np.testing.assert_array_equal(opened([a + b for a, b in both]), x + y)
    np.testing.assert_array_equal(opened([a - b for a, b in both]), x - y)
    np.testing.assert_array_equal(opened([-a for a, _ in both]), np.negative(x))
    np.testing.assert_array_equal(opened([a.times(y) for a, _ in both]), x * y)
    np.testing.assert_array_equal(opened([a.times(-3) for a, _ in both]), np.negative(x + x + x))
    np.testing.assert_array_equal(opened([a.cumsum() for a, _ in both]), np.cumsum(x, dtype=dtype))
    assert opened([a.sum() for a, _ in both]) == np.sum(x, dtype=dtype)
    np.testing.assert_array_equal(opened([concatenate([a, b]) for a, b in both]), np.concatenate([x, y]))


@given(data=st.data())
def test_the_small_ring_is_the_large_one_with_its_high_half_dropped(data: st.DataObject) -> None:
    values = data.draw(ring_arrays(U64))
    narrow = [x.to_ring32() for x in arithmetic(values)]
    np.testing.assert_array_equal(opened(narrow), values.astype(U32))
    assert narrow[0].to_ring32() is narrow[0]


@pytest.mark.parametrize("dtype", WORDS)
@given(data=st.data())
def test_local_operations_on_bits(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(pairs(dtype))
    both = list(zip(binary(x, seed=1), binary(y, seed=2), strict=True))
    np.testing.assert_array_equal(opened([a ^ b for a, b in both]), x ^ y)
    np.testing.assert_array_equal(opened([a.masked(0x55) for a, _ in both]), x & dtype.type(0x55))
    np.testing.assert_array_equal(opened([a.masked(y) for a, _ in both]), x & y)
    np.testing.assert_array_equal(opened([a.bit(7) for a, _ in both]), (x >> dtype.type(7)) & dtype.type(1))
    joined = [concatenate_binary([a, b]) for a, b in both]
    np.testing.assert_array_equal(opened(joined), np.concatenate([x, y]))


def test_indexing_and_reshaping_reach_both_parts() -> None:
    values = np.arange(12, dtype=np.uint32)
    parts = arithmetic(values)
    np.testing.assert_array_equal(opened([x.reshape(3, 4)[1] for x in parts]), values.reshape(3, 4)[1])
    np.testing.assert_array_equal(opened([x[::-1] for x in parts]), values[::-1])
    np.testing.assert_array_equal(opened([x.reshape(3, 4).sum(axis=0) for x in parts]), [12, 15, 18, 21])


def test_public_values_have_a_share_at_every_party() -> None:
    words = np.array(edge_values(U64), U64)
    np.testing.assert_array_equal(opened([public_share(i, words) for i in range(3)]), words)
    np.testing.assert_array_equal(opened([public_binary_share(i, words) for i in range(3)]), words)
    seven = [public_share(i, -7, U32, (2,)) for i in range(3)]
    np.testing.assert_array_equal(signed(opened(seven)), [-7, -7])


def test_residues_read_as_signed_numbers() -> None:
    for dtype in RINGS:
        numbers = [0, 1, -1, 2 ** (8 * dtype.itemsize - 1) - 1, -(2 ** (8 * dtype.itemsize - 1))]
        np.testing.assert_array_equal(signed(as_words(np.array(numbers, object), dtype)), numbers)


@pytest.mark.parametrize(("bits", "dtype"), [(1, U8), (8, U8), (9, U16), (17, U32), (32, U32), (33, U64)])
def test_the_smallest_word_for_a_width(bits: int, dtype: Any) -> None:
    assert word_of_width(bits) == dtype


def test_no_word_is_wider_than_64_bits() -> None:
    with pytest.raises(ValueError, match="65 were asked"):
        word_of_width(65)


def test_the_text_of_a_share_has_no_content() -> None:
    share = Share(np.array([123456789], U64), np.array([987654321], U64))
    assert repr(share) == str(share) == "Share(shape=(1,), dtype=uint64)"
    assert len(share) == 1


def test_a_share_refuses_what_it_cannot_hold() -> None:
    one, two = np.zeros(1, U64), np.zeros(2, U64)
    with pytest.raises(ValueError, match="one shape and one dtype"):
        Share(one, two)
    with pytest.raises(ValueError, match="one shape and one dtype"):
        Share(one, one.astype(U32))
    with pytest.raises(ValueError, match="not int64"):
        Share(one.astype(np.int64), one.astype(np.int64))
    with pytest.raises(ValueError, match="not float64"):
        BinaryShare(one.astype(np.float64), one.astype(np.float64))


def test_one_part_alone_is_uniform_whatever_the_value() -> None:
    """Two parts of a constant: each bit is set about half of the time, at every party and for both kinds."""
    count = 4000
    for shares in (arithmetic(np.zeros(count, U32)), binary(np.full(count, 2**32 - 1, U32))):
        for share in shares:
            for part in (share.own, share.next):
                ones = np.unpackbits(part.view(np.uint8)).mean()
                assert abs(ones - 0.5) < 0.01
