"""Random bits that nobody knows, in both kinds of sharing, and what they are for: bits to numbers in one round.

A program that ends in XOR parts of a bit z opens z XOR r for a fresh random bit r instead of sharing z again. The
opened bit is uniform whatever z is, so it says nothing; z = c + r - 2 c r is then local. The arithmetic share of r
does not depend on data and travels in the rounds before. Nothing is opened here in the sense of
`shared.mpc.opening`: no party learns a value of the computation.

Source: RW19 in docs/sources.md, random bits shared in two ways (there called daBits).
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from shared.mpc.arithmetic import add_public, multiply
from shared.mpc.bits import packed_length, unpack, unpack_bits
from shared.mpc.conversion import bits_to_arithmetic
from shared.mpc.program import Party, Program, Round, Spec, together
from shared.mpc.ring import U64, Words
from shared.mpc.sharing import BinaryShare, Share

T = TypeVar("T")


def random_words(party: Party, shape: int | tuple[int, ...], dtype: DTypeLike) -> BinaryShare:
    """XOR shares of uniform words that no party knows; local. Part i comes from the stream of P_(i-1) and P_i."""
    return BinaryShare(party.prss.previous.words(shape, dtype), party.prss.next.words(shape, dtype))


def numbers_from_terms(party: Party, terms: Program[Words], count: int, dtype: DTypeLike) -> Program[Share]:
    """Numbers 0 and 1 from a program that ends in XOR parts of packed bits, one round after it has ended.

    Args: terms: returns this party's XOR part of `count` packed bits, shape (ceil(count / 64),), which is
        overwritten; it takes one round or more.
    Returns: share of the bits in the ring of dtype, shape (count,).
    Rounds: those of the program and 1. Sends: 3 words of dtype and 6 bits a bit (in whole 64-bit words), besides
        the program's. Leaks: nothing.
    """
    mask = random_words(party, packed_length(count), U64)
    masked, random = yield from _side_by_side(
        _masked(party, terms, mask), bits_to_arithmetic(party, unpack_bits(mask, count), dtype)
    )
    public = unpack(masked, count, dtype)
    return add_public(party, _flipped(random, public), public)


def choices_from_terms(
    party: Party, terms: Program[Words], differences: Share
) -> Program[tuple[Share, Share]]:
    """The bits z of such a program as numbers, and z * d for every row d of `differences`, in the same round.

    r * d is computed while the program runs, and z d = c d + (1 - 2 c) r d is local once c is known.
    Args: differences: shape (k, count), its dtype is the ring. terms: as above.
    Returns: shares of the bits, shape (count,), and of the products, shape (k, count).
    Rounds: those of the program and 1, at least 3. Sends: 3 (k + 1) words of dtype and 6 bits a bit, besides the
        program's. Leaks: nothing.
    """
    count, dtype = differences.shape[-1], differences.dtype
    mask = random_words(party, packed_length(count), U64)
    masked, (random, products) = yield from _side_by_side(
        _masked(party, terms, mask), _random_products(party, unpack_bits(mask, count), differences)
    )
    public = unpack(masked, count, dtype)
    bits = add_public(party, _flipped(random, public), public)
    return bits, _flipped(products, public) + differences.times(public)


def _masked(party: Party, terms: Program[Words], mask: BinaryShare) -> Program[Words]:
    parts = yield from terms
    parts ^= mask.own
    parts ^= party.prss.zero_xor(parts.shape, parts.dtype)
    spec = Spec.of(parts)
    received = yield Round(to_previous=(parts,), to_next=(parts,), from_previous=(spec,), from_next=(spec,))
    return np.asarray(parts ^ received.previous[0] ^ received.next[0])


def _random_products(party: Party, bits: BinaryShare, differences: Share) -> Program[tuple[Share, Share]]:
    random = yield from bits_to_arithmetic(party, bits, differences.dtype)
    return random, (yield from multiply(party, random, differences))


def _flipped(x: Share, public: Words) -> Share:
    """x (1 - 2 c) for public bits c."""
    return x.times(public.dtype.type(1) - (public << public.dtype.type(1)))


def _side_by_side(first: Program[Words], second: Program[T]) -> Program[tuple[Words, T]]:
    results = yield from together(cast("Program[Any]", first), cast("Program[Any]", second))
    return results[0], results[1]
