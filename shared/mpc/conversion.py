"""From one kind of sharing to another: bits to numbers, numbers to bits, 32-bit numbers to 64-bit ones.

Everything here rests on the two halves of a value (`shared.mpc.halves`): one addition of two numbers instead of one
of three, and products of a bit of P0 with a bit of P1 and P2 without a multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shared.mpc.arithmetic import add_public, conjunction_terms, reshare_binary
from shared.mpc.bits import words_of
from shared.mpc.digits import bit_parts, digits_for, top_bit_parts
from shared.mpc.gates import top_carry_terms
from shared.mpc.halves import DEALER, deal_pair, from_pair, from_pair_binary, half_of
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, U64, Words, bits_of, word_of_width
from shared.mpc.sharing import BinaryShare, Share


def bits_to_arithmetic(party: Party, bits: BinaryShare, dtype: DTypeLike = U32) -> Program[Share]:
    """XOR-shared 0/1 words of any type and shape to numbers 0 and 1 of a ring.

    The first half a is P0's, the second b is known to P1 and P2: a XOR b = b + a (1 - 2 b), local in parts of a.
    Source: MR18 in docs/sources.md, bits to numbers by products of one party's value with a bit two parties know.
    Args: bits: words 0 or 1, whose parts may be any words: only their lowest bits count. dtype: uint32 or uint64.
    Rounds: 2. Sends: 3 words of dtype a bit. Leaks: nothing.
    """
    half = (half_of(party, bits) & bits.dtype.type(1)).astype(dtype)
    if party.index == DEALER:
        return (yield from from_pair(party, (yield from deal_pair(party, half, half.shape, dtype))))
    part = yield from deal_pair(party, None, half.shape, dtype)
    part *= _turning(half)
    if party.index == 1:
        part += half
    return (yield from from_pair(party, part))


def binary_to_arithmetic(
    party: Party, words: BinaryShare, width_bits: int, dtype: DTypeLike = U32
) -> Program[Share]:
    """XOR-shared words below 2^width_bits to numbers of a ring, of the same value.

    As `bits_to_arithmetic` for every bit, joined before the last round.
    Args: words: shape (n,). dtype: uint32 or uint64, of at least width_bits.
    Rounds: 2. Sends: width_bits + 2 words of dtype an element. Leaks: nothing.
    """
    kind = np.dtype(dtype).type
    places = np.arange(width_bits).astype(dtype)[:, None]
    half = half_of(party, words).astype(dtype)
    bits = (half >> places) & kind(1)
    if party.index == DEALER:
        yield from deal_pair(party, bits, bits.shape, dtype)
        return (yield from from_pair(party, half))
    parts = yield from deal_pair(party, None, bits.shape, dtype)
    parts *= _turning(bits)
    parts <<= places
    part = parts.sum(axis=0, dtype=dtype)
    if party.index == 1:
        part += half & kind(2**width_bits - 1)
    return (yield from from_pair(party, part))


def _turning(bits: Words) -> Words:
    """1 - 2 b."""
    one = bits.dtype.type(1)
    return np.asarray(one - (bits << one))


def widen(party: Party, x: Share, lowest: int = 0) -> Program[Share]:
    """The same numbers in Z_2^64.

    The three parts sum to x + 2^32 k as integers, so the parts of x minus 2^32 times a share of k are the result. P0
    knows the carry of x_0 + x_1; with msb(x) = 0, the second addition carries iff one of its operands has its top bit.
    Source: Ents 2024 in docs/sources.md, conversion of a positive number to a larger ring at constant cost.
    Deviation: only the count of carries is shared again, in Z_2^32.
    Args: x: uint32, any shape, lowest <= x < lowest + 2^31 as signed numbers.
    Rounds: 2. Sends: 16 bytes an element. Leaks: nothing.
    """
    moved = add_public(party, x, -lowest) if lowest else x
    half = half_of(party, moved)
    top = half >> np.uint32(31)
    shape = (2, *x.shape)
    if party.index == DEALER:
        dealt = np.empty(shape, U32)
        dealt[0] = half < moved.own
        dealt[0] += top
        dealt[1] = top
        yield from deal_pair(party, dealt, shape, U32)
        carries = yield from from_pair(party, top)
    else:
        parts = yield from deal_pair(party, None, shape, U32)
        part = parts[0] - parts[1] * top
        if party.index == 1:
            part += top
        carries = yield from from_pair(party, part)
    wide = Share(_wide_part(moved.own, carries.own), _wide_part(moved.next, carries.next))
    return add_public(party, wide, lowest) if lowest else wide


def _wide_part(part: Words, carries: Words) -> Words:
    wide = part.astype(U64)
    wide -= carries.astype(U64) << np.uint64(32)
    return wide


def sign_bits(party: Party, x: Share, width_bits: int | None = None) -> Program[BinaryShare]:
    """Bit `width_bits` - 1 of every element (by default the top bit of the ring: 1 for negative numbers).

    Args: x: shape (n,).
    Returns: packed bits, shape (ceil(n / 64),).
    Rounds: 6 for 64 bits, 5 for 32; less for less (`shared.mpc.comparison`). Sends: 49.5 bytes an element for 64 bits,
        23.875 for 32. Leaks: nothing.
    """
    return (yield from reshare_binary(party, (yield from sign_terms(party, half_of(party, x), width_bits))))


def sign_terms(party: Party, half: Words, width_bits: int | None = None) -> Program[Words]:
    """The XOR part of `sign_bits` that this party would share again.

    Args: half: this party's half of x, shape (n,). Rounds: one less than `sign_bits`.
    """
    digits = digits_for(width_bits or bits_of(half.dtype))
    parts = yield from top_bit_parts(party, half, digits)
    if digits.count == 1:
        return np.asarray(parts[0])
    planes = yield from from_pair_binary(party, parts)
    return (yield from top_carry_terms(party, planes[: digits.count], planes[digits.count :]))


def to_words(party: Party, x: Share, width_bits: int) -> Program[BinaryShare]:
    """`to_binary`, with one word an element, of the smallest type that holds width_bits. Args: x: shape (n,)."""
    planes = yield from to_binary(party, x, width_bits)
    return words_of(planes, len(x), word_of_width(width_bits))


def to_binary(party: Party, x: Share, width_bits: int) -> Program[BinaryShare]:
    """The low bits of every element, bit by bit (bit decomposition).

    Digits know their bits and carries up to a carry that comes in; a Sklansky tree over the digits brings it.
    Source: MR18 in docs/sources.md, share conversion by parallel prefix adders.
    Args: x: shape (n,), uint32 or uint64; width_bits: 1 to the ring's bits.
    Returns: packed bits, shape (width_bits, ceil(n / 64)), lowest bit first.
    Rounds: 2 up to 6 bits, 3 up to 12, 4 up to 24, 5 up to 48, 6 up to 64. Sends: by width and element, 25 bytes for
        8 bits, 128 for 32. Leaks: nothing.
    """
    digits = digits_for(width_bits)
    parts = yield from bit_parts(party, half_of(party, x), digits)
    tree = _prefix_tree(width_bits)
    flat = parts.reshape(2, digits.count * (digits.bits + 1), parts.shape[-1])
    chosen = np.concatenate([flat[0, tree.rows], flat[1, tree.rows[tree.first :]]])
    shared = yield from from_pair_binary(party, chosen)
    made, turns = shared[: len(tree.rows)], shared[len(tree.rows) :]
    for level in tree.levels:
        made, turns = yield from _carried_in(party, made, turns, tree.first, level)
    return made[tree.bits]


@dataclass(frozen=True, slots=True)
class _Level:
    """Rows that take a carry in, the rows of those carries; and the like among those whose carry may itself turn."""

    upper: NDArray[np.intp]
    lower: NDArray[np.intp]
    upper_turning: NDArray[np.intp]
    lower_turning: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _PrefixTree:
    """Which rows of `bit_parts` are needed, where the second digit begins, which of them are bits; the levels."""

    rows: NDArray[np.intp]
    first: int
    bits: NDArray[np.intp]
    levels: tuple[_Level, ...]


@lru_cache(maxsize=64)
def _prefix_tree(width_bits: int) -> _PrefixTree:
    digits = digits_for(width_bits)
    stride = digits.bits + 1
    rows = np.arange(digits.count * stride)
    digit, place = rows // stride, rows % stride
    is_bit = (place < digits.bits) & ((digit > 0) | (place >= digits.padding))
    is_carry = (place == digits.bits) & (digit < digits.count - 1)
    needed = is_bit | is_carry
    rows, digit, is_bit, is_carry = rows[needed], digit[needed], is_bit[needed], is_carry[needed]
    carry_of = np.flatnonzero(is_carry)
    levels = []
    for level in range(digits.levels):
        upper = np.flatnonzero(digit >> level & 1)
        lower = carry_of[(digit[upper] >> level << level) - 1]
        turning = digit[upper] >> (level + 1) > 0
        levels.append(_Level(upper, lower, upper[turning], lower[turning]))
    return _PrefixTree(rows, int(np.sum(digit == 0)), np.flatnonzero(is_bit), tuple(levels))


def _carried_in(
    party: Party, made: BinaryShare, turns: BinaryShare, first: int, level: _Level
) -> Program[tuple[BinaryShare, BinaryShare]]:
    """One level of the tree: blocks of digits learn the carry of the block below."""
    terms = np.concatenate(
        [
            conjunction_terms(turns[level.upper - first], made[level.lower]),
            conjunction_terms(turns[level.upper_turning - first], turns[level.lower_turning - first]),
        ]
    )
    joined = yield from reshare_binary(party, terms)
    count = len(level.upper)
    made, turns = made.map(np.copy), turns.map(np.copy)
    for rows, part, new in ((made.own, joined.own, turns.own), (made.next, joined.next, turns.next)):
        rows[level.upper] ^= part[:count]
        new[level.upper_turning - first] = part[count:]
    return made, turns
