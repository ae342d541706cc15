"""Sums and values of secret groups, against plain numpy over the groups' slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.grouping import (
    Groups,
    form_groups,
    group_sums,
    running_sums,
    spread,
    values_at_first,
    values_at_last,
)
from shared.mpc.program import Party, Program
from shared.mpc.ring import U16, U32, U64, Words
from shared.mpc.sharing import BinaryShare, Share
from tests.support.mpc import arithmetic, assert_cost, binary, ring_elements, run_and_open

Sizes = list[int]


def last_marks(sizes: Sizes) -> Words:
    marks = np.zeros(sum(sizes), U32)
    marks[np.cumsum(sizes) - 1] = 1
    return marks


def slices(sizes: Sizes) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True)]


def padded(values: list[int], slots: int, dtype: Any) -> Words:
    return np.array([*values, *[0] * (slots - len(values))], dtype)


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Sizes, int, Words, Words]:
    """Sizes of groups, a bound on their number, a column of numbers and one of words."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=9))
    bound = draw(st.sampled_from([len(sizes), len(sizes) + 1, 16, 1000]))
    size = sum(sizes)
    numbers = draw(st.lists(ring_elements(U32), min_size=size, max_size=size))
    words = draw(st.lists(ring_elements(U16), min_size=size, max_size=size))
    return sizes, bound, np.array(numbers, U32), np.array(words, U16)


def everything(
    party: Party, last: Share, numbers: Share, words: BinaryShare, bound: int
) -> Program[list[Any]]:
    groups = yield from form_groups(party, last, bound)
    columns = [numbers, words]
    sums = yield from group_sums(party, groups, columns)
    at_last = yield from values_at_last(party, groups, columns)
    at_first = yield from values_at_first(party, groups, columns)
    spread_out = yield from spread(party, groups, at_last)
    running = yield from running_sums(party, groups, [numbers])
    return [groups.used, sums, at_last, at_first, spread_out, running]


@settings(max_examples=60)
@given(grouped())
def test_groups_against_slices(case: tuple[Sizes, int, Words, Words]) -> None:
    sizes, bound, numbers, words = case
    run = run_and_open(everything, arithmetic(last_marks(sizes)), arithmetic(numbers), binary(words), bound)
    used, sums, at_last, at_first, spread_out, running = run.value
    slots = min(bound, len(numbers))
    parts = slices(sizes)
    assert np.array_equal(used, padded([1] * len(sizes), slots, U32))
    assert np.array_equal(sums[0], padded([numbers[p].sum(dtype=U32) for p in parts], slots, U32))
    assert np.array_equal(sums[1], padded([np.bitwise_xor.reduce(words[p]) for p in parts], slots, U16))
    for column, last, first in zip((numbers, words), at_last, at_first, strict=True):
        assert np.array_equal(last, padded([column[p][-1] for p in parts], slots, column.dtype))
        assert np.array_equal(first, padded([column[p][0] for p in parts], slots, column.dtype))
    for column, wide in zip((numbers, words), spread_out, strict=True):
        assert np.array_equal(wide, np.concatenate([np.full_like(column[p], column[p][-1]) for p in parts]))
    assert np.array_equal(running[0], np.concatenate([np.cumsum(numbers[p], dtype=U32) for p in parts]))


@given(st.lists(ring_elements(U32), min_size=1, max_size=70))
def test_one_slot_needs_no_message(values: list[int]) -> None:
    numbers = np.array(values, U32)
    size = len(numbers)
    run = run_and_open(
        everything, arithmetic(last_marks([size])), arithmetic(numbers), binary(numbers.astype(U16)), 1
    )
    _, sums, at_last, at_first, spread_out, running = run.value
    assert sums[0][0] == numbers.sum(dtype=U32)
    assert (at_last[0][0], at_first[0][0]) == (numbers[-1], numbers[0])
    assert np.array_equal(spread_out[0], np.full(size, numbers[-1]))
    assert np.array_equal(running[0], np.cumsum(numbers, dtype=U32))
    assert run.rounds == 0


def test_slots_without_a_group_do_not_reach_positions() -> None:
    """Whatever a caller computes in them."""

    def program(party: Party, last: Share, values: Share, words: BinaryShare) -> Program[list[Any]]:
        groups = yield from form_groups(party, last, 5)
        return (yield from spread(party, groups, [values, words]))

    values = np.array([10, 20, 30, 40, 50], U32)
    run = run_and_open(
        program, arithmetic(last_marks([3, 4])), arithmetic(values), binary(values.astype(U16))
    )
    for column in run.value:
        assert column.tolist() == [10] * 3 + [20] * 4


COST_SIZES = [100, 1, 27]


@pytest.mark.parametrize(
    ("of_groups", "rounds", "bytes_per_element", "bytes_per_slot"),
    [
        (values_at_last, 3, 16, 12),
        (values_at_first, 3, 16, 12),
        (group_sums, 3, 16, 12),
        (running_sums, 6, 32, 24),
    ],
)
def test_cost(of_groups: Any, rounds: int, bytes_per_element: int, bytes_per_slot: int) -> None:
    def program(party: Party, last: Share, numbers: Share) -> Program[Any]:
        groups = yield from form_groups(party, last, 8)
        return (yield from of_groups(party, groups, [numbers]))

    size = sum(COST_SIZES)
    run = run_and_open(program, arithmetic(last_marks(COST_SIZES)), arithmetic(np.arange(size, dtype=U32)))
    assert_cost(
        run,
        rounds=4 + rounds,
        bytes_per_element=44 + bytes_per_element,
        elements=size,
        fixed_bytes=8 * bytes_per_slot,
    )


def test_cost_of_spreading() -> None:
    def program(party: Party, last: Share, values: Share) -> Program[Any]:
        groups: Groups = yield from form_groups(party, last, 8)
        return (yield from spread(party, groups, [values]))

    run = run_and_open(program, arithmetic(last_marks(COST_SIZES)), arithmetic(np.arange(8, dtype=U32)))
    assert_cost(run, rounds=7, bytes_per_element=60, elements=sum(COST_SIZES), fixed_bytes=8 * 12)


def test_misuse_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one group"):
        run_and_open(form_groups, arithmetic(last_marks([2])), 0)

    def program(party: Party, last: Share, numbers: Share) -> Program[Any]:
        groups = yield from form_groups(party, last, 2)
        return (yield from values_at_last(party, groups, [numbers]))

    with pytest.raises(ValueError, match="uint32"):
        run_and_open(program, arithmetic(last_marks([1, 1])), arithmetic([1, 2], U64))
