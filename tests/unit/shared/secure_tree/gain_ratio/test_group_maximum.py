"""The best test of every slot against a loop, for blocks of every size; slots that are empty have none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.program import Party, Program
from shared.mpc.ring import U16, U32, signed
from shared.mpc.sharing import BinaryShare, Share
from shared.secure_tree.gain_ratio.candidates import Candidates
from shared.secure_tree.gain_ratio.group_maximum import Blocks, best_of_slots
from tests.support.mpc import arithmetic, binary, run_and_open


def best(
    party: Party, numerators: Share, denominators: Share, words: BinaryShare, flags: Share
) -> Program[tuple[Any, ...]]:
    found = yield from best_of_slots(party, Candidates(numerators, denominators, [words]), flags, -256)
    return found.numerators, found.denominators, found.words[0]


def flags_of(sizes: list[int]) -> np.ndarray:
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return (owner == np.arange(len(sizes))[:, None]).astype(U32)


def check(sizes: list[int], seed: int, block: int) -> None:
    rng = np.random.default_rng(seed)
    records = sum(sizes)
    valid = rng.random(records) < 0.7
    a = np.where(valid, rng.integers(-2, 6, records), -1)
    d = np.where(valid, rng.integers(1, 4, records), 1)
    with patch.object(Blocks, "of", lambda records, slots: Blocks(records, block)):
        run = run_and_open(
            best, arithmetic(a), arithmetic(d), binary(np.arange(records), U16), arithmetic(flags_of(sizes))
        )
    numerators, denominators, words = run.value
    stop = 0
    for slot, size in enumerate(sizes):
        start, stop = stop, stop + size
        found = Fraction(int(signed(numerators)[slot]), int(denominators[slot]))
        own = [Fraction(int(a[p]), int(d[p])) for p in range(start, stop)]
        greatest = max([*own, Fraction(-1)])
        assert found == greatest
        if greatest > -1:
            assert words[slot] == start + own.index(greatest)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=8).filter(any),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 4, 8, 16, 64]),
)
def test_equals_a_loop(sizes: list[int], seed: int, block: int) -> None:
    check(sizes, seed, block)


@pytest.mark.parametrize("slots", [1, 2, 32])
def test_blocks_are_chosen_with_few_comparisons(slots: int) -> None:
    records = 10**5
    assert Blocks.of(records, slots).comparisons(slots) < 1.4 * records
    assert Blocks.of(records, 1).size == 1
    assert Blocks.of(1, slots).size == 1
