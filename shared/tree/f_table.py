"""The whole table F_s(0..N) at once, exact to the last bit: for the secret modes, which look counts up in it.

`shared.tree.criteria` computes single entries; here the logarithms of all numbers come from those of the primes, so an
entry costs well under a microsecond. Integers only.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.errors import InternalError
from shared.tree.criteria import f_entry

MOST_ENTRIES: Final = 2**24
"""The greatest N: F_32 fits 64 bits up to here (protocol section 4)."""

_BITS: Final = 128
"""Fraction bits of the logarithms."""
_ERROR_BITS: Final = 12
"""No logarithm of a number up to 2^24 is off by 2^12 units of its last bit; `_logarithms` says why."""
_LN2_GUARD: Final = 16


@lru_cache(maxsize=2)
def f_table(n: int, s: int) -> NDArray[np.uint64]:
    """F_s(0) to F_s(n): integers nearest to `2^s x log2 x`. Returns: uint64, shape (n + 1,), read-only.

    An entry is rounded from its logarithm unless the logarithm's error could turn the rounding (less than one in
    2^30 is so near to a half): then `criteria.f_entry` works with as many bits as it takes.
    Args: n: 0 to 2^24. s: scale, 0 to 32.
    Raises: InternalError: n or s outside these bounds.
    """
    if not (0 <= n <= MOST_ENTRIES and 0 <= s <= 32):
        raise InternalError(f"a table has at most {MOST_ENTRIES} entries of a scale up to 32")
    shift = _BITS - s
    half = 1 << (shift - 1)
    fraction = (1 << shift) - 1
    doubtful = MOST_ENTRIES << _ERROR_BITS
    entries = [x * logarithm + half for x, logarithm in enumerate(_logarithms(n))]
    table = np.fromiter((entry >> shift for entry in entries), np.uint64, n + 1)
    for x, entry in enumerate(entries):
        rest = entry & fraction
        if rest < doubtful or rest > fraction - doubtful:
            table[x] = f_entry(x, s)
    table.flags.writeable = False
    return table


def f_table_hash(table: NDArray[np.uint64]) -> str:
    """SHA-256 of a table's entries as unsigned 64-bit big-endian numbers, lower-case hex (as vector T1)."""
    return hashlib.sha256(table.astype(">u8").tobytes()).hexdigest()


def _logarithms(n: int) -> list[int]:
    """`2^128 log2 x` for x = 0..n (0 for x = 0), each off by less than 2^12.

    log2(ab) = log2 a + log2 b, and for a prime p: log2 p = (log2(p-1) + log2(p+1) + log2(p^2/(p^2-1))) / 2, where
    p - 1 and p + 1 are even and p + 1 = 2m with m < p for p > 2, so everything rests on smaller numbers.
    Error e(x), in units of the last bit: e(2) = 0, e(ab) <= e(a) + e(b), e(p) <= (e(p-1) + e(p+1))/2 + 2 (the
    series and its division are off by less than 2). So e(x) <= 4 (log2 x)^2: the square of a sum is more than the
    sum of the squares, and log2 of (p-1)/2 and of (p+1)/2 is below log2(p) - 0.58, which leaves room for the 2.
    At x = 2^24 that is 2304 < 2^12.
    """
    factors = _smallest_factors(n).tolist()
    logarithms = [0] * (n + 1)
    for x in range(2, n + 1):
        factor = factors[x]
        if factor != x:
            logarithms[x] = logarithms[factor] + logarithms[x // factor]
        elif x == 2:
            logarithms[x] = 1 << _BITS
        else:
            of_next = (1 << _BITS) + logarithms[(x + 1) >> 1]
            logarithms[x] = (logarithms[x - 1] + of_next + _log2_above_neighbours(x)) >> 1
    return logarithms


def _log2_above_neighbours(p: int) -> int:
    """`2^128 log2(p^2/(p^2-1))` = 2 artanh(1/(2p^2-1)) / ln 2."""
    inverse = 2 * p * p - 1
    power = (2 << (_BITS + _LN2_GUARD)) // inverse
    total, divisor, square = power, 1, inverse * inverse
    while power := power // square:
        divisor += 2
        total += power // divisor
    return (total << _BITS) // _LN2


def _ln2() -> int:
    """`ln 2` with 144 bits: 2 artanh(1/3), with guard bits of its own."""
    power = (2 << (_BITS + _LN2_GUARD + 16)) // 3
    total, divisor = power, 1
    while power := power // 9:
        divisor += 2
        total += power // divisor
    return total >> 16


_LN2: Final = _ln2()


def _smallest_factors(n: int) -> NDArray[np.int32]:
    """The smallest prime factor of every number up to n (of 0 and 1: themselves)."""
    factors = np.arange(n + 1, dtype=np.int32)
    factors[4::2] = 2
    for p in range(3, int(n**0.5) + 1, 2):
        if factors[p] == p:
            multiples = factors[p * p :: 2 * p]
            multiples[multiples == np.arange(p * p, n + 1, 2 * p, dtype=np.int32)] = p
    return factors
