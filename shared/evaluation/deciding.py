"""From scores to decisions: a threshold from what errors cost, and whether deciding by it beats treating all or nobody.

For one class against the rest. Thresholds and scores are compared as fractions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from shared.errors import InputError
from shared.evaluation.ranking import RocPoint, roc
from shared.evaluation.table import LeafTable

THRESHOLDS: Final = tuple(Fraction(percent, 100) for percent in range(5, 100, 5))


@dataclass(frozen=True, slots=True)
class Decided:
    """What comes of calling a class from `threshold` on: hits, misses, false alarms, and the rest."""

    threshold: Fraction
    tp: int
    fn: int
    fp: int
    tn: int


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """Net true positives a record at one threshold: by the tree, and if everybody were called. Nobody called: 0."""

    threshold: Fraction
    by_tree: Fraction
    by_all: Fraction


def threshold_of(cost_of_false_alarm: int, cost_of_miss: int) -> Fraction:
    """The score from which calling the class costs less than not calling it, if scores are true probabilities.

    Source: C. Elkan, The foundations of cost-sensitive learning, IJCAI 2001, equation 2. Raises: InputError.
    """
    if cost_of_false_alarm < 1 or cost_of_miss < 1:
        raise InputError("expected two costs of 1 or more", where="costs of errors")
    return Fraction(cost_of_false_alarm, cost_of_false_alarm + cost_of_miss)


def decide(table: LeafTable, k: int, threshold: Fraction) -> Decided:
    """Call class k at a score of the threshold or more. Raises: InputError: the tree has no scores."""
    point = _at(_points(table, k), threshold)
    positives = table.truth[k]
    negatives = table.records - positives
    return Decided(
        threshold,
        point.true_positives,
        positives - point.true_positives,
        point.false_positives,
        negatives - point.false_positives,
    )


def cheapest(table: LeafTable, k: int, cost_of_false_alarm: int, cost_of_miss: int) -> Decided:
    """The threshold among the tree's scores whose errors on these records cost least; the highest of equals.

    Chosen on the records it is judged by, it flatters: judge it on others. Raises: InputError: the tree has no scores.
    """
    threshold_of(cost_of_false_alarm, cost_of_miss)
    scores = [point.threshold for point in _points(table, k) if point.threshold is not None]
    options = [decide(table, k, threshold) for threshold in (Fraction(2), *scores)]
    return min(options, key=lambda d: (d.fp * cost_of_false_alarm + d.fn * cost_of_miss, -d.threshold))


def net_benefit(table: LeafTable, k: int, thresholds: Iterable[Fraction] = THRESHOLDS) -> list[NetBenefit]:
    """The decision curve: tp/n - fp/n * t/(1-t) at each threshold t, 0 < t < 1. Empty without scores or records.

    Source: A. J. Vickers, E. B. Elkin, Decision curve analysis, Medical Decision Making 26 (2006).
    """
    points, n = roc(table, k), table.records
    found: list[NetBenefit] = []
    for threshold in thresholds if points and n else ():
        odds = threshold / (1 - threshold)
        point, positives = _at(points, threshold), table.truth[k]
        found.append(
            NetBenefit(
                threshold,
                (point.true_positives - odds * point.false_positives) / n,
                (positives - odds * (n - positives)) / n,
            )
        )
    return found


def _points(table: LeafTable, k: int) -> list[RocPoint]:
    points = roc(table, k)
    if not points:
        raise InputError(
            "no scores to decide by: no record was judged, or the tree came without counts",
            where="threshold",
        )
    return points


def _at(points: list[RocPoint], threshold: Fraction) -> RocPoint:
    """The point of everything that scores the threshold or more; the points fall with their scores."""
    last = points[0]
    for point in points[1:]:
        if point.threshold is None or point.threshold < threshold:
            break
        last = point
    return last
