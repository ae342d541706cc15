"""Look-up of secret arguments in a public table: three rounds, about 28 sqrt(size) bytes an argument.

x = a + b with a known to P0 and b to P1 and P2 (`shared.mpc.halves`). Both are cut into a high and a low part, and P0
deals unit vectors e (at its high part) and f (at its low part). Since

    T[a + b] = sum_j f[j] Y[j],  Y[j] = sum_i e[i] T[i 2^l + j + b],

P1 and P2, who know b, form Y from their parts of e alone: one product with the table, laid out in rows of 2^l entries
that overlap by one row, so that the carry from the low part needs no attention. Y is shared again and multiplied by f.

Source: LDDA12 in docs/sources.md (tables by unit vectors of the halves of the argument).
Deviation: the unit vectors are dealt by the party that knows one half of the argument and turned by those that know the
other, so no bit of the argument is ever computed. `shared.mpc.sorted_lookup` serves very many arguments at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.arithmetic import reshare
from shared.mpc.halves import DEALER, deal_pair, from_pair, half_of
from shared.mpc.program import Party, Program
from shared.mpc.ring import U64, Words
from shared.mpc.sharing import Share, concatenate
from shared.mpc.sorted_lookup import entries_by_sorting

BLOCK_WORDS: Final = 2**18
"""Words of unit vectors handled at once, so that a block stays in the cache."""
PIECE_WORDS: Final = 2**22
"""Words of unit vectors held at once."""
MOST_BITS: Final = 20
"""Of the arguments of unit vectors; the rows of a larger table would take more than 32 MB."""

_SORTED_COST: Final = 8000
"""What an argument or an entry costs in a sort, in words multiplied (measured: about 7 us against 0.9 ns)."""
_SORT_START: Final = 10**7
"""The like for the rounds of a sort."""


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A public table, ready for look-ups.

    `values`: uint64. Seen by unit vectors it has 2^(high + low) entries, and `rows`, shape (2^high, 2^(low+1)): row i
    has the entries from i 2^low on. A unit vector of the high part costs 1 word an entry, one of the low part 3.
    """

    values: NDArray[np.uint64] = field(repr=False)
    high_bits: int
    low_bits: int
    rows: NDArray[np.uint64] = field(repr=False)

    @classmethod
    def of(cls, values: NDArray[np.uint64]) -> LookupTable:
        """Args: values: uint64, any length from 1; arguments of a look-up are below it."""
        bits = max(1, (len(values) - 1).bit_length())
        low = (bits - 1) // 2
        if bits > MOST_BITS:
            return cls(values, bits - low, low, np.empty((0, 0), U64))
        entries = np.zeros(2**bits, U64)
        entries[: len(values)] = values
        places = np.arange(2 ** (bits - low))[:, None] * 2**low + np.arange(2 ** (low + 1))
        return cls(values, bits - low, low, entries[places % len(entries)])

    @property
    def bits(self) -> int:
        """Bits of an argument that are looked at."""
        return self.high_bits + self.low_bits

    def is_sorted_for(self, arguments: int) -> bool:
        """Whether so many look-ups cost less by sorting."""
        by_sorting = _SORTED_COST * (arguments + len(self.values)) + _SORT_START
        return self.bits > MOST_BITS or arguments << (self.bits + 1) > by_sorting


def sums_of_entries(
    party: Party, table: LookupTable, arguments: Share, signs: Words, starts: Words
) -> Program[Share]:
    """For each group of arguments the sum of their signed entries, in the cheaper of the two ways.

    Args: arguments: shape (n,), any ring, 0 <= x < length of the table, read modulo 2^bits. signs: public uint64
        factors, shape (n,). starts: where each group begins, ascending from 0; no group is empty.
    Returns: uint64, one sum a group.
    Rounds: 3 for each `PIECE_WORDS` of unit vectors; by sorting as `sorted_lookup` says. Sends: 8 (2^high + 3 * 2^low)
        bytes an argument and 24 a group; by sorting as said there. Leaks: nothing.
    """
    if table.is_sorted_for(len(arguments)):
        entries = yield from entries_by_sorting(party, table.values, arguments)
        return entries.times(signs).map(lambda part: np.add.reduceat(part, starts))
    most = max(1, PIECE_WORDS // (2**table.high_bits + 2**table.low_bits))
    sums = []
    for first, end in _pieces(starts, len(arguments), most):
        piece = slice(starts[first], starts[end] if end < len(starts) else len(arguments))
        groups = starts[first:end] - starts[first]
        sums.append((yield from sums_by_unit_vectors(party, table, arguments[piece], signs[piece], groups)))
    return sums[0] if len(sums) == 1 else concatenate(sums)


def _pieces(starts: Words, count: int, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of groups of at most so many arguments, or of one group."""
    ends = np.append(starts[1:], count)
    first = 0
    while first < len(starts):
        end = max(first + 1, int(np.searchsorted(ends, starts[first] + most, side="right")))
        yield first, end
        first = end


def sums_by_unit_vectors(
    party: Party, table: LookupTable, arguments: Share, signs: Words, starts: Words
) -> Program[Share]:
    """`sums_of_entries` by the protocol above. Rounds: 3. Sends: as there. Leaks: nothing."""
    half = (half_of(party, arguments) & arguments.dtype.type(2**table.bits - 1)).astype(np.intp)
    high, low = half >> table.low_bits, half & (2**table.low_bits - 1)
    shape = (len(half), 2**table.high_bits + 2**table.low_bits)
    units: Words | None = None
    if party.index == DEALER:
        units = np.zeros(shape, U64)
        order = np.arange(len(half))
        units[order, high] = 1
        units[order, 2**table.high_bits + low] = 1
    dealt = yield from deal_pair(party, units, shape, U64)
    of_high, of_low = dealt[:, : 2**table.high_bits], dealt[:, 2**table.high_bits :]
    dealer = party.index == DEALER
    chosen = np.zeros(of_low.shape, U64) if dealer else _windows(table, of_high, high, low, signs)
    shared = yield from from_pair(party, chosen)
    products = _inner_products(party, of_low, units, shared)
    return (yield from reshare(party, np.add.reduceat(products, starts)))


def _windows(
    table: LookupTable, units: Words, high: NDArray[np.intp], low: NDArray[np.intp], signs: Words
) -> Words:
    """P1's or P2's part of Y times the signs, shape (n, 2^low); `high` and `low` are those of b."""
    size, width = 2**table.high_bits, 2**table.low_bits
    result = np.empty((len(units), width), U64)
    step = max(1, BLOCK_WORDS // size)
    turn, offsets = np.arange(size), np.arange(width)
    for start in range(0, len(units), step):
        block = slice(start, start + step)
        turned = np.take_along_axis(units[block], (turn - high[block, None]) & (size - 1), axis=1)
        rows = turned @ table.rows
        result[block] = np.take_along_axis(rows, low[block, None] + offsets, axis=1)
        result[block] *= signs[block, None]
    return result


def _inner_products(party: Party, dealt: Words, units: Words | None, y: Share) -> Words:
    """This party's additive part of sum_j f[j] Y[j], shape (n,); f has parts 0 and 1 only, its part 2 is zero."""
    if units is None:
        return np.asarray(np.einsum("ij,ij->i", dealt, y.own + y.next if party.index == 1 else y.own))
    other = units[:, -dealt.shape[1] :] - dealt
    products: Words = np.einsum("ij,ij->i", dealt, y.own + y.next)
    products += np.einsum("ij,ij->i", other, y.own)
    return products
