"""Stable sorting by secret keys, and stable partition by a secret bit.

Radix sort: for one digit after another, from the lowest, every element's new place is computed from shared counts
and then opened under a fresh shuffle (`shared.mpc.permutation`). Nothing is compared.

Source: Chida 2019 in docs/sources.md (radix sort on shares, section 5).
Deviation: digits of several bits, indicators straight from the halves of the key word instead of products of bits,
keys and columns move in every step instead of one permutation being composed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from shared.mpc.arithmetic import sum_of_products
from shared.mpc.halves import DEALER, deal_pair, from_pair, half_of
from shared.mpc.permutation import move_to
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, Words, bits_of
from shared.mpc.sharing import PARTIES, BinaryShare, Share
from shared.mpc.walking import Column

DIGIT_BITS: Final = 2
"""Two bits a step send least; three take fewer rounds and more bytes."""


def stable_sort(
    party: Party,
    keys: BinaryShare,
    width_bits: int,
    columns: Sequence[Column] = (),
    digit_bits: int = DIGIT_BITS,
) -> Program[tuple[BinaryShare, list[Any]]]:
    """Sort by the lower `width_bits` bits of the keys, ascending; equal keys keep their order.

    Several sorts share their rounds in `together`.
    Args: keys: words, 1-D. columns: 1-D, of the same length, moved along.
    Returns: the moved keys and columns.
    Rounds: 6 a digit; width_bits / 2 digits, rounded up. Sends: a digit and element: 64 bytes, and 4 words of the key
        and of each column (a digit of q bits: 28 + 12 * (2^q - 1) bytes instead of 64).
    Leaks: uniform positions, to parties 1 and 2.
    """
    if not 0 <= width_bits <= bits_of(keys.dtype):
        raise ValueError(f"keys of {keys.dtype} have no {width_bits} bits")
    moved: list[Any] = [keys, *columns]
    for lowest in range(0, width_bits, digit_bits):
        bits = min(digit_bits, width_bits - lowest)
        indicators = yield from digit_indicators(party, moved[0], lowest, bits)
        destination = yield from digit_destination(party, indicators)
        del indicators
        moved = yield from move_to(party, destination, moved)
    return moved[0], moved[1:]


def digit_indicators(party: Party, keys: BinaryShare, lowest: int, bits: int) -> Program[Share]:
    """For each value c = 1, 2, .. 2^bits - 1 of a digit of the keys: 1 where the digit has it.

    The digit is a XOR b with a known to P0 and b to P1 and P2. P0 deals its indicators [a = t]; b then only says
    which of them is [a XOR b = c].
    Args: lowest: position of the digit's lowest bit. bits: of the digit, 1 to 4.
    Returns: uint32, shape (2^bits - 1, n).
    Rounds: 2. Sends: 12 bytes an element and value. Leaks: nothing.
    """
    values = 1 << bits
    word = keys.dtype.type
    digits = (half_of(party, keys) >> word(lowest)) & word(values - 1)
    shape = (values - 1, len(keys))
    if party.index == DEALER:
        dealt = (digits == np.arange(1, values, dtype=keys.dtype)[:, None]).astype(U32)
        yield from deal_pair(party, dealt, shape, U32)
        return (yield from from_pair(party, dealt))
    parts = yield from deal_pair(party, None, shape, U32)
    table = np.empty((values, len(keys)), U32)
    table[1:] = parts
    np.negative(parts.sum(axis=0, dtype=U32), out=table[0])
    if party.index == 1:
        table[0] += np.uint32(1)
    for position in range(bits):
        _swap_where_bit(table, digits, position)
    return (yield from from_pair(party, table[1:]))


def _swap_where_bit(table: Words, digits: Words, position: int) -> None:
    """Exchange, in every column whose digit has this bit, the rows whose numbers differ in it."""
    mask = np.negative((digits >> digits.dtype.type(position)).astype(U32) & np.uint32(1))
    step = 1 << position
    rows = table.reshape(-1, 2, step, table.shape[1])
    low, high = rows[:, 0], rows[:, 1]
    difference = low ^ high
    difference &= mask
    low ^= difference
    high ^= difference


def digit_destination(party: Party, indicators: Share) -> Program[Share]:
    """Where each element goes in a stable sort by a digit given as indicators of its values but 0.

    place = sum over c of e_c (elements with a smaller digit + earlier ones with digit c), and e_0 is what the others
    leave: one inner product. Prefix counts are local.
    Args: indicators: uint32 of 0 and 1, shape (values - 1, n), at most one 1 a column.
    Returns: uint32, a permutation of 0..n-1.
    Rounds: 1. Sends: 12 bytes an element. Leaks: nothing.
    """
    own, zeros_own = _places(indicators.own, party.index == 0)
    following, zeros_next = _places(indicators.next, party.index == PARTIES - 1)
    places = Share(own, following)
    moved = yield from sum_of_products(party, [(indicators[c], places[c]) for c in range(len(indicators))])
    return moved + Share(zeros_own, zeros_next)


def _places(indicators: Words, holds_constants: bool) -> tuple[Words, Words]:
    """Of one part: the place that an element would have with digit c, less the one with digit 0, and the latter.

    An element of digit c is counted in its own running sum, hence the - 1.
    """
    size = indicators.shape[1]
    zeros = np.arange(size, dtype=U32) if holds_constants else np.zeros(size, U32)
    places = np.empty_like(indicators)
    for indicator, running in zip(indicators, places, strict=True):
        np.cumsum(indicator, dtype=U32, out=running)
        zeros += indicator
        zeros -= running
    totals = places[:, -1].copy()
    smaller = np.cumsum(totals, dtype=U32) - totals - totals.sum(dtype=U32)
    smaller += np.uint32(size - 1 if holds_constants else 0)
    places -= zeros
    places += smaller[:, None]
    return places, zeros


def partition_destination(party: Party, bit: Share) -> Program[Share]:
    """Where each element goes if those with bit 0 come first, both kinds in their order.

    Args: bit: uint32 of 0 and 1, 1-D. Returns: uint32, a permutation of 0..n-1.
    Rounds: 1. Sends: 12 bytes an element. Leaks: nothing.
    """
    return (yield from digit_destination(party, bit.reshape(1, len(bit))))
