"""How well a law of growth describes measurements: least squares of relative errors, and what is left over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Law = Callable[[float], float]


def n_log_n(x: float) -> float:
    """x log2 x."""
    return x * math.log2(x)


def linear(x: float) -> float:
    """x."""
    return x


NAMES: Final = {n_log_n: "x log2 x", linear: "x"}


@dataclass(frozen=True, slots=True)
class Fit:
    """y = base + slope * law(x). r_squared: share of the variance explained. worst: greatest relative error."""

    law: Law
    base: float
    slope: float
    r_squared: float
    worst: float

    @classmethod
    def of(cls, law: Law, points: Sequence[tuple[float, float]]) -> Fit:
        """Args: points: (x, y) with positive y, at least three, or nothing would be left over."""
        if len(points) < 3:
            raise ValueError("two points fit every law of two numbers")
        grown = np.array([law(x) for x, _ in points])
        y = np.array([value for _, value in points])
        system = np.stack([1 / y, grown / y], axis=1)
        (base, slope), *_ = np.linalg.lstsq(system, np.ones(len(y)), rcond=None)
        missed = base + slope * grown - y
        spread = float(np.sum((y - y.mean()) ** 2))
        return cls(
            law,
            float(base),
            float(slope),
            1 - float(np.sum(missed**2)) / spread if spread else 1.0,
            float(np.max(np.abs(missed / y))),
        )

    def at(self, x: float) -> float:
        """What the law says."""
        return self.base + self.slope * self.law(x)

    def describe(self, unit: str) -> str:
        """In words, with the fit's quality."""
        return (
            f"{self.base:.3g} + {self.slope:.3g} * {NAMES[self.law]} {unit}, "
            f"R² {self.r_squared:.4f}, worst point off by {100 * self.worst:.0f} %"
        )

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "law": NAMES[self.law],
            "base": self.base,
            "slope": self.slope,
            "r_squared": self.r_squared,
            "worst": self.worst,
        }
