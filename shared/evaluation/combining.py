"""Several tables of one question: folds of a cross-validation, or one table a left-out hospital.

Pooled measures come from the sum of confusion matrices, never from averaging; mean and spread over the parts stand
beside them, because they answer another question: how much a single training would have varied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import InputError
from shared.evaluation.confusion import (
    Confusion,
    accuracy,
    balanced_accuracy,
    kappa,
    matthews,
    mean_f1,
)
from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure

COMBINED: Final[Mapping[str, Callable[[Confusion, Confidence], Measure]]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": mean_f1,
    "kappa": kappa,
    "mcc": matthews,
}
"""The measures that are told of several tables together."""

FEWEST_HIDDEN: Final = 3
"""So many hospitals at least stay hidden in the difference of the pooled result and those that are shown, or none."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A measure over several parts. `deviation`: the sample's standard deviation, None below two parts with a value.

    `defined`: how many parts have a value; mean, least and most are of these.
    """

    pooled: Measure
    mean: float | None
    deviation: float | None
    least: float | None
    most: float | None
    defined: int

    def to_json(self) -> dict[str, Any]:
        """The plain form."""
        return {
            "pooled": self.pooled.to_json(),
            "mean": self.mean,
            "standard_deviation": self.deviation,
            "least": self.least,
            "most": self.most,
            "parts_with_a_value": self.defined,
        }


def pooled(matrices: Sequence[Confusion]) -> Confusion:
    """The sum of matrices, of one tree or of several. Raises: InputError: none, or other classes."""
    if not matrices or any(matrix.classes != matrices[0].classes for matrix in matrices):
        raise InputError("expected one or more matrices over the same classes", where="folds")
    return Confusion(
        matrices[0].classes,
        tuple(
            tuple(map(sum, zip(*rows, strict=True)))
            for rows in zip(*(matrix.cells for matrix in matrices), strict=True)
        ),
    )


def over_parts(matrices: Sequence[Confusion], confidence: Confidence = CONFIDENCE_95) -> dict[str, Spread]:
    """Each combined measure, pooled and over the parts. Raises: InputError: as `pooled`."""
    whole = pooled(matrices)
    return {
        name: _spread(measure(whole, confidence), [measure(part, confidence).value for part in matrices])
        for name, measure in COMBINED.items()
    }


def by_hospital(
    matrices: Mapping[str, Confusion],
    consenting: frozenset[str],
    confidence: Confidence = CONFIDENCE_95,
) -> dict[str, dict[str, Measure] | None]:
    """The measures of each left-out hospital, in the order of their names; None for one that is not shown.

    A hospital is shown only with its consent. The pooled result less those that are shown tells of the others together:
    where these would be one or two, nobody is shown.
    """
    hidden = set(matrices) - consenting
    shown = set(matrices) - hidden if not hidden or len(hidden) >= FEWEST_HIDDEN else set()
    return {
        hospital: {name: measure(matrices[hospital], confidence) for name, measure in COMBINED.items()}
        if hospital in shown
        else None
        for hospital in sorted(matrices)
    }


def _spread(whole: Measure, parts: Sequence[float | None]) -> Spread:
    values = [value for value in parts if value is not None]
    if not values:
        return Spread(whole, None, None, None, None, 0)
    mean = math.fsum(values) / len(values)
    deviation = None
    if len(values) > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return Spread(whole, mean, deviation, min(values), max(values), len(values))
