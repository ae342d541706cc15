"""Less than, equal, zero: against plain numbers, at every width, with their cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.bits import unpack
from shared.mpc.comparison import (
    equal,
    equal_words,
    is_zero,
    less_than,
    less_than_choosing,
    less_than_packed,
    less_than_words,
)
from shared.mpc.digits import digits_for
from shared.mpc.ring import U8, U16, U32, U64, Words, word_of_width
from tests.support.mpc import arithmetic, as_words, assert_cost, binary, ring_arrays, run_and_open

RINGS = (U32, U64)


def rounds_for(width_bits: int) -> int:
    return 2 + sum(width_bits > bound for bound in (6, 12, 24, 48))


def numbers_near(bound: int) -> st.SearchStrategy[list[int]]:
    """Signed numbers whose differences are below 2 * bound."""
    ends = [end for end in (-bound, -bound + 1, -1, 0, 1, bound - 1) if -bound <= end < bound]
    return st.lists(st.sampled_from(ends) | st.integers(-bound, bound - 1), max_size=130)


def signed_pairs(width_bits: int) -> st.SearchStrategy[tuple[Any, Any]]:
    """Equally long columns of signed numbers whose differences fit `width_bits`, a third of them equal."""

    def paired(numbers: list[int]) -> tuple[Any, Any]:
        others = list(reversed(numbers))
        others[::3] = numbers[::3]
        return np.array(numbers, object), np.array(others, object)

    return numbers_near(max(1, 2 ** (width_bits - 2))).map(paired)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_less_than_is_that_of_signed_numbers(dtype: Any, data: st.DataObject) -> None:
    x, y = data.draw(signed_pairs(8 * dtype.itemsize))
    shares = arithmetic(as_words(x, dtype), seed=1), arithmetic(as_words(y, dtype), seed=2)
    expected = np.array(x < y, bool)
    run = run_and_open(less_than, *shares, dtype=dtype)
    assert run.value.dtype == dtype
    np.testing.assert_array_equal(run.value, expected)
    packed = run_and_open(less_than_packed, *shares)
    np.testing.assert_array_equal(unpack(packed.value, len(x)), expected)
    np.testing.assert_array_equal(run_and_open(equal, *shares).value, np.array(x == y, bool))


@pytest.mark.parametrize(("dtype", "rounds", "sent"), [(U32, 5, 23.875 + 12.375), (U64, 6, 49.5 + 12.375)])
def test_what_a_comparison_costs(dtype: Any, rounds: int, sent: float) -> None:
    x = arithmetic(np.zeros(640, dtype))
    assert_cost(run_and_open(less_than, x, x), rounds=rounds, elements=640, bytes_per_element=sent)
    assert_cost(
        run_and_open(less_than_packed, x, x), rounds=rounds, elements=640, bytes_per_element=sent - 12.375
    )


@given(width=st.integers(2, 32), data=st.data())
def test_less_than_of_small_numbers(width: int, data: st.DataObject) -> None:
    x, y = data.draw(signed_pairs(width))
    dtype = data.draw(st.sampled_from(RINGS))
    run = run_and_open(
        less_than, arithmetic(as_words(x, dtype)), arithmetic(as_words(y, dtype)), width_bits=width
    )
    np.testing.assert_array_equal(run.value, np.array(x < y, bool))
    assert run.rounds == rounds_for(width)


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 1, 64)])
def test_results_have_the_shape_of_the_numbers(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).integers(-3, 3, shape)
    zero, less = (
        run_and_open(program, *(arithmetic(np.asarray(one)) for one in inputs))
        for program, inputs in ((is_zero, [x]), (less_than, [x, np.zeros_like(x)]))
    )
    np.testing.assert_array_equal(zero.value, x == 0)
    np.testing.assert_array_equal(less.value, x < 0)


@given(width=st.none() | st.integers(1, 32), data=st.data())
def test_zero_is_found(width: int | None, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(RINGS))
    values = data.draw(ring_arrays(dtype))
    values[::3] = 0
    if width is not None:
        values &= dtype.type(2**width - 1)
        values[1::2] = np.negative(values[1::2])
    run = run_and_open(is_zero, arithmetic(values), dtype=U64, width_bits=width)
    assert run.value.dtype == U64
    np.testing.assert_array_equal(run.value, values == 0)
    assert run.rounds == rounds_for(width or 8 * dtype.itemsize)


@pytest.mark.parametrize(("dtype", "rounds", "sent"), [(U32, 5, 33), (U64, 6, 54)])
def test_what_a_test_for_zero_costs(dtype: Any, rounds: int, sent: float) -> None:
    run = run_and_open(is_zero, arithmetic(np.ones(640, dtype)))
    assert_cost(run, rounds=rounds, elements=640, bytes_per_element=sent)


@pytest.mark.parametrize("width", [5, 9, 32, 64])
@given(data=st.data())
def test_choosing_takes_no_round_of_its_own(width: int, data: st.DataObject) -> None:
    x, y = data.draw(signed_pairs(width))
    differences = np.random.default_rng(3).integers(0, 2**64, (3, len(x)), dtype=np.uint64)
    run = run_and_open(
        less_than_choosing,
        arithmetic(as_words(x, U64), seed=1),
        arithmetic(as_words(y, U64), seed=2),
        arithmetic(differences, seed=3),
        width_bits=width,
    )
    less = np.array(x < y, bool)
    np.testing.assert_array_equal(run.value[0], less)
    np.testing.assert_array_equal(run.value[1], np.where(less, differences, np.uint64(0)))
    assert run.rounds == max(3, rounds_for(width))


@given(width=st.integers(1, 64), data=st.data())
def test_words_are_compared(width: int, data: st.DataObject) -> None:
    dtype = word_of_width(width)
    mask = dtype.type(2**width - 1)
    x = data.draw(ring_arrays(dtype)) & mask
    y = x[::-1].copy()
    y[::3] = x[::3]
    y[1::3] ^= dtype.type(1)
    shares = binary(x, seed=1), binary(y, seed=2)
    less = run_and_open(less_than_words, *shares, width)
    np.testing.assert_array_equal(unpack(less.value, len(x)), x < y)
    assert less.rounds == 1 + (width - 1).bit_length()
    same = run_and_open(equal_words, *shares, width)
    np.testing.assert_array_equal(unpack(same.value, len(x)), x == y)
    assert same.rounds == max(1, (width - 1).bit_length())


def test_what_comparisons_of_words_cost() -> None:
    x = binary(np.zeros(640, U16))
    less, same = (run_and_open(program, x, x, 16) for program in (less_than_words, equal_words))
    assert_cost(less, rounds=5, elements=640, bytes_per_element=15.75)
    assert_cost(same, rounds=4, elements=640, bytes_per_element=5.625)


def test_high_bits_of_words_are_not_looked_at_by_equality() -> None:
    x, y = np.array([0x15, 0x25, 0x16], U8), np.array([0x35, 0x25, 0x17], U8)
    assert unpack(run_and_open(equal_words, binary(x), binary(y), 4).value, 3).tolist() == [1, 1, 0]


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65])
def test_sizes_do_not_depend_on_values(count: int) -> None:
    def sizes(x: Words, y: Words) -> list[Any]:
        return [
            run_and_open(program, share(x), share(y), *options).run.sent_bytes
            for program, share, options in (
                (less_than, arithmetic, ()),
                (equal, arithmetic, ()),
                (less_than_words, binary, (32,)),
                (equal_words, binary, (32,)),
            )
        ]

    zeros, ones = np.zeros(count, U32), np.full(count, 2**31 - 1, U32)
    assert sizes(zeros, zeros) == sizes(zeros, ones) == sizes(ones, zeros)


@pytest.mark.parametrize("width", range(1, 65))
def test_digits_cover_every_width_with_the_flattest_tree(width: int) -> None:
    digits = digits_for(width)
    assert 0 <= digits.padding < digits.bits
    assert 4 <= digits.bits <= 6
    assert digits.levels == rounds_for(width) - 2
    assert digits.bits * digits.count <= (32 if width <= 32 else 64)


def test_a_width_beyond_the_ring_is_refused() -> None:
    with pytest.raises(ValueError, match="33 bits were asked of words of uint32"):
        run_and_open(is_zero, arithmetic(np.zeros(3, U32)), width_bits=33)


@pytest.mark.parametrize("width", [0, 65])
def test_other_widths_are_refused(width: int) -> None:
    with pytest.raises(ValueError, match="1 to 64 bits"):
        digits_for(width)
