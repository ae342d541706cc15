"""Less than, equal and zero on shares, to a number 0 or 1 or to packed bits.

Comparisons of numbers start from tables of digits (`shared.mpc.digits`) and end, where a number is wanted, by an
opening under a random mask (`shared.mpc.masked_bits`); between the two is a tree of carries over packed bits.
`width_bits` says how many low bits decide; a caller who knows that its numbers are small saves rounds and bytes.

Rounds by width, to packed bits or to numbers alike: 2 up to 6 bits, 3 up to 12, 4 up to 24, 5 up to 48, 6 up to 64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from shared.mpc.arithmetic import conjunction, conjunction_terms, reshare_binary
from shared.mpc.bits import planes_of
from shared.mpc.conversion import sign_bits, sign_terms
from shared.mpc.digits import digits_for, zero_parts
from shared.mpc.gates import all_terms, complement, top_carry_terms
from shared.mpc.halves import from_pair_binary, half_of
from shared.mpc.masked_bits import choices_from_terms, numbers_from_terms
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, Words, bits_of
from shared.mpc.sharing import BinaryShare, Share


def less_than(
    party: Party, x: Share, y: Share, dtype: DTypeLike = U32, width_bits: int | None = None
) -> Program[Share]:
    """1 where x < y as signed numbers, else 0.

    Source: protocol section 9, LT(a, b) is the top bit of a - b.
    Args: x, y: one dtype and shape, of one dimension or more; |x - y| < 2^(width_bits - 1), by default below half of
        the ring. dtype: ring of the result.
    Returns: shape of x.
    Rounds: 6 for 64 bits, 5 for 32. Sends: `sign_bits` plus 3 words of dtype plus 3/8 byte an element.
    Leaks: nothing.
    """
    difference = (x - y).reshape(-1)
    terms = sign_terms(party, half_of(party, difference), width_bits)
    found = yield from numbers_from_terms(party, terms, len(difference), dtype)
    return found.reshape(*x.shape)


def less_than_packed(party: Party, x: Share, y: Share, width_bits: int | None = None) -> Program[BinaryShare]:
    """The same as packed bits. Args: x, y: shape (n,). Rounds, Sends, Leaks: as `sign_bits`."""
    return (yield from sign_bits(party, x - y, width_bits))


def less_than_choosing(
    party: Party, x: Share, y: Share, differences: Share, width_bits: int | None = None
) -> Program[tuple[Share, Share]]:
    """b = [x < y], and b * d for each row d of `differences`, in the rounds of the comparison alone.

    Args: x, y: shape (n,). differences: shape (k, n), its dtype is the ring of the results.
    Returns: b, shape (n,), and b * d, shape (k, n).
    Rounds: as `less_than`, at least 3. Sends: `less_than` plus 3 words of dtype a product. Leaks: nothing.
    """
    return (
        yield from choices_from_terms(
            party, sign_terms(party, half_of(party, x - y), width_bits), differences
        )
    )


def is_zero(party: Party, x: Share, dtype: DTypeLike = U32, width_bits: int | None = None) -> Program[Share]:
    """1 where x = 0, else 0.

    Args: x: one dimension or more; |x| < 2^width_bits or 0 <= x < 2^width_bits, by default any element of the ring.
    Returns: shape of x, ring of dtype.
    Rounds: 6 for 64 bits, 5 for 32, less for less (module docstring). Sends: 42 bytes an element for 64 bits, 21 for
        32, and 3 words of dtype. Leaks: nothing.
    """
    flat = x.reshape(-1)
    found = yield from numbers_from_terms(party, zero_terms(party, flat, width_bits), len(flat), dtype)
    return found.reshape(*x.shape)


def equal(
    party: Party, x: Share, y: Share, dtype: DTypeLike = U32, width_bits: int | None = None
) -> Program[Share]:
    """1 where x = y, else 0. Args: |x - y| < 2^width_bits. Rounds, Sends, Leaks: as `is_zero`."""
    return (yield from is_zero(party, x - y, dtype, width_bits))


def less_than_words(party: Party, x: BinaryShare, y: BinaryShare, width_bits: int) -> Program[BinaryShare]:
    """x < y for unsigned XOR-shared words.

    Args: x, y: shape (n,), below 2^width_bits.
    Returns: packed bits, shape (ceil(n / 64),).
    Rounds: 1 + ceil(log2 width_bits). Sends: 15.75 bytes an element for 16 bits. Leaks: nothing.
    """
    return (yield from reshare_binary(party, (yield from word_order_terms(party, x, y, width_bits))))


def equal_words(party: Party, x: BinaryShare, y: BinaryShare, width_bits: int) -> Program[BinaryShare]:
    """x = y for XOR-shared words.

    Args: x, y: shape (n,); bits from width_bits on are not looked at.
    Returns: packed bits, shape (ceil(n / 64),).
    Rounds: ceil(log2 width_bits), at least 1. Sends: 5.625 bytes an element for 16 bits. Leaks: nothing.
    """
    return (yield from reshare_binary(party, (yield from word_equality_terms(party, x, y, width_bits))))


def zero_terms(party: Party, x: Share, width_bits: int | None = None) -> Program[Words]:
    """The XOR part of packed bits [x = 0 mod 2^width_bits] that this party would share again.

    Args: x: shape (n,). Rounds: one less than `is_zero`.
    """
    digits = digits_for(width_bits or bits_of(x.dtype))
    parts = yield from zero_parts(party, half_of(party, x), digits)
    if digits.count == 1:
        return np.asarray(parts[0])
    return (yield from all_terms(party, (yield from from_pair_binary(party, parts))))


def word_order_terms(party: Party, x: BinaryShare, y: BinaryShare, width_bits: int) -> Program[Words]:
    """The XOR part of `less_than_words` that this party would share again. Rounds: one less.

    The borrow chain of x - y: a bit makes a borrow if x is 0 and y is 1, and hands one on if both are equal.
    """
    x_planes, y_planes = planes_of(x, width_bits), planes_of(y, width_bits)
    not_x = complement(party, x_planes)
    if width_bits == 1:
        return conjunction_terms(not_x[0], y_planes[0])
    borrows = yield from conjunction(party, not_x, y_planes)
    return (yield from top_carry_terms(party, borrows, (not_x ^ y_planes)[1:]))


def word_equality_terms(party: Party, x: BinaryShare, y: BinaryShare, width_bits: int) -> Program[Words]:
    """The XOR part of `equal_words` that this party would share again. Rounds: one less."""
    return (yield from all_terms(party, complement(party, planes_of(x ^ y, width_bits))))
