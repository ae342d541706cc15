"""The first maximum in bits, with candidates and conditions, against a plain loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc import first_maximum as module
from shared.mpc.first_maximum import all_of, first_maximum, ready
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U64, Words
from shared.mpc.sharing import BinaryShare, Share
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


def found(
    party: Party,
    values: Share,
    width_bits: int,
    may_win: BinaryShare | None = None,
    conditions: Sequence[BinaryShare] = (),
) -> Program[BinaryShare]:
    count, columns = values.shape
    return (
        yield from first_maximum(
            party,
            (count, columns),
            ready(values),
            width_bits,
            None if may_win is None else ready(may_win),
            [ready(condition) for condition in conditions],
        )
    )


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
            found,
            arithmetic(values, U64),
            4,
            None if may_win is None else binary(may_win),
            [binary(condition) for condition in met],
        )
    assert (run.value == winners(values, may_win, met)).all()


def test_large_numbers_are_compared_exactly() -> None:
    low, high = -(2**61), 2**61
    values = np.array([[low, high, low, 7], [low, low, high - 1, 7], [high, high, high, 6]])
    run = run_and_open(found, arithmetic(values, U64), 64)
    assert (run.value == winners(values, None, [])).all()


@pytest.mark.parametrize(("count", "least"), [(2, 7), (3, 7), (33, 7), (64, 7), (65, 8)])
def test_rounds_of_one_group(count: int, least: int) -> None:
    """A comparison of 48 bits takes 5, the test for zero 2 for up to 63 rivals and conditions, 3 for more."""
    values = np.arange(count * 64).reshape(count, 64)
    assert run_and_open(found, arithmetic(values, U64), 48).rounds == least
    condition = np.ones((1, 64), U8)
    with_one = run_and_open(found, arithmetic(values, U64), 48, None, [binary(condition)])
    assert with_one.rounds == 5 + (2 if count < 64 else 3)
    choosy = run_and_open(found, arithmetic(values, U64), 48, binary(np.ones(values.shape, U8)))
    assert choosy.rounds == 6 + (2 if count < 64 else 3)


@given(st.integers(1, 9), st.integers(1, 130), st.integers(0, 2**32))
def test_all_of(count: int, size: int, seed: int) -> None:
    rows = (np.random.default_rng(seed).random((count, size)) < 0.8).astype(U8)
    run = run_and_open(all_of, [binary(row) for row in rows])
    assert (run.value == rows.all(axis=0)).all()
    words = -(-size // 64)
    assert_cost(
        run, rounds=(count - 1).bit_length(), elements=max(0, count - 1) * words, bytes_per_element=24
    )
