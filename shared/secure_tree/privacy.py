"""What noise on sums promises, in exact numbers: the cost of a level, of a job, and the epsilon they come to.

Protocol section 6.6. One record more or less changes one cell of each open attribute of the one node of a level that
it is in, by 1. With variance sigma^2 a level with m open attributes costs rho = m / (2 sigma^2) of zero-concentrated
differential privacy (zCDP), and rho adds up over all that is released. With probability of at least 1 - delta it is
epsilon = rho + 2 sqrt(rho ln(1/delta)).
Source: BS16 in docs/sources.md, propositions 1.3 and 1.6, lemma 2.3.

Everything is a fraction or a decimal number rounded to the safe side; no float takes part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Final

from shared.tree.frontier import NodeQuery
from shared.wire.noise import NoiseSpec

_DIGITS: Final = 60
"""Precision of the logarithm and of the root; the last digit is raised, so that errors make epsilon greater."""
_SHOWN: Final = Decimal("0.001")


def own_variance(noise: NoiseSpec, members: int) -> Fraction:
    """sigma_i^2 = sigma^2 / (members - c): the variance of one hospital's noise. Args: members: of the roster."""
    return Fraction(noise.sigma_squared, members - noise.untrusted)


def level_cost(noise: NoiseSpec, queries: Iterable[NodeQuery]) -> Fraction:
    """rho of one round: a record is in one of its nodes, so the node with most open attributes counts."""
    return cost(noise.sigma_squared, changed_cells(queries))


def changed_cells(queries: Iterable[NodeQuery]) -> int:
    """Cells of one round that one record more or less changes, at most."""
    return max((len(query.attributes) for query in queries), default=0)


def cost(sigma_squared: int, cells: int) -> Fraction:
    """rho of a release in which one record more or less changes so many cells by 1."""
    return Fraction(cells, 2 * sigma_squared)


def worst_case(noise: NoiseSpec, attributes: int, max_depth: int | None, max_shrinks: int) -> Fraction:
    """rho of a whole job at most: every level asked, and round 0 begun anew as often as it may be.

    Args: attributes: of the schema. max_depth: levels of a tree at most, None for all attributes.
    """
    levels = attributes if max_depth is None else min(max_depth, attributes)
    cells = sum(attributes - depth for depth in range(levels)) + max_shrinks * attributes
    return cost(noise.sigma_squared, cells)


@dataclass(frozen=True, slots=True)
class PrivacyLimit:
    """The most that may be spent: `epsilon` beside the chance `delta`, decimal numbers."""

    epsilon: Decimal
    delta: Decimal

    def allows(self, rho: Fraction) -> bool:
        """Whether rho + 2 sqrt(rho ln(1/delta)) <= epsilon, without taking the root."""
        slack = Fraction(self.epsilon) - rho
        return slack >= 0 and 4 * rho * _log_of_inverse(self.delta) <= slack * slack

    def used_percent(self, rho: Fraction) -> int:
        """How much of the greatest rho that is allowed this is, rounded up; for people to read."""
        if self.epsilon == 0:
            return 0 if rho == 0 else 100
        with localcontext(prec=_DIGITS):
            log = -self.delta.ln()
            greatest = ((log + self.epsilon).sqrt() - log.sqrt()) ** 2
            part = Decimal(rho.numerator) / Decimal(rho.denominator) / greatest * 100
            return int(part.quantize(Decimal("1e-6")).to_integral_value(ROUND_CEILING))


def epsilon_of(rho: Fraction, delta: Decimal) -> Decimal:
    """The epsilon that rho comes to beside `delta`, with three decimals, rounded up; for people to read."""
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        square = 4 * rho * _log_of_inverse(delta)
        root = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt().next_plus() if square else 0
        return (Decimal(rho.numerator) / Decimal(rho.denominator) + root).quantize(_SHOWN)


def _log_of_inverse(delta: Decimal) -> Fraction:
    """An upper bound of ln(1/delta), 60 digits close."""
    with localcontext(prec=_DIGITS, rounding=ROUND_CEILING):
        # The library's logarithm is right to half a unit of the last digit whatever the rounding.
        return Fraction((1 / delta).ln().next_plus())
