"""Values in two halves: what P0 knows and what P1 and P2 know, dealing and sharing again, and what is seen of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from shared.mpc.halves import (
    deal_pair,
    deal_pair_binary,
    from_pair,
    from_pair_binary,
    half_of,
    halves_of_products,
)
from shared.mpc.local import run_local
from shared.mpc.program import Party, Program, Round
from shared.mpc.ring import U8, U32, U64, Words
from shared.mpc.sharing import Share
from tests.support.mpc import (
    arithmetic,
    assert_cost,
    binary,
    ring_arrays,
    run_and_open,
    seeded_random_bytes,
)


@given(values=ring_arrays(U64))
def test_every_share_is_in_halves(values: Words) -> None:
    parties = run_local(_party_itself, seeded_random_bytes()).results
    first, second, again = (half_of(party, x) for party, x in zip(parties, arithmetic(values), strict=True))
    np.testing.assert_array_equal(first + second, values)
    np.testing.assert_array_equal(second, again)
    first, second, again = (half_of(party, x) for party, x in zip(parties, binary(values), strict=True))
    np.testing.assert_array_equal(first ^ second, values)
    np.testing.assert_array_equal(second, again)


def _party_itself(party: Party) -> Program[Party]:
    yield from ()
    return party


@pytest.mark.parametrize("dtype", [U32, U64])
@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (2, 3)])
def test_what_p0_deals_is_shared_again(dtype: Any, shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape) - dtype.type(2)

    def numbers(party: Party) -> Program[Share]:
        mine = values.copy() if party.index == 0 else None
        part = yield from deal_pair(party, mine, shape, dtype)
        return (yield from from_pair(party, part))

    run = run_and_open(numbers)
    np.testing.assert_array_equal(run.value, values)
    assert_cost(run, rounds=2, elements=values.size, words_per_element=3, dtype=dtype)

    def words(party: Party) -> Program[Any]:
        mine = values.copy() if party.index == 0 else None
        part = yield from deal_pair_binary(party, mine, shape, dtype)
        return (yield from from_pair_binary(party, part))

    run = run_and_open(words)
    np.testing.assert_array_equal(run.value, values)
    assert_cost(run, rounds=2, elements=values.size, words_per_element=3, dtype=dtype)


@given(values=ring_arrays(U32))
def test_a_sum_of_products_in_halves_costs_two_words(values: Words) -> None:
    def program(party: Party, x: Share) -> Program[Share]:
        half = yield from halves_of_products(party, [(x, x), (x, -x), (x, x)])
        # P1 and P2 know the same half: P2's counts as a part of nothing.
        zero = np.zeros_like(half)
        given = yield from deal_pair(party, half.copy() if party.index == 0 else None, half.shape, U32)
        return (yield from from_pair(party, given + (half if party.index == 1 else zero)))

    run = run_and_open(program, arithmetic(values))
    np.testing.assert_array_equal(run.value, values * values)
    assert_cost(run, rounds=3, elements=len(values), words_per_element=2 + 3)


def test_what_is_sent_is_uniform_whatever_the_value() -> None:
    """All messages of dealing zeros and sharing them again: each bit is set about half of the time."""
    shape = (20000,)
    sent: list[Words] = []

    def tap(_: int, __: int, outgoing: Round) -> Round:
        sent.extend((*outgoing.to_previous, *outgoing.to_next))
        return outgoing

    def program(party: Party) -> Program[Any]:
        mine = np.zeros(shape, U8) if party.index == 0 else None
        part = yield from deal_pair_binary(party, mine, shape, U8)
        return (yield from from_pair_binary(party, part))

    run_and_open(program, tap=tap)
    assert len(sent) == 3
    for words in sent:
        assert abs(np.unpackbits(words).mean() - 0.5) < 0.01
