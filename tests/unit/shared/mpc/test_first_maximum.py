"""The first maximum in bits, with candidates and conditions, against a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc import first_maximum as module
from shared.mpc.first_maximum import all_of, first_maximum
from shared.mpc.ring import U8, U64, Words
from tests.support.mpc import arithmetic, assert_cost, binary, run_and_open


def winners(values: Words, may_win: Words | None, conditions: list[Words]) -> Words:
    found = np.zeros(values.shape, U8)
    for column in range(values.shape[1]):
        best = None
        for row, value in enumerate(values[:, column]):
            if (may_win is None or may_win[row, column]) and (best is None or value > values[best, column]):
                best = row
        if best is not None:
            found[best, column] = all(condition[best, column] for condition in conditions)
    return found


def bits(random: np.random.Generator, shape: tuple[int, int]) -> Words:
    return random.integers(0, 2, shape).astype(U8)


@given(
    st.integers(1, 9),
    st.integers(1, 70),
    st.booleans(),
    st.integers(0, 2),
    st.sampled_from([2**20, 60, 1]),
    st.integers(0, 2**32),
)
def test_the_winner_is_the_first_maximum(
    count: int, columns: int, choosy: bool, conditions: int, at_once: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-3, 4, (count, columns))
    may_win = bits(random, values.shape) if choosy else None
    met = [bits(random, values.shape) for _ in range(conditions)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMPARISONS_AT_ONCE", at_once)
        run = run_and_open(
            first_maximum,
            arithmetic(values, U64),
            4,
            None if may_win is None else binary(may_win),
            [binary(condition) for condition in met],
        )
    assert (run.value == winners(values, may_win, met)).all()


def test_large_numbers_are_compared_exactly() -> None:
    low, high = -(2**61), 2**61
    values = np.array([[low, high, low, 7], [low, low, high - 1, 7], [high, high, high, 6]])
    run = run_and_open(first_maximum, arithmetic(values, U64), 64)
    assert (run.value == winners(values, None, [])).all()


@pytest.mark.parametrize(("count", "rounds"), [(2, 5), (3, 6), (5, 7), (9, 8), (33, 10)])
def test_rounds_of_one_group(count: int, rounds: int) -> None:
    """A comparison of 48 bits takes 5, the tree of k - 1 losers its depth."""
    values = np.arange(count * 64).reshape(count, 64)
    run = run_and_open(first_maximum, arithmetic(values, U64), 48)
    assert_cost(run, rounds=rounds)
    condition = np.ones(values.shape, U8)
    with_one = run_and_open(first_maximum, arithmetic(values, U64), 48, None, [binary(condition)])
    assert with_one.rounds == 5 + (count - 1).bit_length()
    choosy = run_and_open(first_maximum, arithmetic(values, U64), 48, binary(condition))
    assert choosy.rounds == 6 + (count - 1).bit_length()


@given(st.integers(1, 9), st.integers(1, 130), st.integers(0, 2**32))
def test_all_of(count: int, size: int, seed: int) -> None:
    rows = (np.random.default_rng(seed).random((count, size)) < 0.8).astype(U8)
    run = run_and_open(all_of, [binary(row) for row in rows])
    assert (run.value == rows.all(axis=0)).all()
    words = -(-size // 64)
    assert_cost(
        run, rounds=(count - 1).bit_length(), elements=max(0, count - 1) * words, bytes_per_element=24
    )
