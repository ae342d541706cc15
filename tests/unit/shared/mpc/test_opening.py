"""Openings: all parties see the value; who is told two stories ends the job before anything else is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from shared.errors import JobCode, JobFailure
from shared.mpc.arithmetic import multiply
from shared.mpc.opening import open_binary, open_share
from shared.mpc.program import Party, Program, Round
from shared.mpc.ring import U16, U32, U64, Words
from shared.mpc.sharing import Share
from tests.support.mpc import arithmetic, assert_cost, binary, ring_arrays, run_and_open


@given(values=ring_arrays(U64))
def test_everybody_sees_the_numbers(values: Words) -> None:
    run = run_and_open(open_share, arithmetic(values))
    np.testing.assert_array_equal(run.value, values)
    assert_cost(run, rounds=1, elements=len(values), words_per_element=3, dtype=U64, fixed_bytes=96)


@given(values=ring_arrays(U16))
def test_everybody_sees_the_bits(values: Words) -> None:
    run = run_and_open(open_binary, binary(values))
    np.testing.assert_array_equal(run.value, values)
    assert_cost(run, rounds=1, elements=len(values), words_per_element=3, dtype=U16, fixed_bytes=96)


def flip_one_bit(arrays: tuple[Words, ...]) -> tuple[Words, ...]:
    changed = arrays[0].copy()
    changed[0] ^= changed.dtype.type(1)
    return (changed, *arrays[1:])


CHEATS: dict[str, Callable[[Round], Round]] = {
    "a wrong part": lambda sent: replace(sent, to_next=flip_one_bit(sent.to_next)),
    "a wrong hash": lambda sent: replace(sent, to_previous=flip_one_bit(sent.to_previous)),
}


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("cheater", range(3))
@pytest.mark.parametrize("open_it", [open_share, open_binary])
def test_a_party_that_tells_two_stories_ends_the_job(cheat: str, cheater: int, open_it: Any) -> None:
    """The honest one that was lied to stops before the round after the opening is sent."""
    rounds_seen: list[int] = []

    def tap(round_number: int, party: int, sent: Round) -> Round:
        rounds_seen.append(round_number)
        return CHEATS[cheat](sent) if (round_number, party) == (0, cheater) else sent

    def program(party: Party, x: Any) -> Program[Words]:
        value = yield from open_it(party, x)
        yield Round()
        return np.asarray(value)

    share = arithmetic if open_it is open_share else binary
    with pytest.raises(JobFailure) as failure:
        run_and_open(program, share(np.array([3, 4], U32)), tap=tap)
    assert failure.value.code is JobCode.SHARE_INCONSISTENT
    assert set(rounds_seen) == {0}


def test_a_cheat_in_a_product_is_found_when_it_is_opened() -> None:
    """P1 passes a wrong part of a product on: its neighbour's copy no longer fits P1's own."""

    def tap(round_number: int, party: int, sent: Round) -> Round:
        if (round_number, party) == (0, 1):
            return replace(sent, to_previous=flip_one_bit(sent.to_previous))
        return sent

    def program(party: Party, x: Share, y: Share) -> Program[Words]:
        product = yield from multiply(party, x, y)
        return (yield from open_share(party, product))

    with pytest.raises(JobFailure) as failure:
        run_and_open(program, arithmetic([6], U64), arithmetic([7], U64), tap=tap)
    assert failure.value.code is JobCode.SHARE_INCONSISTENT


def test_the_failure_names_the_party_and_no_value() -> None:
    def tap(_: int, party: int, sent: Round) -> Round:
        return CHEATS["a wrong part"](sent) if party == 0 else sent

    with pytest.raises(JobFailure, match="party 1: what the two other parties sent") as failure:
        run_and_open(open_share, arithmetic([123456789], U64), tap=tap)
    assert "123456789" not in str(failure.value)
