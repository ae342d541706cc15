"""Which of two fractions is greater, without a division: a / d > b / e iff a e > b d for positive d and e."""

from __future__ import annotations

from typing import Final

from shared.mpc.arithmetic import add_public, reshare_binary
from shared.mpc.conversion import sign_terms, widen
from shared.mpc.halves import halves_of_products
from shared.mpc.masked_bits import choices_from_terms
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share, concatenate

LOWEST_NUMERATOR: Final = -(2**12)
"""Numerators may be a little below zero: invalid positions are -1, and rounded entropies may differ by some units."""


def fraction_greater(party: Party, a: Share, d: Share, b: Share, e: Share) -> Program[BinaryShare]:
    """a / d > b / e, for numbers of Z_2^32.

    Source: protocol section 11, step 7.
    Args: uint32, shape (n,); LOWEST_NUMERATOR <= a, b < 2^31 + LOWEST_NUMERATOR and 0 < d, e < 2^31 as signed numbers,
        and all products |a e|, |b d| < 2^62.
    Returns: packed bits, shape (ceil(n / 64),).
    Rounds: 9. Sends: 129.5 bytes an element. Leaks: nothing.
    """
    count = len(a)
    raised = add_public(party, concatenate([a, b]), -LOWEST_NUMERATOR)
    wide = yield from widen(party, concatenate([raised, d, e]))
    numerators = add_public(party, wide[: 2 * count], LOWEST_NUMERATOR)
    return (
        yield from wide_fraction_greater(
            party, numerators[:count], wide[2 * count : 3 * count], numerators[count:], wide[3 * count :]
        )
    )


def wide_fraction_greater(party: Party, a: Share, d: Share, b: Share, e: Share) -> Program[BinaryShare]:
    """The same for numbers of Z_2^64; who compares what it has selected stays there and widens only once.

    Args: uint64, shape (n,), signed; d, e > 0; |a e|, |b d| < 2^62.
    Rounds: 7. Sends: 65.5 bytes an element. Leaks: nothing.
    """
    return (yield from reshare_binary(party, (yield from _greater_terms(party, a, d, b, e))))


def wide_fraction_choosing(
    party: Party, a: Share, d: Share, b: Share, e: Share, differences: Share
) -> Program[tuple[Share, Share]]:
    """c = [a / d > b / e], and c * t for each row t of `differences`, in the rounds of the comparison alone.

    Args: as `wide_fraction_greater`. differences: shape (k, n), uint32 or uint64: the ring of the results.
    Returns: c, shape (n,), and c * t, shape (k, n).
    Rounds: 7. Sends: 65.875 bytes and 3 (k + 1) words of the ring of differences an element. Leaks: nothing.
    """
    return (yield from choices_from_terms(party, _greater_terms(party, a, d, b, e), differences))


def _greater_terms(party: Party, a: Share, d: Share, b: Share, e: Share) -> Program[Words]:
    """a e > b d iff b d - a e is negative; its absolute value is below 2^63."""
    half = yield from halves_of_products(party, [(b, d), (-a, e)])
    return (yield from sign_terms(party, half))
