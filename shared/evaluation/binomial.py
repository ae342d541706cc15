"""Tails of the binomial distribution and quantiles of the beta distribution, for exact intervals and exact tests.

Numbers of records may be millions, so that tails are not summed term by term: the regularised incomplete beta function
is computed by its continued fraction. Good to about twelve digits for hundreds of records and eight for a million;
nothing but what people read rests on it.
"""

from __future__ import annotations

import math
from typing import Final

_TINY: Final = 1e-300
_PRECISION: Final = 1e-15
_MOST_STEPS: Final = 100_000
_HALVINGS: Final = 200


def binomial_tail(least: int, total: int, chance: float) -> float:
    """The chance that at least `least` of `total` independent trials come out, each with this chance."""
    if least <= 0:
        return 1.0
    if least > total:
        return 0.0
    return beta_share(chance, least, total - least + 1)


def beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1.

    Source: NIST Digital Library of Mathematical Functions, 8.17.22 (the fraction) and 8.17.4 (the other side).
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    front = a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)
    return math.exp(front) / a * _fraction(x, a, b)


def beta_quantile(share: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = share, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_share(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction by Lentz's method as Thompson and Barnett changed it (1986)."""
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _apart(number: float) -> float:
    """The number, kept away from zero."""
    return number if abs(number) > _TINY else _TINY
