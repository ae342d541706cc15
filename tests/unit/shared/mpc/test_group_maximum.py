"""The greatest element of each group against a plain loop, with fractions and with numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.comparison import less_than_choosing
from shared.mpc.group_maximum import greater_fraction, group_maximum
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U16, U32, U64, Words
from shared.mpc.sharing import Share
from tests.support.mpc import arithmetic, as_words, assert_cost, binary, run_and_open

LEAST = (-1, 1, 0)
"""Numerator, denominator and word of every group's last element, and of all that may not win."""

Element = tuple[int, int, int]


def winners(groups: list[list[Element]]) -> list[int]:
    """The word of the first of the greatest fractions of each group."""
    return [max(group, key=lambda element: Fraction(element[0], element[1]))[2] for group in groups]


def columns(groups: list[list[Element]]) -> tuple[Words, Words, Words]:
    elements = np.array([element for group in groups for element in group], np.int64)
    last = np.zeros(len(elements), U8)
    last[np.cumsum([len(group) for group in groups]) - 1] = 1
    return last, as_words(elements[:, :2].T, U64), elements[:, 2].astype(U16)


def check(groups: list[list[Element]], found: Words) -> None:
    """Each group has its winner at one position, and zeros elsewhere."""
    start = 0
    for group, word in zip(groups, winners(groups), strict=True):
        part = found[start : start + len(group)]
        assert sorted(part.tolist()) == [0] * (len(group) - 1) + [word]
        start += len(group)


def maximum(groups: list[list[Element]], seed: int = 0) -> Any:
    last, compared, words = columns(groups)
    return run_and_open(
        group_maximum, binary(last), arithmetic(compared), [binary(words)], greater_fraction, seed=seed
    )


ELEMENTS = st.tuples(
    st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 2**30]),
    st.sampled_from([1, 2, 3, 2**30]),
    st.integers(1, 2**16 - 1),
).map(lambda element: LEAST if element[0] < 0 else element)


@settings(max_examples=60)
@given(st.lists(st.lists(ELEMENTS, max_size=12), min_size=1, max_size=8), st.integers(0, 2**20))
def test_groups_of_any_sizes(groups: list[list[Element]], seed: int) -> None:
    groups = [[*group, LEAST] for group in groups]
    check(groups, maximum(groups, seed).value[0])


@pytest.mark.parametrize("size", [1, 2, 3, 63, 64, 65, 1000])
@pytest.mark.parametrize("share_of_ends", [0.0, 0.02, 0.5, 1.0])
def test_sizes(size: int, share_of_ends: float) -> None:
    generator = np.random.default_rng(size)
    ends = np.flatnonzero(np.append(generator.random(size - 1) < share_of_ends, True))
    groups = []
    for count in np.diff(ends, prepend=-1):
        drawn = zip(generator.integers(0, 9, count - 1), generator.integers(1, 4, count - 1), strict=True)
        groups.append([*((int(a), int(d), 1 + place) for place, (a, d) in enumerate(drawn)), LEAST])
    run = maximum(groups)
    check(groups, run.value[0])
    levels = (size - 1).bit_length()
    assert run.rounds == 2 + 8 * levels + (2 if levels else 0)


@pytest.mark.parametrize("groups", [[[(5, 3, 7)] * 6 + [LEAST]], [[LEAST] * 5, [LEAST], [LEAST] * 3]])
def test_ties(groups: list[list[Element]]) -> None:
    numbered = [[(a, d, word and place + 1) for place, (a, d, word) in enumerate(group)] for group in groups]
    check(numbered, maximum(numbered).value[0])


def test_other_comparisons_and_several_columns() -> None:
    """The greatest number of Z_2^32; two columns of different words follow it."""

    def choose(party: Party, challenger: Share, incumbent: Share, differences: Share) -> Program[Any]:
        return (yield from less_than_choosing(party, incumbent[0], challenger[0], differences))

    numbers = as_words([[5, 9, 2, -1, 7, 7, -1]], U32)
    last = np.array([0, 0, 0, 1, 0, 0, 1], U8)
    wide, narrow = np.array([1, 2, 3, 0, 4, 5, 0], U32), np.array([10, 20, 30, 0, 40, 50, 0], U8)
    run = run_and_open(
        group_maximum, binary(last), arithmetic(numbers), [binary(wide), binary(narrow)], choose
    )
    for found, expected in zip(run.value, ([2, 4], [20, 40]), strict=True):
        assert [np.bitwise_xor.reduce(part) for part in np.split(found, [4])] == expected


def test_cost() -> None:
    """Of a power of two of elements, so that packed bits fill their words at the lower levels."""
    groups = [[*((1, 1, 1),) * 63, LEAST]] * 64
    run = maximum(groups)
    merges = 64 * 64 - 1
    each = 65.875 + 3 * 5 * 8 + 15 * 8 + 9 + 9 * 2
    packed_words = 16 * 64  # at most, where a level has fewer than 64 pairs
    assert 0 <= run.total_bytes - each * merges - 24 * 64 * 64 <= packed_words * 64
    assert_cost(run, rounds=2 + 8 * 12 + 2)


def test_sizes_of_messages_do_not_depend_on_groups() -> None:
    one = [[(1, 1, 1)] * 99 + [LEAST]]
    many = [[(k, 2, 3), LEAST] for k in range(50)]
    assert maximum(one).run.sent_bytes == maximum(many).run.sent_bytes
