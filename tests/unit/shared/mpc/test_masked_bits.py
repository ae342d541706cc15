"""Bits opened under a random mask: the numbers are right, and what was opened says nothing about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shared.mpc.bits import pack, packed_length, unpack
from shared.mpc.masked_bits import choices_from_terms, numbers_from_terms, random_words
from shared.mpc.program import Party, Program, Round
from shared.mpc.ring import U32, U64, Words
from shared.mpc.sharing import BinaryShare, Share
from tests.support.mpc import arithmetic, assert_cost, binary, run_and_open

RINGS = (U32, U64)


def own_part(bits: BinaryShare, rounds: int) -> Program[Words]:
    """XOR parts of the bits, after some rounds of silence."""
    for _ in range(rounds):
        yield Round()
    return bits.own.copy()


def numbers(party: Party, bits: BinaryShare, rounds: int, count: int, dtype: Any) -> Program[Share]:
    return numbers_from_terms(party, own_part(bits, rounds), count, dtype)


def choices(party: Party, bits: BinaryShare, rounds: int, differences: Share) -> Program[Any]:
    return choices_from_terms(party, own_part(bits, rounds), differences)


def some_bits(count: int) -> Words:
    return np.random.default_rng(4).integers(0, 2, count, dtype=np.uint8)


@pytest.mark.parametrize("dtype", RINGS)
@pytest.mark.parametrize("count", [0, 1, 64, 65])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_one_round_after_the_bits_they_are_numbers(dtype: Any, count: int, rounds: int) -> None:
    bits = some_bits(count)
    run = run_and_open(numbers, binary(pack(bits)), rounds, count, dtype)
    np.testing.assert_array_equal(run.value, bits)
    mask_bytes = 48 * packed_length(count)
    assert_cost(
        run, rounds=rounds + 1, elements=count, words_per_element=3, dtype=dtype, fixed_bytes=mask_bytes
    )


@pytest.mark.parametrize("dtype", RINGS)
@pytest.mark.parametrize("count", [0, 1, 65])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_products_come_in_the_same_round(dtype: Any, count: int, rounds: int) -> None:
    bits = some_bits(count)
    differences = np.random.default_rng(5).integers(0, 2**32, (2, count)).astype(dtype)
    run = run_and_open(choices, binary(pack(bits)), rounds, arithmetic(differences))
    np.testing.assert_array_equal(run.value[0], bits)
    np.testing.assert_array_equal(run.value[1], differences * bits.astype(dtype))
    mask_bytes = 48 * packed_length(count)
    assert_cost(
        run,
        rounds=max(3, rounds + 1),
        elements=count,
        words_per_element=9,
        dtype=dtype,
        fixed_bytes=mask_bytes,
    )


@pytest.mark.parametrize("bit", [0, 1])
def test_what_is_opened_is_uniform_whatever_the_bits(bit: int) -> None:
    """The parts that all send in the last round, and the masked bits they add up to."""
    count = 64 * 1000
    sent: list[Words] = []

    def tap(number: int, _: int, outgoing: Round) -> Round:
        if number == 2:
            sent.append(outgoing.to_next[0])
        return outgoing

    run = run_and_open(numbers, binary(pack(np.full(count, bit, np.uint8))), 2, count, U32, tap=tap)
    np.testing.assert_array_equal(run.value, np.full(count, bit))
    assert len(sent) == 3
    for words in (*sent, sent[0] ^ sent[1] ^ sent[2]):
        assert abs(unpack(words, count).mean() - 0.5) < 0.01


def test_random_words_are_shared_and_unknown_to_each_party() -> None:
    def program(party: Party) -> Program[BinaryShare]:
        yield from ()
        return random_words(party, 1000, U64)

    run = run_and_open(program)
    assert abs(np.unpackbits(run.value.view(np.uint8)).mean() - 0.5) < 0.01
    for result in run.run.results:
        assert not np.any((result.own ^ result.next) == run.value)
