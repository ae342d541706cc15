"""What of an evaluation may leave a hospital's own eyes: no count below a floor, and nothing from which one follows.

Three rules. A count below the floor is told as "< 5" (zero as well, for it tells of everybody), every other count is
rounded to a multiple of the floor, sums of their own, so that no small cell is the difference of two that are told. A
measure that rests on a small part is rounded so coarsely that as many counts as the floor would give the same figure;
where even a tenth is too fine, it is withheld. Curves are drawn from rounded counts. It is rounding, no proof: who
holds many rounded figures together may narrow a small cell down.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from shared.evaluation.confusion import Confusion
from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, share_interval
from shared.evaluation.table import LeafTable

DEFAULT_FLOOR: Final = 5
_STEPS: Final = (100, 50, 20, 10)
"""A figure is told in hundredths, fiftieths, twentieths or tenths."""
_SHARES: Final = ("wilson", "clopper-pearson")


def rounded(count: int, floor: int) -> int:
    """The nearest multiple of the floor, halves up."""
    return floor * ((2 * count + floor) // (2 * floor))


def shown_count(count: int, floor: int | None) -> int | str:
    """A count as it is told: exact without a floor, else rounded, or "< 5"."""
    if floor is None:
        return count
    return f"< {floor}" if count < floor else rounded(count, floor)


def shown_matrix(matrix: Confusion, floor: int | None) -> list[list[int | str]]:
    """The cells as they are told."""
    return [[shown_count(count, floor) for count in row] for row in matrix.cells]


def rounded_table(table: LeafTable, floor: int | None) -> LeafTable:
    """The table from which curves and bins are drawn: every cell rounded."""
    if floor is None:
        return table
    cells = tuple(tuple(rounded(count, floor) for count in counts) for counts in table.counts)
    return replace(table, counts=cells)


def shown(measure: Measure, floor: int | None, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """A measure as it is told. Args: confidence: the one it was made with."""
    if floor is None or measure.value is None:
        return measure
    steps = _steps_of(measure, floor)
    if steps is None:
        return Measure(None, reason=f"too few records to tell it under a floor of {floor}")
    value = round(measure.value * steps) / steps
    if measure.low is None or measure.high is None:
        return replace(measure, value=value, parts=())
    if measure.method in _SHARES:
        total = max(floor, rounded(measure.records, floor))
        low, high = share_interval(round(value * total), total, confidence)
    else:
        low, high = math.floor(measure.low * steps) / steps, math.ceil(measure.high * steps) / steps
    return replace(measure, value=value, low=round(low, 2), high=round(high, 2), parts=())


def _steps_of(measure: Measure, floor: int) -> int | None:
    """Into how many steps 1 is divided; None: into so few that nothing is told."""
    if min(measure.parts, default=floor) >= floor:
        return _STEPS[0]
    return next((steps for steps in _STEPS if measure.records >= floor * steps), None)
