"""The least work of the engine's primitives: what cannot be left out of them as they are, for all three parties.

`Work` counts bytes and elements, not seconds; `bench.mpc_rates` measures what each of them takes on this machine. The
formulas are those of the primitives' docstrings and of their modules' texts: words sent, two words drawn from key
streams for each word sent, permutations drawn, elements taken at random places, running sums, and passes over arrays
for every operation that a formula names. Conversions between numpy types, copies, indices, calls of Python and
frames are not in it. That the bytes sent are exactly those of a real run is a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

from shared.mpc.digits import digits_for

WORD: Final = 4
"""Bytes of an element of Z_2^32."""
WIDE: Final = 8
"""Bytes of an element of Z_2^64."""
PACKED: Final = 1 / 8
"""Bytes of a bit in packed words."""


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes sent, drawn from key streams, written in passes and in running sums; elements permuted and moved."""

    sent: float = 0
    drawn: float = 0
    passed: float = 0
    summed: float = 0
    permuted: float = 0
    moved: float = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(x + y for x, y in zip(astuple(self), astuple(other), strict=True)))

    def times(self, factor: float) -> Work:
        """So many times."""
        return Work(*(x * factor for x in astuple(self)))


def total(parts: Sequence[Work]) -> Work:
    """The sum."""
    return sum(parts, Work())


def reshared(elements: float, word: float) -> Work:
    """Three additive parts to a replicated share: a sharing of zero is formed and added."""
    size = elements * word
    return Work(sent=3 * size, drawn=6 * size, passed=6 * size)


def products(elements: float, word: float, terms: int = 1) -> Work:
    """Sums of so many products (or ANDs) a result: `x_i (y_i + y_(i+1)) + x_(i+1) y_i`, then shared again."""
    return reshared(elements, word) + Work(passed=3 * (5 * terms - 1) * elements * word)


def dealt(elements: float, word: float) -> Work:
    """P0 gives P1 and P2 two parts."""
    size = elements * word
    return Work(sent=size, drawn=2 * size, passed=size)


def from_two(elements: float, word: float) -> Work:
    """Two parts back to a replicated share."""
    size = elements * word
    return Work(sent=2 * size, drawn=4 * size, passed=4 * size)


def bits_to_numbers(elements: float, word: float = WORD) -> Work:
    """`bits_to_arithmetic`: the halves, b + a (1 - 2 b) at P1 and P2."""
    return dealt(elements, word) + from_two(elements, word) + Work(passed=10 * elements * word)


def _half_walk(elements: float, word: float) -> Work:
    size = elements * word
    return Work(sent=2 * size, drawn=4 * size, passed=5 * size, moved=4 * elements)


def walk(elements: float, word: float) -> Work:
    """A column past all three parties, once along a route or against it."""
    return _half_walk(elements, word) + Work(moved=2 * elements) + from_two(elements, word)


def route(elements: float, words: Sequence[float] = ()) -> Work:
    """`lay_route` with columns of these words: two permutations, which P0 draws both, and the opened places."""
    opened = Work(sent=8 * elements, passed=8 * elements, moved=2 * elements)
    laid = Work(permuted=4 * elements) + _half_walk(elements, WORD) + opened
    return laid + total([walk(elements, word) for word in words])


def gathered(elements: float, word: float) -> Work:
    """`gather` of one column."""
    return route(elements) + walk(elements, word)


def digit_step(elements: float, bits: int, words: Sequence[float]) -> Work:
    """One digit of the radix sort: indicators, destinations, and the move of the key and all columns."""
    values = (1 << bits) - 1
    size = elements * WORD
    turning = 2 * (2 * values + 2 * bits * (values + 1)) * size
    indicators = dealt(values * elements, WORD) + from_two(values * elements, WORD)
    places = Work(summed=6 * values * size, passed=24 * values * size + 6 * size)
    return (
        indicators
        + Work(passed=values * size + turning)
        + places
        + products(elements, WORD, values)
        + route(elements, words)
    )


def sort(elements: float, width_bits: int, digit_bits: int, words: Sequence[float]) -> Work:
    """`stable_sort`. Args: words: of the key and of all columns."""
    widths = [min(digit_bits, width_bits - low) for low in range(0, width_bits, digit_bits)]
    return total([digit_step(elements, bits, words) for bits in widths])


def sign_terms(elements: float, width_bits: int) -> Work:
    """Comparison up to the XOR parts of a bit: tables of digits, and the tree of carries."""
    digits = digits_for(width_bits)
    words = digits.count * elements
    tables = dealt(words, digits.word.itemsize) + Work(passed=32 * words * digits.word.itemsize)
    if digits.count == 1:
        return tables
    planes = from_two((2 * digits.count - 1) * elements, PACKED)
    return tables + planes + products(carry_gates(digits.count) * elements, PACKED)


def carry_gates(count: int) -> int:
    """ANDs that `top_carry_terms` sends for a chain of so many digits."""
    gates = 0
    while count > 2:
        gates += 2 * (count // 2) - 1
        count -= count // 2
    return gates


def chosen(elements: float, word: float, fields: int) -> Work:
    """`choices_from_terms` after its terms: a masked bit opened, its number, and a product a field."""
    opened = Work(sent=6 * elements * PACKED)
    local = Work(passed=3 * (6 + 6 * fields) * elements * word)
    return opened + bits_to_numbers(elements, word) + products(fields * elements, word) + local


def less_words(elements: float, width_bits: int) -> Work:
    """`less_than_words`: planes of bits, borrows, and the tree of carries."""
    planes = Work(passed=12 * width_bits * elements)
    return planes + products((width_bits + carry_gates(width_bits) + 1) * elements, PACKED)


def equal_words(elements: float, width_bits: int) -> Work:
    """`equal_words`."""
    planes = Work(passed=6 * width_bits * elements)
    return planes + products((max(1, width_bits - 1)) * elements, PACKED)


def widened(elements: float) -> Work:
    """`widen`."""
    carries = dealt(2 * elements, WORD) + from_two(elements, WORD)
    return carries + Work(passed=14 * elements * WORD + 18 * elements * WIDE)


def half_products(elements: float, word: float, terms: int) -> Work:
    """`halves_of_products`."""
    size = elements * word
    return Work(sent=2 * size, drawn=6 * size, passed=3 * (5 * terms + 1) * size)


def turned(shifts: float, size: float, length: float) -> Work:
    """`rotated_tables` of words of 32 bits."""
    drawn = 2 * size + 4 * length
    passes = 2 * size + 2 * length + 4 * length
    return Work(sent=size + 2 * length, drawn=drawn, passed=passes).times(shifts * WORD)
