"""How well the scores of leaves put records of a class before the others: AUC, ROC and precision-recall points.

A tree gives few different scores, so ties are the rule: a pair of records with equal scores counts half, as Mann and
Whitney count it. Scores are compared as fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, by_influence, undefined
from shared.evaluation.probabilities import fault, scores_of
from shared.evaluation.table import LeafTable
from shared.texts import text


@dataclass(frozen=True, slots=True)
class Step:
    """Records with one score. `positive`: of the class in question; `negative`: of the others."""

    score: Fraction
    positive: int
    negative: int


@dataclass(frozen=True, slots=True)
class RocPoint:
    """What calling the class at `threshold` and above finds: true and false positives among all of either side.

    `threshold` None: nothing is called.
    """

    threshold: Fraction | None
    true_positives: int
    false_positives: int


def steps_of(table: LeafTable, k: int) -> list[Step]:
    """The scores of class k that records got, highest first."""
    found: dict[tuple[int, int], list[int]] = {}
    for place, counts in table.reached():
        sides = found.setdefault(scores_of(place)[k].as_integer_ratio(), [0, 0])
        sides[0] += counts[k]
        sides[1] += sum(counts) - counts[k]
    steps = [Step(Fraction(*ratio), *sides) for ratio, sides in found.items()]
    # Floats rise with fractions, so they may go first: fractions are compared only where floats are equal.
    return sorted(steps, key=lambda step: (float(step.score), step.score), reverse=True)


def filled(steps: Iterable[Step]) -> tuple[int, ...]:
    """The cells of scores and sides that hold records, from which a figure of scores would tell a small one."""
    return tuple(count for step in steps for count in (step.positive, step.negative) if count)


def roc(table: LeafTable, k: int) -> list[RocPoint]:
    """The points of the curve from (0, 0) to (all, all), one a score. Empty where the tree has no scores."""
    if fault(table):
        return []
    steps = steps_of(table, k)
    positives = accumulate(step.positive for step in steps)
    negatives = accumulate(step.negative for step in steps)
    points = [RocPoint(s.score, p, n) for s, p, n in zip(steps, positives, negatives, strict=True)]
    return [RocPoint(None, 0, 0), *points]


def average_precision(table: LeafTable, k: int) -> Measure:
    """The sum over thresholds of precision times the gain in recall: the area under the precision-recall steps."""
    if reason := fault(table):
        return undefined(reason)
    points, positives = roc(table, k), table.truth[k]
    parts = (positives, *filled(steps_of(table, k)))
    if not positives:
        return undefined(text("measured.none_true"))
    value = math.fsum(
        (after.true_positives - before.true_positives)
        / positives
        * after.true_positives
        / (after.true_positives + after.false_positives)
        for before, after in pairwise(points)
    )
    if value >= 1:
        parts = (*parts, 0)
    return Measure(value, reason=text("measured.no_interval"), records=table.records, parts=parts)


def auc(table: LeafTable, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The chance that a record of class k scores higher than one of another class, ties half.

    Interval: E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, Comparing the areas under two or more correlated
    receiver operating characteristic curves, Biometrics 44 (1988), on the scale of the logit, so that it stays within
    0 to 1.
    """
    if reason := fault(table):
        return undefined(reason)
    steps = steps_of(table, k)
    positives, negatives = sum(s.positive for s in steps), sum(s.negative for s in steps)
    if not positives or not negatives:
        return undefined(text("measured.one_sided"))
    value = _twice_u(steps) / (2 * positives * negatives)
    parts = (positives, negatives, *filled(steps))
    if positives < 2 or negatives < 2 or not 0 < value < 1:
        reason = text("measured.same_order")
        return Measure(value, reason=reason, records=table.records, parts=(*parts, 0))
    error = math.sqrt(sum(_variances(steps, value, positives, negatives)))
    if error == 0:
        reason = text("measured.no_score_spread")
        return Measure(value, reason=reason, records=table.records, parts=parts)
    half = confidence.z * error / (value * (1 - value))
    middle = math.log(value / (1 - value))
    low, high = (1 / (1 + math.exp(-end)) for end in (middle - half, middle + half))
    return Measure(value, low, high, "DeLong, logit", records=table.records, parts=parts)


def macro_auc(table: LeafTable, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The plain mean of the AUCs of the classes that have one, each against the rest."""
    if reason := fault(table):
        return undefined(reason)
    truth, n = table.truth, table.records
    ranked = [k for k, count in enumerate(truth) if 0 < count < n]
    if not ranked:
        return undefined(text("measured.one_sided"))
    reached = table.reached()
    others = [0.0] * len(reached)
    extra = [[0.0] * len(truth) for _ in reached]
    values: list[float] = []
    for k in ranked:
        steps = steps_of(table, k)
        positives, negatives = truth[k], n - truth[k]
        value = _twice_u(steps) / (2 * positives * negatives)
        values.append(value)
        ends = {
            step.score.as_integer_ratio(): (
                (v10 - value) / positives * n / len(ranked),
                (v01 - value) / negatives * n / len(ranked),
            )
            for step, v10, v01 in _components(steps, positives, negatives)
        }
        for number, (place, _) in enumerate(reached):
            own, other = ends[scores_of(place)[k].as_integer_ratio()]
            others[number] += other
            extra[number][k] = own - other
    cells = (
        (count, others[number] + extra[number][true])
        for number, (_, counts) in enumerate(reached)
        for true, count in enumerate(counts)
        if count
    )
    return by_influence(math.fsum(values) / len(values), cells, confidence, bounds=(0.0, 1.0))


def _twice_u(steps: list[Step]) -> int:
    """Twice the number of pairs in the right order, ties half: a whole number."""
    below, total = sum(step.negative for step in steps), 0
    for step in steps:
        below -= step.negative
        total += step.positive * (2 * below + step.negative)
    return total


def _components(steps: list[Step], positives: int, negatives: int) -> Iterator[tuple[Step, float, float]]:
    """Of each score: the share of negatives below it (ties half), and the share of positives above it (ties half)."""
    below, above = negatives, 0
    for step in steps:
        below -= step.negative
        v10 = (2 * below + step.negative) / (2 * negatives)
        v01 = (2 * above + step.positive) / (2 * positives)
        above += step.positive
        yield step, v10, v01


def _variances(steps: list[Step], value: float, positives: int, negatives: int) -> tuple[float, float]:
    """The two parts of DeLong's variance."""
    parts = list(_components(steps, positives, negatives))
    s10 = math.fsum(step.positive * (v10 - value) ** 2 for step, v10, _ in parts)
    s01 = math.fsum(step.negative * (v01 - value) ** 2 for step, _, v01 in parts)
    return s10 / ((positives - 1) * positives), s01 / ((negatives - 1) * negatives)
