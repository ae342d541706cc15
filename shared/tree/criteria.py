"""How good a split is: the table F, the scores of both criteria, and the exact test of zero gain.

Decisions rest on integers only (protocol section 4). `F_s(x)` is the integer nearest to
`2^s * x * log2(x)`, found by integer arithmetic alone. The decimals at the end are for display.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import count
from typing import Final

from shared.errors import InternalError
from shared.tree.contingency import ContingencyTable

SCALE_BITS: Final = 32
"""s of information gain and categorical gain ratio; F_32 fits 64 bits up to x = 2^24."""
F_TABLE_CHECKED: Final = 4096
"""The manifest names the hash of the entries 0 to this one."""

_STEPS: Final = 256
"""The argument of the logarithm is reduced to 1 + i/256 times a remainder below 1 + 1/256."""
_DISPLAY_DIGITS: Final = 40


@lru_cache(maxsize=2**16)
def f_entry(x: int, s: int = SCALE_BITS) -> int:
    """The integer nearest to `2^s * x * log2(x)`; 0 for x = 0 and x = 1.

    The work has at least 128 bits beyond the point of the result's leading digits, and 64 bits behind the
    result's last one; the rare value too near to a half is done again with more. x is any integer >= 0.
    The cache's keys are counts: `f_entry.cache_clear()` forgets them when a job has ended (rule A6).
    """
    if x < 0:
        raise InternalError("F is defined for counts, which are not negative")
    if x & (x - 1) == 0:
        return x * max(x.bit_length() - 1, 0) << s
    return next(entry for guard in count(64, 64) if (entry := _rounded(x, s, guard)) is not None)


@lru_cache(maxsize=4)
def f_table_sha256(s: int = SCALE_BITS) -> str:
    """SHA-256 of the entries 0..4096 as unsigned 64-bit big-endian numbers, lower-case hex (vector T1)."""
    table = b"".join(f_entry(x, s).to_bytes(8, "big") for x in range(F_TABLE_CHECKED + 1))
    return hashlib.sha256(table).hexdigest()


def _rounded(x: int, s: int, guard: int) -> int | None:
    """F_s(x) from `guard` bits behind the point, or None when those bits do not settle the rounding.

    Error: the logarithms below are off by less than 2^14 units of their last bit (256 table steps of at most
    40 terms, each cut off by less than one unit), so 20 spare bits keep the product within one unit of
    its own last bit, `guard` bits behind the point.
    """
    bits = max(128, s + x.bit_length() + guard + 20)
    # Rounded up, so that numbers of many lengths share few tables of logarithms; more bits than needed change nothing.
    step = 1 << (bits.bit_length() - 3)
    bits = -(-bits // step) * step
    exponent = x.bit_length() - 1
    scaled = (x * _natural_log_of_mantissa(x, bits) << (s + guard)) // _log_table(bits)[_STEPS]
    scaled += x * exponent << (s + guard)
    distance_to_half = abs((scaled & ((1 << guard) - 1)) - (1 << (guard - 1)))
    return None if distance_to_half <= 2 else (scaled + (1 << (guard - 1))) >> guard


def _natural_log_of_mantissa(x: int, bits: int) -> int:
    """`ln(x / 2^e)` with `bits` fraction bits, where 2^e is the power of two at or below x.

    ln(x/2^e) = ln(1 + i/256) + 2 artanh((x - b)/(x + b)) with b = (1 + i/256) 2^e just at or below x.
    """
    exponent = x.bit_length() - 1
    step = (x * _STEPS >> exponent) - _STEPS
    base, value = (_STEPS + step) << exponent, x * _STEPS
    return _log_table(bits)[step] + 2 * _artanh(((value - base) << bits) // (value + base), bits)


def _artanh(z: int, bits: int) -> int:
    """`z + z^3/3 + z^5/5 + ...` in fixed point; z below 2^-8, so at least 16 bits a term."""
    square = z * z >> bits
    total, power, divisor = z, z, 1
    while power := power * square >> bits:
        divisor += 2
        total += power // divisor
    return total


@lru_cache(maxsize=16)
def _log_table(bits: int) -> tuple[int, ...]:
    """`ln(1 + i/256)` for i = 0..256 with `bits` fraction bits; the last entry is ln 2.

    ln((k+1)/k) = 2 artanh(1/(2k+1)), summed up from k = 256.
    """
    table = [0]
    for k in range(_STEPS, 2 * _STEPS):
        table.append(table[-1] + 2 * _artanh((1 << bits) // (2 * k + 1), bits))
    return tuple(table)


def information_gain_score(table: ContingencyTable) -> int:
    """`score(A)` of protocol section 4: sum of F over the cells minus sum of F over the row totals.

    Grows with the information gain: `N * IG * 2^32 = F(N) - sum_c F(n_c) + score` up to rounding.
    """
    return sum(sum(map(f_entry, row)) - f_entry(sum(row)) for row in table.rows)


def gain_ratio_fraction(table: ContingencyTable) -> tuple[int, int]:
    """Numerator and denominator of the gain ratio, both times N * 2^32; the denominator is 0 or positive.

    Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 2, without its rule that only
    attributes of at least average gain compete.
    Numerator: `F(N) - sum_c F(n_c) + score`, the information gain. Denominator: `F(N) - sum_v F(n_v)`, the
    split information, 0 exactly when all records have one value (the caller then refuses the attribute).
    The gain of a real split is positive or exactly 0, but rounded entries may miss that by a few units. So
    a gain that is 0 in exact integers counts as 0, and every other one as at least 1: no attribute without
    gain passes one with gain.
    """
    whole = f_entry(table.total)
    denominator = whole - sum(map(f_entry, table.row_totals))
    if has_zero_gain(table):
        return 0, denominator
    gain = whole - sum(map(f_entry, table.class_totals)) + information_gain_score(table)
    return max(1, gain), denominator


def greatest_ratio(ratios: Mapping[int, tuple[int, int]]) -> int | None:
    """The key of the greatest fraction by cross-multiplication, the first of equal ones; None where there is none.

    Args: ratios: numerator and denominator, as `gain_ratio_fraction` gives them; a denominator of 0 does not compete.
    """
    best, best_gain, best_split = None, 0, 1
    for key, (gain, split) in ratios.items():
        if split > 0 and (best is None or gain * best_split > best_gain * split):
            best, best_gain, best_split = key, gain, split
    return best


def has_zero_gain(table: ContingencyTable) -> bool:
    """Whether the information gain is exactly 0: `n[v][c] * N = n[v] * n[c]` for all v, c (rule 5)."""
    totals, whole = table.class_totals, table.total
    return all(
        cell * whole == row_total * total
        for row, row_total in zip(table.rows, table.row_totals, strict=True)
        for cell, total in zip(row, totals, strict=True)
    )


def entropy(counts: tuple[int, ...]) -> Decimal:
    """Entropy in bits of a distribution given by counts, 0 to log2 of their number. For display only."""
    whole = sum(counts)
    if whole == 0:
        return Decimal(0)
    return _decimal(f_entry(whole, _DISPLAY_BITS) - sum(f_entry(n, _DISPLAY_BITS) for n in counts), whole)


def conditional_entropy(table: ContingencyTable) -> Decimal:
    """Entropy in bits that is left once the value is known, 0 to `entropy`. For display only."""
    whole = table.total
    if whole == 0:
        return Decimal(0)
    left = sum(
        f_entry(sum(row), _DISPLAY_BITS) - sum(f_entry(n, _DISPLAY_BITS) for n in row) for row in table.rows
    )
    return _decimal(left, whole)


def information_gain(table: ContingencyTable) -> Decimal:
    """Information gain in bits, 0 to log2 of the classes. For display only."""
    return entropy(table.class_totals) - conditional_entropy(table)


def split_information(table: ContingencyTable) -> Decimal:
    """Entropy in bits of the distribution over the values. For display only."""
    return entropy(table.row_totals)


def gain_ratio(table: ContingencyTable) -> Decimal | None:
    """Information gain over split information, or None where that is 0. For display only."""
    divisor = split_information(table)
    return information_gain(table) / divisor if divisor else None


_DISPLAY_BITS: Final = 96


def _decimal(scaled: int, whole: int) -> Decimal:
    with localcontext() as context:
        context.prec = _DISPLAY_DIGITS
        return +(Decimal(scaled) / (Decimal(whole) * (1 << _DISPLAY_BITS)))
