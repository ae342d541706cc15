"""The best of candidates against numpy; the first of equal ones wins; costs as the docstrings say."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.bits import pack
from shared.mpc.program import Party, Program
from shared.mpc.ring import U16, U32, U64
from shared.mpc.sharing import BinaryShare, Share
from shared.secure_tree.gain_ratio.all_pairs import by_fractions, group_size
from shared.secure_tree.gain_ratio.knock_out import by_pairs, knock_out
from shared.secure_tree.gain_ratio.matches import by_count, by_fraction, by_numerator
from tests.support.mpc import arithmetic, assert_cost, binary, run_and_open


def first_greatest(values: list[object]) -> int:
    return max(range(len(values)), key=lambda place: (values[place], -place))  # type: ignore[return-value]


def places(count: int, width: int) -> np.ndarray:
    return np.repeat(np.arange(count, dtype=U16)[:, None], width, axis=1)


def of_fractions(party: Party, numbers: Share, words: BinaryShare) -> Program[object]:
    return (yield from knock_out(party, [numbers[0], numbers[1]], [words], by_pairs(by_fraction)))


def of_few_fractions(party: Party, numbers: Share, words: BinaryShare) -> Program[object]:
    return (yield from knock_out(party, [numbers[0], numbers[1]], [words], by_fractions))


@settings(deadline=None, max_examples=80)
@given(st.data(), st.sampled_from([of_fractions, of_few_fractions]))
def test_fractions(data: st.DataObject, program: Callable[..., Program[object]]) -> None:
    count, width = data.draw(st.integers(1, 9) | st.integers(10, 40)), data.draw(st.integers(1, 4))
    number = st.integers(-3, 4) | st.integers(-(2**8), 2**31 - 300)
    size = st.integers(1, 3) | st.integers(1, 2**31 - 1)
    draw = st.lists(number, min_size=count * width, max_size=count * width)
    a = np.array(data.draw(draw), np.int64).reshape(count, width)
    d = np.array(data.draw(st.lists(size, min_size=count * width, max_size=count * width)), np.int64).reshape(
        count, width
    )
    run = run_and_open(program, arithmetic(np.stack([a, d]), U64), binary(places(count, width)))
    (numerators, denominators), [words] = run.value
    for column in range(width):
        best = first_greatest(
            [Fraction(int(x), int(y)) for x, y in zip(a[:, column], d[:, column], strict=True)]
        )
        assert words[0, column] == best
        assert (int(numerators.view(np.int64)[0, column]), int(denominators[0, column])) == (
            a[best, column],
            d[best, column],
        )


def of_numerators(party: Party, numbers: Share, valid: BinaryShare, words: BinaryShare) -> Program[object]:
    return (yield from knock_out(party, [numbers, valid], [words], by_pairs(by_numerator)))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 7), st.integers(0, 2**32))
def test_valid_numerators(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(-3, 2**31 - 10 if seed % 2 else 3, (count, 64))
    ok = rng.random((count, 64)) < 0.6
    run = run_and_open(of_numerators, arithmetic(a), binary(pack(ok)), binary(places(count, 64)))
    (numerators, valid), [words] = run.value
    np.testing.assert_array_equal(valid[0], pack(ok.any(axis=0)))
    for column in np.flatnonzero(ok.any(axis=0)).tolist():
        best = first_greatest([(bool(y), int(x)) for x, y in zip(a[:, column], ok[:, column], strict=True)])
        assert words[0, column] == best
        assert numerators.view(np.int32)[0, column] == a[best, column]


def of_counts(party: Party, counts: Share, words: BinaryShare) -> Program[object]:
    return (yield from knock_out(party, [counts], [words], by_pairs(by_count)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=8))
def test_counts(counts: list[list[int]]) -> None:
    run = run_and_open(of_counts, arithmetic(counts), binary(places(len(counts), 3)))
    np.testing.assert_array_equal(run.value[1][0][0], np.argmax(counts, axis=0))


@pytest.mark.parametrize(("count", "levels"), [(2, 1), (3, 2), (4, 2), (8, 3)])
def test_costs(count: int, levels: int) -> None:
    pairs = 64 * (count - 1)
    fractions = run_and_open(
        of_fractions, arithmetic(np.ones((2, count, 64)), U64), binary(places(count, 64))
    )
    assert_cost(fractions, rounds=7 * levels + 1, elements=pairs, bytes_per_element=137.875 + 6)
    numerators = run_and_open(
        of_numerators,
        arithmetic(np.ones((count, 64))),
        binary(np.zeros((count, 1), U64)),
        binary(places(count, 64)),
    )
    assert_cost(numerators, rounds=6 * levels + 1, elements=pairs, bytes_per_element=49 + 6)
    counts = run_and_open(of_counts, arithmetic(np.ones((count, 64)), U32), binary(places(count, 64)))
    assert_cost(counts, rounds=5 * levels + 1, elements=pairs, bytes_per_element=48.25 + 6)


@pytest.mark.parametrize(("count", "size", "tree"), [(3, 4, 2), (4, 4, 2), (5, 8, 3), (8, 8, 3), (16, 16, 4)])
def test_costs_all_at_once(count: int, size: int, tree: int) -> None:
    assert group_size(count, 64) == size
    run = run_and_open(of_few_fractions, arithmetic(np.ones((2, count, 64)), U64), binary(places(count, 64)))
    pairs = size * (size - 1) // 2
    gates = size * (size - 3) * 3 / 8
    per_column = pairs * 65.5 + gates + size * (72 + 3 / 4) + 6
    assert_cost(run, rounds=7 + tree + 1, elements=64, bytes_per_element=per_column)


def test_groups_are_small_where_there_is_much_to_compare() -> None:
    assert [group_size(count, 1) for count in (2, 3, 5, 9, 20, 1000, 2000, 4000, 10**5)] == [
        2, 4, 8, 16, 16, 16, 8, 4, 2
    ]  # fmt: skip
