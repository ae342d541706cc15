"""What of an evaluation may leave a hospital's own eyes: no count below a floor, and nothing from which one follows.

A count below the floor is told as "< 5" (zero as well, for it tells of everybody), every other count is rounded to a
multiple of the floor, sums of their own, so that no small cell is the difference of two that are told. A share of which
one side is below the floor is told as if that side had a fixed number, so that all numbers below the floor give one
figure. Other measures with a small part are rounded the more coarsely the fewer records they rest on (those of the
smallest class, where classes count alike), and withheld where a tenth is too fine. Curves are drawn from counts with
stand-ins, and what chance alone would do is reckoned from rounded ones. This is rounding, no proof: who holds many
rounded figures together may narrow a small cell down.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from shared.evaluation.confusion import Confusion
from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, OfTwo
from shared.evaluation.table import Counts, LeafTable
from shared.texts import text

DEFAULT_FLOOR: Final = 5
_STEPS: Final = (100, 50, 20, 10)
"""A figure is told in hundredths, fiftieths, twentieths or tenths."""


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
    """The table from which curves and bins are drawn: cells rounded, and one stand-in for all numbers below the floor.

    A place of small cells alone is empty: a tree has many that no record came to, and which would tell.
    """
    if floor is None:
        return table
    return replace(table, counts=tuple(_row_in_steps(counts, floor) for counts in table.counts))


def shown(
    measure: Measure,
    floor: int | None,
    confidence: Confidence = CONFIDENCE_95,
    *,
    smallest: int | None = None,
) -> Measure:
    """A measure as it is told.

    Args: confidence: the one it was made with. smallest: records of the smallest class, for a measure in which each
        class counts as much as another, so that one record of that class moves it most; None: each record counts alike.
    """
    if floor is None:
        return measure
    if measure.value is None:
        return measure if measure.reason == text("measured.no_scores") else _withheld(floor)
    if min(measure.parts, default=floor) >= floor:
        return _in_steps(measure, _STEPS[0])
    if measure.again is not None:
        return _as_if(measure, measure.again, floor, confidence)
    counted = measure.records if smallest is None else min(measure.records, smallest)
    steps = next((steps for steps in _STEPS if counted >= floor * steps), None)
    return _withheld(floor) if steps is None else _in_steps(measure, steps)


def shown_parts(measure: Measure, floor: int) -> tuple[int, int] | None:
    """The two sides of a share as they are told: multiples of the floor, or a stand-in for a small one.

    None: both may be small, and which of them is would tell.
    """
    if measure.records < 2 * floor - 1:
        return None
    hits, rest = measure.parts
    if min(hits, rest) >= floor:
        return rounded(hits, floor), rounded(rest, floor)
    stand_in = floor // 2
    other = rounded(measure.records, floor) - stand_in
    return (stand_in, other) if hits < floor else (other, stand_in)


def _as_if(measure: Measure, again: OfTwo, floor: int, confidence: Confidence) -> Measure:
    """The measure with a stand-in for its small part: the same figure whatever that part is below the floor."""
    parts = shown_parts(measure, floor)
    if parts is None:
        return _withheld(floor)
    reason = text("measured.stand_in", floor=floor, n=floor // 2)
    return replace(_in_steps(again(*parts, confidence), _STEPS[0]), reason=reason, records=measure.records)


def _in_steps(measure: Measure, steps: int) -> Measure:
    """Rounded, the interval outwards."""
    value = None if measure.value is None else round(measure.value * steps) / steps
    low = None if measure.low is None else math.floor(measure.low * steps) / steps
    high = None if measure.high is None else math.ceil(measure.high * steps) / steps
    return replace(measure, value=value, low=low, high=high, parts=(), again=None)


def _row_in_steps(counts: Counts, floor: int) -> Counts:
    if max(counts, default=0) < floor:
        return (0,) * len(counts)
    return tuple(floor // 2 if count < floor else rounded(count, floor) for count in counts)


def _withheld(floor: int) -> Measure:
    """Also what is not defined, for why it is not would tell of a count that it is zero."""
    return Measure(None, reason=text("measured.not_defined", floor=floor))
