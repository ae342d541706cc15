"""Whether scores mean what they say: of the records that got the score 0.8 for a class, do eight in ten have it?

Bins have fixed bounds; a score on a bound belongs to the bin above it, 1 to the last. Which bin a score is in is
decided by fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, share, undefined
from shared.evaluation.probabilities import fault
from shared.evaluation.ranking import Step, filled, steps_of
from shared.evaluation.table import LeafTable, Smoothing
from shared.texts import text

BINS: Final = 10
_MOST_STEPS: Final = 100
_CLOSE: Final = 1e-12
_HALF: Final = 0.5
_FAR: Final = 30.0
"""A slope or intercept beyond this is on its way to infinity: the scores part the classes without an overlap."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Records whose score of a class is in [low, high). `expected`: their mean score. `observed`: who has the class."""

    low: float
    high: float
    records: int
    expected: float | None
    observed: Measure

    def to_json(self) -> dict[str, Any]:
        """The plain form."""
        return {
            "from": self.low,
            "to": self.high,
            "records": self.records,
            "expected": self.expected,
            "observed": self.observed.to_json(),
        }


def bins_of(
    table: LeafTable, k: int, confidence: Confidence = CONFIDENCE_95, *, bins: int = BINS
) -> list[Bin]:
    """The bins of class k, empty ones included. No bins where the tree has no scores."""
    if fault(table):
        return []
    sorted_in: list[list[Step]] = [[] for _ in range(bins)]
    for step in steps_of(table, k):
        sorted_in[min(int(step.score * bins), bins - 1)].append(step)
    return [_bin(place, found, bins, confidence) for place, found in enumerate(sorted_in)]


def expected_calibration_error(table: LeafTable, k: int, *, bins: int = BINS) -> Measure:
    """The mean over records of the distance between expected and observed share of their bin; 0 to 1.

    Source: M. P. Naeini, G. F. Cooper, M. Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning,
    AAAI 2015. It grows with the number of bins and shrinks with that of records: compare like with like.
    """
    if reason := fault(table):
        return undefined(reason)
    found = [entry for entry in bins_of(table, k, bins=bins) if entry.records]
    off = math.fsum(e.records * abs((e.expected or 0.0) - (e.observed.value or 0.0)) for e in found)
    return Measure(
        off / table.records,
        reason=text("measured.no_interval"),
        records=table.records,
        parts=tuple(part for entry in found for part in entry.observed.parts),
    )


def in_the_large(table: LeafTable, k: int) -> Measure:
    """Records that have class k over those that the scores expect; 1 is best."""
    if reason := fault(table):
        return undefined(reason)
    steps = steps_of(table, k)
    expected = _expected(steps)
    observed = sum(step.positive for step in steps)
    if not expected:
        return undefined(text("measured.none_expected"))
    parts = (observed, *filled(steps))
    if (
        abs(observed - expected) < _HALF
    ):  # mostly since no record is an exception, which is a small count as well
        parts = (*parts, 0)
    return Measure(
        observed / expected, reason=text("measured.no_interval"), records=table.records, parts=parts
    )


def recalibration(
    table: LeafTable, k: int, confidence: Confidence = CONFIDENCE_95
) -> tuple[Measure, Measure]:
    """(intercept, slope) of a logistic regression of class k on the logit of its score; (0, 1) is best.

    Scores of 0 and 1 have no logit: where there are any, smooth them (`Smoothing`). Source: D. R. Cox, Two further
    applications of a model for binary regression, Biometrika 45 (1958); intervals are Wald's.
    """
    reason = fault(table)
    steps = [] if reason else steps_of(table, k)
    if not reason and any(step.score in (0, 1) for step in steps):
        reason = text("measured.no_logit")
    if not reason and len(steps) < 2:
        reason = text("measured.one_score")
    if not reason and 0 in (sum(s.positive for s in steps), sum(s.negative for s in steps)):
        reason = text("measured.one_sided")
    fitted = None if reason else _fit(steps)
    if fitted is None:
        nothing = undefined(reason or text("measured.no_overlap"))
        return nothing, nothing
    parts = filled(steps)
    found = []
    for value, error in fitted:
        half = confidence.z * error
        made = Measure(value, value - half, value + half, "Wald", records=table.records, parts=parts)
        found.append(made)
    return found[0], found[1]


def laplace(classes: int) -> Smoothing:
    """The smoothing that gives no class a score of 0: Laplace's rule."""
    return Smoothing(classes, "uniform")


def _bin(place: int, steps: list[Step], bins: int, confidence: Confidence) -> Bin:
    records = sum(step.positive + step.negative for step in steps)
    positives = sum(step.positive for step in steps)
    return Bin(
        place / bins,
        (place + 1) / bins,
        records,
        _expected(steps) / records if records else None,
        share(positives, records, confidence, empty=text("measured.no_such_score")),
    )


def _expected(steps: list[Step]) -> float:
    """How many records of the class the scores expect."""
    return math.fsum(float(step.score * (step.positive + step.negative)) for step in steps)


def _fit(steps: list[Step]) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Newton's steps to the greatest likelihood: (value, standard error) of intercept and slope; None: no end."""
    points = [
        (math.log(step.score / (1 - step.score)), step.positive, step.positive + step.negative)
        for step in steps
    ]
    intercept, slope = 0.0, 1.0
    for _ in range(_MOST_STEPS):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for x, positive, records in points:
            p = 1 / (1 + math.exp(-max(-700.0, min(700.0, intercept + slope * x))))
            weight = records * p * (1 - p)
            g0, g1 = g0 + positive - records * p, g1 + x * (positive - records * p)
            h00, h01, h11 = h00 + weight, h01 + weight * x, h11 + weight * x * x
        determinant = h00 * h11 - h01 * h01
        if determinant <= _CLOSE * max(h00 * h11, _CLOSE):
            return None
        step0 = (h11 * g0 - h01 * g1) / determinant
        step1 = (h00 * g1 - h01 * g0) / determinant
        intercept, slope = intercept + step0, slope + step1
        if max(abs(intercept), abs(slope)) > _FAR:
            return None
        if max(abs(step0), abs(step1)) < _CLOSE:
            return (intercept, math.sqrt(h11 / determinant)), (slope, math.sqrt(h00 / determinant))
    return None
