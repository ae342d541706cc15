"""Several tables of one question: the folds of a cross-validation, or the hospitals one by one.

Pooled measures come from the sum of confusion matrices, never from averaging; mean and spread over the parts stand
beside them, because they answer another question: how much a single training would have varied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from shared.evaluation.floors import shown
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

    `defined`: how many parts have a value; mean, least and most are of these. `parts`: each with the records of its
    smallest class, by which a floor tells what may be shown of it; `smallest` is that of all together.
    """

    pooled: Measure
    mean: float | None
    deviation: float | None
    least: float | None
    most: float | None
    defined: int
    smallest: int = 0
    parts: tuple[tuple[Measure, int], ...] = field(default=(), repr=False)

    def to_json(self, floor: int | None = None, confidence: Confidence = CONFIDENCE_95) -> dict[str, Any]:
        """The plain form. Args: floor: with one, only what follows from what may be told of each part (`floors`)."""
        found = self if floor is None else self._under(floor, confidence)

        def told(value: float | None) -> float | None:
            return value if value is None or floor is None else round(value, 2)

        return {
            "pooled": found.pooled.to_json(),
            "mean": told(found.mean),
            "standard_deviation": told(found.deviation),
            "least": told(found.least),
            "most": told(found.most),
            "parts_with_a_value": found.defined,
        }

    def _under(self, floor: int, confidence: Confidence) -> Spread:
        """Of the parts as each would be told by itself; nothing but the pooled measure where one would not be."""
        whole = shown(self.pooled, floor, confidence, smallest=self.smallest)
        values = [shown(part, floor, confidence, smallest=few).value for part, few in self.parts]
        return _spread(whole, [] if None in values else values)


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
    found = {}
    for name, measure in COMBINED.items():
        parts = tuple((measure(part, confidence), part.smallest) for part in matrices)
        spread = _spread(measure(whole, confidence), [part.value for part, _ in parts])
        found[name] = replace(spread, smallest=whole.smallest, parts=parts)
    return found


def may_be_shown(shown: Collection[str], pooled_over: Collection[str]) -> bool:
    """Whether the results of these hospitals may stand beside the pooled one.

    The pooled result less those that are shown tells of the others together, so these are three or more, or nobody.
    """
    hidden = len(set(pooled_over) - set(shown))
    return hidden == 0 or hidden >= FEWEST_HIDDEN


def _spread(whole: Measure, parts: Sequence[float | None]) -> Spread:
    values = [value for value in parts if value is not None]
    if not values:
        return Spread(whole, None, None, None, None, 0)
    mean = math.fsum(values) / len(values)
    deviation = None
    if len(values) > 1:
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return Spread(whole, mean, deviation, min(values), max(values), len(values))
