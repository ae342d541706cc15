"""Additions of a number of P0 and a number of P1 and P2, digit by digit, by tables: the start of every comparison.

x = a + b with a known to P0 and b to P1 and P2 (`shared.mpc.halves`). A digit of q bits has 2^q possible b; P0 deals a
word with one bit for each of them, P1 and P2 look at the bit of their b. Two digits of four bits cost what a bitwise
AND of the same eight bits costs and save two levels of the carry tree.

Of the top digit the table says U(b) = top bit of a + b, of the lower ones U(b) = whether a + b carries. In both
cases U(b + 1) XOR U(b) tells whether a carry that comes in turns the result, where U(2^q) stands for NOT U(0) in the
lower digits and for U(0) in the top one. So one word a digit serves both.

Deviation: MR18 (docs/sources.md, share conversion) adds three numbers bit by bit; here it is two, and digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from shared.mpc.bits import pack, packed_length
from shared.mpc.halves import DEALER, deal_pair_binary
from shared.mpc.program import Party, Program
from shared.mpc.ring import U64, Words, bits_of, word_of_width

BLOCK: Final = 2**14
"""Elements handled at once, so that the tables of a block stay in the cache; a multiple of 64."""
_DIGIT_BITS: Final = (4, 5, 6)


@dataclass(frozen=True, slots=True)
class Digits:
    """How numbers of a width are cut: `count` digits of `bits` bits, filled from the top, tables of `word` type."""

    width_bits: int
    bits: int
    count: int
    word: np.dtype[Any]

    @property
    def levels(self) -> int:
        """Depth of a tree over the digits."""
        return (self.count - 1).bit_length()

    @property
    def padding(self) -> int:
        """Zero bits below the lowest bit of the number."""
        return self.bits * self.count - self.width_bits

    def of(self, numbers: Words) -> Words:
        """The digits of plain numbers. Args: numbers: (n,) uint32 or uint64. Returns: (count, n), lowest first."""
        if self.width_bits > bits_of(numbers.dtype):
            raise ValueError(f"{self.width_bits} bits were asked of words of {numbers.dtype}")
        if self.bits == 4 and self.padding == 0 and self.width_bits == bits_of(numbers.dtype):
            lanes = np.ascontiguousarray(numbers).view(np.uint16).reshape(-1, numbers.itemsize // 2)
            lanes = np.ascontiguousarray(lanes.T)
            digits = lanes[:, None, :] >> _NIBBLES
            digits &= np.uint16(15)
            return np.asarray(digits.reshape(self.count, len(numbers)))
        kind = numbers.dtype.type
        shifts = (np.arange(self.count) * self.bits).astype(numbers.dtype)
        digits = (numbers << kind(self.padding)) >> shifts[:, None]
        digits &= kind(2**self.bits - 1)
        return np.asarray(digits.astype(self.word))


_NIBBLES: Final = np.array([0, 4, 8, 12], np.uint16)[:, None]


@lru_cache(maxsize=64)
def digits_for(width_bits: int) -> Digits:
    """The shortest digits of four to six bits with the flattest tree for numbers of this width (1 to 64 bits)."""
    if not 1 <= width_bits <= 64:
        raise ValueError(f"numbers have 1 to 64 bits here, not {width_bits}")
    choices = [Digits(width_bits, q, -(-width_bits // q), word_of_width(2**q)) for q in _DIGIT_BITS]
    return min(choices, key=lambda digits: (digits.levels, digits.bits))


def top_bit_parts(party: Party, half: Words, digits: Digits) -> Program[Words]:
    """For each digit of a number x in halves: the carry it makes, and whether a carry that comes in turns that.

    For the top digit: the top bit of x as far as the top digit makes it, and whether a carry into it turns it.
    Args: half: this party's half of x, shape (n,); x is read modulo 2^width_bits.
    Returns: P1's or P2's XOR part, zeros at P0; packed bits, shape (2 digits - 1, ceil(n / 64)): first the carries of
        all digits, lowest first, then the turning bits of all but the lowest.
    Rounds: 1. Sends: one table word a digit. Leaks: nothing.
    """
    if party.index == DEALER:
        tables = np.empty((digits.count, len(half)), digits.word)
        for block in _blocks(len(half)):
            _fill_carry_tables(digits.of(half[block]), tables[:, block])
        yield from deal_pair_binary(party, tables, tables.shape, digits.word)
        return np.zeros((2 * digits.count - 1, packed_length(len(half))), U64)
    tables = yield from deal_pair_binary(party, None, (digits.count, len(half)), digits.word)
    turned = np.zeros((digits.count, 1), digits.word)
    if party.index == 1:
        turned[:-1] = 1 << (2**digits.bits - 1)
    found = np.zeros((2 * digits.count - 1, packed_length(len(half))), U64)
    one = digits.word.type(1)
    for block in _blocks(len(half)):
        place = one << digits.of(half[block])
        table = tables[:, block]
        _store(found[: digits.count], block, (table & place) != 0)
        if digits.count > 1:
            neighbours = table[1:] ^ _rotated_right(table[1:], one)
            neighbours ^= turned[1:]
            neighbours &= place[1:]
            _store(found[digits.count :], block, neighbours != 0)
    return found


def zero_parts(party: Party, half: Words, digits: Digits) -> Program[Words]:
    """For each digit, whether the halves of a number x agree there to make zero; all of them: x = 0 mod 2^width_bits.

    Args: half: this party's half of x, shape (n,).
    Returns: P1's or P2's XOR part, zeros at P0; packed bits, shape (count, ceil(n / 64)).
    Rounds: 1. Sends: one table word a digit. Leaks: nothing.
    """
    one = digits.word.type(1)
    if party.index == DEALER:
        tables = one << digits.of(half)
        yield from deal_pair_binary(party, tables, tables.shape, digits.word)
        return np.zeros((digits.count, packed_length(len(half))), U64)
    tables = yield from deal_pair_binary(party, None, (digits.count, len(half)), digits.word)
    found = np.zeros((digits.count, packed_length(len(half))), U64)
    for block in _blocks(len(half)):
        place = one << digits.of(np.negative(half[block]))
        _store(found, block, (tables[:, block] & place) != 0)
    return found


def bit_parts(party: Party, half: Words, digits: Digits) -> Program[Words]:
    """For each digit: the bits and the carry it makes by itself, and which of them a carry that comes in turns.

    Args: half: this party's half of x, shape (n,).
    Returns: P1's or P2's XOR part, zeros at P0; packed bits, shape (2, digits, bits + 1, ceil(n / 64)): [0] bits of
        the digit, lowest first, and its carry; [1] whether a carry into the digit turns each of them.
    Rounds: 1. Sends: bits + 1 table words a digit. Leaks: nothing.
    """
    shape = (digits.count, digits.bits + 1, len(half))
    found = np.zeros((2, digits.count, digits.bits + 1, packed_length(len(half))), U64)
    if party.index == DEALER:
        tables = np.empty(shape, digits.word)
        _fill_bit_tables(digits.of(half), tables)
        yield from deal_pair_binary(party, tables, shape, digits.word)
        return found
    tables = yield from deal_pair_binary(party, None, shape, digits.word)
    one = digits.word.type(1)
    places = (one << digits.of(half))[:, None, :]
    neighbours = tables ^ _rotated_right(tables, one)
    if party.index == 1:
        neighbours[:, -1] ^= digits.word.type(1 << (2**digits.bits - 1))
    found[0] = pack((tables & places) != 0)
    found[1] = pack((neighbours & places) != 0)
    return found


def _fill_bit_tables(digits: Words, tables: Words) -> None:
    """The words of every digit a, shape (digits, bits + 1, n): bit b of word k is bit k of a + b, or its carry."""
    word = tables.dtype.type
    size = bits_of(tables.dtype)
    for place in range(tables.shape[1] - 1):
        pattern = sum(1 << b for b in range(size) if b >> place & 1)
        tables[:, place] = _rotated_right(word(pattern), digits)
    np.invert(word(2**size - 1) >> digits, out=tables[:, -1])


def _fill_carry_tables(digits: Words, tables: Words) -> None:
    """The word U of every digit; bit b is U(b)."""
    word = tables.dtype.type
    size = bits_of(tables.dtype)
    ones = word(2**size - 1)
    np.invert(ones >> digits[:-1], out=tables[:-1])
    tables[-1] = _rotated_right(word(2**size - 2 ** (size // 2)), digits[-1])


def _rotated_right(words: Any, places: Any) -> Words:
    size = bits_of(words.dtype)
    back = (words.dtype.type(size) - places) & words.dtype.type(size - 1)
    return np.asarray((words >> places) | (words << back))


def _store(target: Words, block: slice, bits: Words) -> None:
    """Bits of a block, shape (rows, block), to their place in packed rows."""
    octets = np.packbits(bits, axis=-1, bitorder="little")
    start = block.start // 8
    target.view(np.uint8)[:, start : start + octets.shape[1]] = octets


def _blocks(count: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
