"""How good the scores of leaves are as probabilities, without a threshold: Brier score, log loss, and a baseline.

The loss of a record is a fraction until it is summed with those of other places, as a float and correctly rounded.
"""

from __future__ import annotations

import math
from fractions import Fraction

from shared.evaluation.measures import (
    CONFIDENCE_95,
    Confidence,
    Measure,
    mean_loss,
    undefined,
)
from shared.evaluation.table import LeafTable, Place
from shared.texts import text


def scores_of(place: Place) -> tuple[Fraction, ...]:
    """The scores of a place that has them."""
    if place.scores is None:
        raise ValueError("scores")
    return place.scores


def fault(table: LeafTable) -> str:
    """Why a table has no measure of its scores; empty where it has."""
    if not table.records:
        return text("measured.no_records")
    return "" if table.has_scores else text("measured.no_scores")


def brier(table: LeafTable, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The mean over records of sum_k (score_k - [k is true])^2; 0 is best, 2 worst.

    Source: G. W. Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78 (1950).
    """
    if reason := fault(table):
        return undefined(reason)
    cells: list[tuple[int, float]] = []
    for scores, counts in _scored(table):
        squares = sum((score * score for score in scores), Fraction(0))
        cells += [
            (count, float(squares - 2 * scores[true] + 1)) for true, count in enumerate(counts) if count
        ]
    return mean_loss(cells, confidence, bounds=(0.0, 2.0))


def brier_of_class(table: LeafTable, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The mean of (score_k - [k is true])^2, class k against the rest; 0 is best, 1 worst."""
    if reason := fault(table):
        return undefined(reason)
    cells: list[tuple[int, float]] = []
    for scores, counts in _scored(table):
        own, score = counts[k], scores[k]
        cells += [(own, float((1 - score) ** 2)), (sum(counts) - own, float(score**2))]
    return mean_loss(cells, confidence, bounds=(0.0, 1.0))


def brier_skill(table: LeafTable) -> Measure:
    """1 - Brier / Brier of always answering the shares of the judged records; 1 is best, 0 no better than those."""
    if reason := fault(table):
        return undefined(reason)
    n = table.records
    baseline = 1 - sum(Fraction(count, n) ** 2 for count in table.truth)
    if not baseline:
        return undefined(text("measured.one_class"))
    score = brier(table)
    value = None if score.value is None else 1 - score.value / float(baseline)
    return Measure(value, reason=text("measured.no_interval"), records=n, parts=score.parts)


def log_loss(table: LeafTable, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The mean of -ln(score of the true class); 0 is best, without an upper bound.

    Not defined where a class occurs at a place that gives it a score of 0; smoothed scores are never 0.
    """
    if reason := fault(table):
        return undefined(reason)
    losses: list[tuple[int, float]] = []
    for scores, counts in _scored(table):
        for true, count in enumerate(counts):
            if not count:
                continue
            if not scores[true]:
                return undefined(text("measured.score_zero"))
            losses.append((count, -math.log(scores[true])))
    return mean_loss(losses, confidence, bounds=(0.0, math.inf))


def _scored(table: LeafTable) -> list[tuple[tuple[Fraction, ...], tuple[int, ...]]]:
    return [(scores_of(place), counts) for place, counts in table.reached()]
