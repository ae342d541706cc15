"""From bits to numbers and back, from the small ring to the large one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.bits import plane_words, unpack
from shared.mpc.conversion import (
    binary_to_arithmetic,
    bits_to_arithmetic,
    sign_bits,
    to_binary,
    to_words,
    widen,
)
from shared.mpc.ring import U8, U16, U32, U64, Words, signed
from tests.support.mpc import (
    arithmetic,
    as_words,
    assert_cost,
    binary,
    edge_values,
    ring_arrays,
    run_and_open,
)

RINGS = (U32, U64)
COUNTS = [0, 1, 63, 64, 65]


def rounds_for(width_bits: int) -> int:
    return 2 + sum(width_bits > bound for bound in (6, 12, 24, 48))


@pytest.mark.parametrize("dtype", RINGS)
@pytest.mark.parametrize("kind", [U8, U16, U32, U64])
@pytest.mark.parametrize("shape", [(0,), (1,), (65,), (3, 4)])
def test_bits_become_numbers(dtype: Any, kind: Any, shape: tuple[int, ...]) -> None:
    bits = np.random.default_rng(1).integers(0, 2, shape).astype(kind)
    run = run_and_open(bits_to_arithmetic, binary(bits), dtype)
    assert run.value.dtype == dtype
    np.testing.assert_array_equal(run.value, bits)
    assert_cost(run, rounds=2, elements=bits.size, words_per_element=3, dtype=dtype)


@given(data=st.data())
def test_words_become_numbers(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(RINGS))
    width = data.draw(st.integers(1, 8 * dtype.itemsize))
    values = data.draw(ring_arrays(dtype)) & dtype.type(2**width - 1)
    run = run_and_open(binary_to_arithmetic, binary(values), width, dtype)
    np.testing.assert_array_equal(run.value, values)
    assert_cost(run, rounds=2, elements=len(values), words_per_element=width + 2, dtype=dtype)


def test_words_narrower_than_the_ring_become_numbers() -> None:
    run = run_and_open(binary_to_arithmetic, binary([0, 1, 77, 255], U8), 8)
    assert run.value.dtype == U32
    assert run.value.tolist() == [0, 1, 77, 255]


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_signs(dtype: Any, data: st.DataObject) -> None:
    values = data.draw(ring_arrays(dtype))
    run = run_and_open(sign_bits, arithmetic(values))
    np.testing.assert_array_equal(unpack(run.value, len(values)), signed(values) < 0)


@pytest.mark.parametrize(("dtype", "rounds", "sent"), [(U32, 5, 23.875), (U64, 6, 49.5)])
def test_what_a_sign_costs(dtype: Any, rounds: int, sent: float) -> None:
    run = run_and_open(sign_bits, arithmetic(np.zeros(640, dtype)))
    assert_cost(run, rounds=rounds, elements=640, bytes_per_element=sent)


def test_signs_of_numbers_that_do_not_lie_side_by_side() -> None:
    table = np.arange(150, dtype=np.int64).reshape(50, 3) - 75
    for dtype in (U32, U64):
        column = tuple(share[:, 1] for share in arithmetic(table, dtype))
        run = run_and_open(sign_bits, column)
        assert np.array_equal(unpack(run.value, 50).astype(bool), table[:, 1] < 0)


def test_signs_of_many_numbers() -> None:
    """More than one block of tables, the last one not full."""
    values = np.random.default_rng(2).integers(0, 2**64, 2**14 + 100, dtype=np.uint64)
    run = run_and_open(sign_bits, arithmetic(values))
    np.testing.assert_array_equal(unpack(run.value, len(values)), values >> np.uint64(63))


@given(data=st.data())
def test_signs_of_narrow_numbers(data: st.DataObject) -> None:
    """Only the low bits decide; less width, fewer rounds."""
    dtype = data.draw(st.sampled_from(RINGS))
    width = data.draw(st.integers(1, 8 * dtype.itemsize))
    values = data.draw(ring_arrays(dtype, min_size=1))
    run = run_and_open(sign_bits, arithmetic(values), width)
    np.testing.assert_array_equal(
        unpack(run.value, len(values)), values >> dtype.type(width - 1) & dtype.type(1)
    )
    assert run.rounds == rounds_for(width)


@pytest.mark.parametrize("width", range(1, 65))
def test_bit_decomposition_of_every_width(width: int) -> None:
    for dtype in RINGS if width <= 32 else (U64,):
        values = np.array([*edge_values(dtype), 2**width % 2 ** (8 * dtype.itemsize), 2**width - 1], dtype)
        run = run_and_open(to_binary, arithmetic(values), width)
        np.testing.assert_array_equal(run.value, plane_words(values, width))
        assert run.rounds == rounds_for(width)


@pytest.mark.parametrize("dtype", RINGS)
@given(data=st.data())
def test_bit_decomposition(dtype: Any, data: st.DataObject) -> None:
    values = data.draw(ring_arrays(dtype))
    width = 8 * dtype.itemsize
    run = run_and_open(to_words, arithmetic(values), width)
    assert run.value.dtype == dtype
    np.testing.assert_array_equal(run.value, values)


@pytest.mark.parametrize(("width", "dtype"), [(5, U8), (9, U16), (17, U32)])
def test_words_are_of_the_smallest_type(width: int, dtype: Any) -> None:
    run = run_and_open(to_words, arithmetic([0, 1, 2**width - 1]), width)
    assert run.value.dtype == dtype
    assert run.value.tolist() == [0, 1, 2**width - 1]


@pytest.mark.parametrize(("width", "sent"), [(8, 24.75), (32, 128.25)])
def test_what_bit_decomposition_costs(width: int, sent: float) -> None:
    run = run_and_open(to_binary, arithmetic(np.zeros(640, U32)), width)
    assert_cost(run, rounds=rounds_for(width), elements=640, bytes_per_element=sent)


@given(data=st.data())
def test_widening_keeps_the_number(data: st.DataObject) -> None:
    lowest = data.draw(st.sampled_from([0, -1, -(2**12), -(2**30), -(2**31), 5]))
    offsets = st.sampled_from([0, 1, 2**30, 2**31 - 2, 2**31 - 1]) | st.integers(0, 2**31 - 1)
    numbers = [lowest + offset for offset in data.draw(st.lists(offsets, max_size=70))]
    numbers = [number for number in numbers if number < 2**31]
    run = run_and_open(widen, arithmetic(as_words(np.array(numbers, object), U32)), lowest)
    assert run.value.dtype == U64
    assert signed(run.value).tolist() == numbers
    assert_cost(run, rounds=2, elements=len(numbers), bytes_per_element=16)


def test_widening_keeps_the_shape() -> None:
    values = np.arange(12, dtype=U32).reshape(3, 4)
    np.testing.assert_array_equal(run_and_open(widen, arithmetic(values)).value, values)


@pytest.mark.parametrize("count", COUNTS)
def test_sizes_do_not_depend_on_values(count: int) -> None:
    def sizes(values: Words) -> list[Any]:
        return [
            run_and_open(program, share(values), *options).run.sent_bytes
            for program, share, options in (
                (sign_bits, arithmetic, ()),
                (to_binary, arithmetic, (17,)),
                (widen, arithmetic, ()),
                (bits_to_arithmetic, binary, ()),
                (binary_to_arithmetic, binary, (1,)),
            )
        ]

    assert sizes(np.zeros(count, U32)) == sizes(np.ones(count, U32))
