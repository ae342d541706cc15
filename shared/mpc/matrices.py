"""Products of secret matrices whose results are small: sums of many products modulo 2^k, by floating-point units.

A count of at most N records is known by its residue modulo 2^k, k = bits of N + 1. Residues below 2^k, read as
signed numbers, multiply and add up exactly in a double as long as no sum reaches 2^53, so BLAS does the work of this
exact integer arithmetic; sums are reduced before they can reach it. Nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from shared.mpc.arithmetic import product_terms, reshare
from shared.mpc.halves import DEALER, deal_pair, half_of
from shared.mpc.program import Party, Program, pass_to_previous
from shared.mpc.ring import U32, Words, bits_of
from shared.mpc.sharing import PARTIES, Share

MOST_BITS: Final = 26
"""Residues of more bits would leave no room to add two products in a double."""
_EXACT_BITS: Final = 53
_BLOCK_COLUMNS: Final = 2**12
_BLOCK_WORDS: Final = 2**17
"""Blocks that stay in the cache: fresh large arrays cost more in page faults than the arithmetic on them."""


@dataclass(frozen=True, slots=True)
class SecretMatrix:
    """A shared matrix, shape (rows, n), ready to be multiplied from the left many times.

    `sums`, `owns`: this party's parts i plus i + 1, and part i, as signed residues modulo 2^bits (int32).
    """

    sums: NDArray[np.int32] = field(repr=False)
    owns: NDArray[np.int32] = field(repr=False)
    bits: int

    @classmethod
    def of(cls, parts: list[Share], bits: int) -> SecretMatrix:
        """Rows of several uint32 shares of shape (.., n), one below the other. Args: bits: at most 26."""
        if not 1 <= bits <= MOST_BITS:
            raise ValueError(f"products are exact for residues of 1 to {MOST_BITS} bits, not {bits}")
        sums = np.concatenate([_residues(part.own + part.next, bits) for part in parts])
        owns = np.concatenate([_residues(part.own, bits) for part in parts])
        return cls(sums, owns, bits)

    def multiplied(self, party: Party, x: Share, rows: NDArray[np.intp]) -> Program[Share]:
        """x times some rows of the matrix: entry (u, r) is sum_i x[u, i] * matrix[rows[r], i].

        Source: AFLNO16 in docs/sources.md, section 3.1 (multiplication), summed before it is masked.
        Deviation: of the nine products of parts, the three parties form the sum in five products of matrices, not six:
        one of them, in turns, the sum of four at once, (x_s + x_(s+1)) (y_s + y_(s+1)), the next one the three with
        x_(s+2) or y_(s+2) that it can, and the last the two that are left.
        Args: x: uint32, shape (u, n).
        Returns: uint32, shape (u, rows); only the low `bits` bits mean anything.
        Rounds: 1. Sends: 12 bytes an entry of the result. Leaks: nothing.
        """
        total = np.zeros((len(x), len(rows)), np.int64)
        step = min(_BLOCK_COLUMNS, 2 ** max(0, _EXACT_BITS - 1 - 2 * (self.bits - 1)))
        for number, start in enumerate(range(0, x.shape[1], step)):
            block = slice(start, start + step)
            sums, owns = self.sums[rows, block], self.owns[rows, block]
            role = (party.index - number) % PARTIES
            own, following = x.own[:, block], x.next[:, block]
            if role == 0:
                product = self._times(own + following, sums)
            elif role == 1:
                product = self._times(own + following, sums)
                product -= self._times(own, owns)
            else:
                product = self._times(own, sums)
                product += self._times(following - own, owns)
            total += product.astype(np.int64)
        return (yield from reshare(party, total.astype(U32)))

    def _times(self, x: Words, y: NDArray[np.int32]) -> NDArray[np.float64]:
        return np.asarray(_residues(x, self.bits).astype(np.float64) @ y.astype(np.float64).T)

    def row_sums(self) -> Share:
        """The sum of each row, modulo 2^bits; local. Returns: uint32, shape (rows,)."""
        low = U32.type(2**self.bits - 1)
        both = self.sums.sum(axis=1, dtype=np.int64).astype(U32)
        own = self.owns.sum(axis=1, dtype=np.int64).astype(U32)
        return Share(own & low, (both - own) & low)


def lifted(party: Party, x: Share, bits: int, dtype: DTypeLike) -> Program[Share]:
    """The same numbers in a larger ring, from their residues modulo 2^bits.

    x = a + b - 2^bits w with a known to P0 and b to P1 and P2, both below 2^bits. As x < 2^(bits - 1), the wrap w is
    the OR of the top bits of a and of b: P0 deals its own, and the rest is local.
    Args: x: uint32, 0 <= x < 2^(bits - 1), any shape. bits: at most 31. dtype: uint32 or uint64.
    Rounds: 2. Sends: 4 words of dtype an element. Leaks: nothing.
    """
    ring = np.dtype(dtype)
    half = half_of(party, x) & U32.type(2**bits - 1)
    top = (half >> U32.type(bits - 1)).astype(ring)
    known = half.astype(ring) - (top << ring.type(bits))
    if party.index == DEALER:
        yield from deal_pair(party, top, top.shape, ring)
        return (yield from reshare(party, known))
    part = yield from deal_pair(party, None, top.shape, ring)
    part = (part * top) << ring.type(bits)
    return (yield from reshare(party, part + known if party.index == 1 else part))


def _residues(words: Words, bits: int) -> NDArray[np.int32]:
    """uint32 words modulo 2^bits, between -2^(bits-1) and 2^(bits-1) - 1."""
    unused = bits_of(U32) - bits
    return (words << U32.type(unused)).view(np.int32) >> np.int32(unused)


def products_of_rows(
    party: Party, x: Share, x_rows: NDArray[np.intp], y: Share, y_rows: NDArray[np.intp]
) -> Program[Share]:
    """Row x_rows[k] of x times row y_rows[k] of y, element by element, for every k.

    The same as `arithmetic.multiply` of the gathered rows, in blocks of columns: the gathered rows themselves would
    take four times the memory of the result, all of it fresh.
    Args: x, y: one ring, shapes (.., n).
    Returns: shape (len(x_rows), n).
    Rounds: 1. Sends: 3 words an element of the result. Leaks: nothing.
    """
    count = x.shape[1]
    terms = np.empty((len(x_rows), count), x.dtype)
    step = max(1, _BLOCK_WORDS // max(1, len(x_rows)))
    for start in range(0, count, step):
        block = slice(start, start + step)
        found = product_terms(x[x_rows, block], y[y_rows, block])
        found += party.prss.zero(found.shape, found.dtype)
        terms[:, block] = found
    return Share(terms, (yield from pass_to_previous(terms)))
