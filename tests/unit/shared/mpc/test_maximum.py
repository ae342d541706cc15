"""The maximum, the lowest index at which it stands and what is carried, in tournaments and in groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc import maximum as maximum_module
from shared.mpc.maximum import index_of_maximum, maximum_with_index
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, U64, signed
from shared.mpc.sharing import Share
from tests.support.mpc import arithmetic, as_words, assert_cost, run_and_open

RINGS = (U32, U64)
SHAPES = [(1,), (1, 3), (2,), (2, 3), (3, 4), (5, 2, 3), (9, 7), (17, 3), (4, 0)]


@pytest.fixture(params=[1, 40, 2**14], ids=["pairs", "small groups", "one group"])
def comparisons_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(maximum_module, "COMPARISONS_AT_ONCE", request.param)
    return int(request.param)


def with_carried(
    party: Party, values: Share, first: Share, second: Share
) -> Program[tuple[Share, Share, list[Share]]]:
    return maximum_with_index(party, values, carried=[first, second])


@pytest.mark.parametrize("dtype", RINGS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [1, 3, 2**30])
@pytest.mark.usefixtures("comparisons_at_once")
def test_the_lowest_index_wins_a_tie(dtype: Any, shape: tuple[int, ...], spread: int) -> None:
    random = np.random.default_rng(1)
    values = random.integers(-spread, spread, shape)
    carried = [random.integers(0, 2**31, shape) for _ in range(2)]
    run = run_and_open(with_carried, arithmetic(values, dtype), *(arithmetic(one, dtype) for one in carried))
    best, index, entries = run.value
    expected = values.argmax(axis=0)
    np.testing.assert_array_equal(signed(np.asarray(best)), values.max(axis=0))
    assert index.dtype == U32
    np.testing.assert_array_equal(index, expected)
    for entry, one in zip(entries, carried, strict=True):
        np.testing.assert_array_equal(entry, np.take_along_axis(one, expected[None], axis=0)[0])
    alone = run_and_open(index_of_maximum, arithmetic(values, dtype))
    np.testing.assert_array_equal(alone.value, expected)
    assert alone.rounds <= run.rounds


@given(values=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=12))
def test_scores_of_62_bits(values: list[int]) -> None:
    run = run_and_open(maximum_with_index, arithmetic(as_words(np.array(values, object), U64)))
    assert int(signed(np.asarray(run.value[0]))) == max(values)
    assert int(run.value[1]) == values.index(max(values))


@given(values=st.lists(st.integers(0, 15), min_size=1, max_size=12))
def test_narrow_numbers_need_fewer_rounds(values: list[int]) -> None:
    run = run_and_open(maximum_with_index, arithmetic(values), width_bits=5)
    assert (int(run.value[0]), int(run.value[1])) == (max(values), values.index(max(values)))
    pairs_of_group = max(0, len(values) - 2).bit_length() if len(values) > 2 else 0
    assert run.rounds == (0 if len(values) == 1 else max(3, 2 + pairs_of_group))


def test_what_one_group_costs() -> None:
    """Nine numbers: 36 comparisons of 64 bits, 9 wins (packed), 9 products of one field."""
    run = run_and_open(maximum_with_index, arithmetic(np.zeros((9, 64), U64)))
    signs, gates = 36 * 49.5, 9 * 6 * 0.375
    wins = 9 * (24 + 0.75 + 24)
    assert_cost(run, rounds=9, elements=64, bytes_per_element=signs + gates + wins)


def test_what_a_tournament_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight numbers: 7 comparisons of 32 bits; the index is carried from the second level on."""
    monkeypatch.setattr(maximum_module, "COMPARISONS_AT_ONCE", 1)
    run = run_and_open(maximum_with_index, arithmetic(np.zeros((8, 64), U32)))
    comparisons = 7 * (23.875 + 12.375)
    products = (4 * 1 + 3 * 2) * 12
    assert_cost(run, rounds=15, elements=64, bytes_per_element=comparisons + products)


@pytest.mark.usefixtures("comparisons_at_once")
def test_sizes_do_not_depend_on_values() -> None:
    values = np.arange(35).reshape(7, 5)
    one, other, third = (
        run_and_open(maximum_with_index, arithmetic(x)).run.sent_bytes
        for x in (values, values[::-1], values * 0)
    )
    assert one == other == third
