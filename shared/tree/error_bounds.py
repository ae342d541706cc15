"""How many errors a leaf will make on new records, at worst: the upper bounds of pessimistic pruning.

A leaf with N records, E of them of other classes, is as if E errors came of N trials; the bound is the rate U_CF(E, N)
which would give so few with probability CF only. Two ways to reckon it:

- `c45`: as the program C4.5 does, by its own short table of the normal distribution and a correction for continuity;
  its worked example gives U_25%(16, 1) = 0.157, and so does this;
- `binomial`: the exact upper limit, `P(X <= E | N, U) = CF` (0.160 in that example). Beyond a million errors it is as
  `c45`, which then differs by less than a fiftieth of a thousandth, and takes no time.

Decimals of 40 digits, in which +, *, /, square root, exp and ln are rounded alike on every machine (General Decimal
Arithmetic), end in an integer number of `UNIT`s: all hospitals prune alike.
Sources: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 4; release 8 of his program, `AddErrs`.
C. Clopper, E. S. Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import ceil, factorial, floor
from typing import Final, Literal

Bound = Literal["c45", "binomial"]

UNIT: Final = 10**12
"""So many make one error."""

_DIGITS: Final = 40
_HALF: Final = Decimal("0.5")
_NEARLY_SURE: Final = Decimal("0.67")
_NORMAL: Final[Sequence[tuple[str, str]]] = (
    ("0", "4.0"),
    ("0.001", "3.09"),
    ("0.005", "2.58"),
    ("0.01", "2.33"),
    ("0.05", "1.65"),
    ("0.10", "1.28"),
    ("0.20", "0.84"),
    ("0.40", "0.25"),
    ("1.00", "0.00"),
)
"""C4.5's one-sided confidences and deviations, between which it interpolates."""
_MOST_STEPS: Final = 100
_NEAR: Final = Decimal("1e-20")
_NEGLIGIBLE: Final = Decimal("1e-30")
_MOST_SUMMED: Final = 10**6
_FACTORIALS: Final = 64
_TWO_PI: Final = Decimal("6.28318530717958647692528676655900576839433879875021")
_STIRLING: Final = (
    (1, 12),
    (-1, 360),
    (1, 1260),
    (-1, 1680),
    (1, 1188),
    (-691, 360360),
    (1, 156),
    (-3617, 122400),
)
"""Of `ln n!`, the terms in 1/n, 1/n^3, ...; from 64 on what is left out is below 1e-29."""


def worst_errors(records: int | Fraction, errors: int | Fraction, confidence: Fraction, bound: Bound) -> int:
    """`N U_CF(E, N)`, the greatest number of errors to reckon with, in `UNIT`s; 0 without records.

    Args: records, errors: whole, or with parts of records, which `binomial` rounds to less certainty. errors: 0 to
        records. confidence: above 0, at most 1/2; smaller prunes more.
    """
    if records == 0:
        return 0
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)):
        level, n, e = _decimal(confidence), _decimal(records), _decimal(errors)
        if bound == "c45" or errors > _MOST_SUMMED:
            worst = e + _extra_of_c45(n, e, level)
        else:
            trials, failures = max(floor(records), 1), min(ceil(errors), max(floor(records), 1))
            worst = n * _binomial_limit(trials, failures, level)
        return int((worst * UNIT).to_integral_value())


def _decimal(number: int | Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _extra_of_c45(n: Decimal, e: Decimal, level: Decimal) -> Decimal:
    """Errors to be added to e among n records. With e = 0 exactly `n (1 - CF^(1/n))`; to e = 1 along a line."""
    if e < 1:
        of_none = n * (1 - (level.ln() / n).exp())
        return of_none if e == 0 else of_none + e * (_extra_of_c45(n, Decimal(1), level) - of_none)
    if e + _HALF >= n:
        return max(_NEARLY_SURE * (n - e), Decimal(0))
    z = _deviation(level)
    square = z * z
    corrected = e + _HALF
    root = (square * (corrected * (1 - corrected / n) + square / 4)).sqrt()
    return n * ((corrected + square / 2 + root) / (n + square)) - e


def _deviation(level: Decimal) -> Decimal:
    points = [(Decimal(confidence), Decimal(deviation)) for confidence, deviation in _NORMAL]
    (low, at_low), (high, at_high) = next(pair for pair in pairwise(points) if level <= pair[1][0])
    return at_low + (at_high - at_low) * (level - low) / (high - low)


def _binomial_limit(records: int, errors: int, level: Decimal) -> Decimal:
    """The rate U at which E or fewer errors have probability CF, by Newton's method inside an interval that shrinks."""
    if errors == records:
        return Decimal(1)
    ways = _ln_factorial(records) - _ln_factorial(errors) - _ln_factorial(records - errors)
    low, high = Decimal(errors) / records, Decimal(1)
    rate = (errors + _extra_of_c45(Decimal(records), Decimal(errors), level)) / records
    for _ in range(_MOST_STEPS):
        if not low < rate < high:
            rate = (low + high) / 2
        tail, slope = _at_most(records, errors, rate, ways)
        low, high = (rate, high) if tail > level else (low, rate)
        step = (tail - level) / slope if slope else high
        rate += step
        if abs(step) < _NEAR:
            break
    return rate


def _at_most(n: int, e: int, rate: Decimal, ways: Decimal) -> tuple[Decimal, Decimal]:
    """`P(X <= e)` of n trials, added up from e downwards until nothing is added, and how fast it falls with the rate.

    Args: ways: ln of `n over e`. Source: the derivative is `-(n - e) / (1 - rate) P(X = e)`.
    """
    odds = (1 - rate) / rate
    term = (ways + e * rate.ln() + (n - e) * (1 - rate).ln()).exp()
    total, slope = term, term * (n - e) / (1 - rate)
    for k in range(e, 0, -1):
        term *= odds * k / (n - k + 1)
        if term < _NEGLIGIBLE:
            break
        total += term
    return total, slope


def _ln_factorial(n: int) -> Decimal:
    if n < _FACTORIALS:
        return Decimal(factorial(n)).ln()
    x = Decimal(n)
    rest = sum(
        (Decimal(a) / (b * x ** (2 * place + 1)) for place, (a, b) in enumerate(_STIRLING)), Decimal(0)
    )
    return x * x.ln() - x + (_TWO_PI * x).ln() / 2 + rest
