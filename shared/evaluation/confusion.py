"""Predicted against true classes: the matrix, its shares, and how well the two agree beyond chance.

Per class k against the rest: hits tp, misses fn, false alarms fp. A class that is neither true nor predicted anywhere
has no F1 and is left out of means; so is a class without true records of the balanced accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from shared.evaluation.measures import (
    CONFIDENCE_95,
    Confidence,
    Measure,
    by_influence,
    mean_of_shares,
    share,
    undefined,
)
from shared.evaluation.table import Counts, LeafTable
from shared.texts import text


@dataclass(frozen=True, slots=True)
class Confusion:
    """Records by true class (rows) and predicted class (columns)."""

    classes: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, table: LeafTable) -> Confusion:
        """The matrix of a table: every record of a place is predicted that place's class."""
        size = len(table.classes)
        cells = [[0] * size for _ in range(size)]
        for place, counts in zip(table.places, table.counts, strict=True):
            for true, count in enumerate(counts):
                cells[true][place.label] += count
        return cls(table.classes, tuple(map(tuple, cells)))

    def with_votes(self, votes: Sequence[Counts]) -> Confusion:
        """With records that the branches of a split answered together. Args: votes: answered class x true class."""
        if not votes:
            return self
        voted = zip(*votes, strict=True)
        cells = (
            tuple(map(sum, zip(row, more, strict=True))) for row, more in zip(self.cells, voted, strict=True)
        )
        return Confusion(self.classes, tuple(cells))

    @property
    def records(self) -> int:
        """All records judged."""
        return sum(self.truth)

    @property
    def smallest(self) -> int:
        """Records of the smallest true class that has any."""
        return min(filter(None, self.truth), default=0)

    @property
    def right(self) -> int:
        """Records whose class was predicted."""
        return sum(row[k] for k, row in enumerate(self.cells))

    @property
    def truth(self) -> tuple[int, ...]:
        """Records per true class."""
        return tuple(map(sum, self.cells))

    @property
    def predicted(self) -> tuple[int, ...]:
        """Records per predicted class."""
        return tuple(map(sum, zip(*self.cells, strict=True)))

    def against_rest(self, k: int) -> tuple[int, int, int, int]:
        """(tp, fn, fp, tn) of class k."""
        tp = self.cells[k][k]
        fn, fp = self.truth[k] - tp, self.predicted[k] - tp
        return tp, fn, fp, self.records - tp - fn - fp

    def filled(self) -> Iterator[tuple[int, int, int]]:
        """(true class, predicted class, records) of the cells that are not empty."""
        for i, row in enumerate(self.cells):
            for j, count in enumerate(row):
                if count:
                    yield i, j, count


def accuracy(matrix: Confusion, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The share of records whose class was predicted."""
    return share(matrix.right, matrix.records, confidence)


def balanced_accuracy(matrix: Confusion, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """The mean sensitivity of the classes that have records."""
    return mean_of_shares(sensitivity(matrix, k, confidence) for k in range(len(matrix.classes)))


def sensitivity(matrix: Confusion, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Of the records of class k, the share predicted so (recall)."""
    tp, fn, _, _ = matrix.against_rest(k)
    return share(tp, tp + fn, confidence, empty=text("measured.none_true"))


def specificity(matrix: Confusion, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Of the records of other classes, the share predicted another class than k."""
    _, _, fp, tn = matrix.against_rest(k)
    return share(tn, tn + fp, confidence, empty=text("measured.all_true"))


def positive_predictive_value(matrix: Confusion, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Of the records predicted as class k, the share that has it (precision)."""
    tp, _, fp, _ = matrix.against_rest(k)
    return share(tp, tp + fp, confidence, empty=text("measured.none_predicted"))


def negative_predictive_value(matrix: Confusion, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Of the records predicted as another class than k, the share that does not have it."""
    _, fn, _, tn = matrix.against_rest(k)
    return share(tn, tn + fn, confidence, empty=text("measured.all_predicted"))


def f1(matrix: Confusion, k: int, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """2 tp / (2 tp + fn + fp). With the share J = tp / (tp + fn + fp) it is 2 J / (1 + J), and so is its interval."""
    tp, fn, fp, _ = matrix.against_rest(k)
    return _f1_of_parts(tp, fn + fp, confidence)


def _f1_of_parts(hits: int, errors: int, confidence: Confidence) -> Measure:
    found = share(hits, hits + errors, confidence, empty=text("measured.nowhere"))
    if found.value is None or found.low is None or found.high is None:
        return found
    value, low, high = (2 * j / (1 + j) for j in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high, again=_f1_of_parts)


def mean_f1(matrix: Confusion, confidence: Confidence = CONFIDENCE_95, *, weighted: bool = False) -> Measure:
    """The mean F1 of the classes that have one: plain (macro), or weighted by their true records."""
    sums = [t + p for t, p in zip(matrix.truth, matrix.predicted, strict=True)]
    present = [k for k, total in enumerate(sums) if total]
    if not present:
        return undefined(text("measured.no_records"))
    n = matrix.records
    scores = {k: 2 * matrix.cells[k][k] / sums[k] for k in present}
    weights = {k: matrix.truth[k] / n if weighted else 1 / len(present) for k in present}
    value = math.fsum(weights[k] * scores[k] for k in present)

    def slope(i: int, j: int) -> float:
        # Of the sum over k of w_k * 2 p_kk / (t_k + p_k), by one cell's share; n makes shares of the sums.
        gain = sum(weights[k] * (-scores[k]) * n / sums[k] for k in (i, j))
        hit = 2 * weights[i] * n / sums[i] if i == j else 0.0
        return gain + hit + (scores[i] if weighted else 0.0)

    cells = ((count, slope(i, j)) for i, j, count in matrix.filled())
    return by_influence(value, cells, confidence, bounds=(0.0, 1.0))


def kappa(matrix: Confusion, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Cohen's kappa: agreement beyond that of chance with the same margins, at most 1.

    Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20
    (1960); the variance is that of J. L. Fleiss, J. Cohen, B. S. Everitt, Psychological Bulletin 72 (1969).
    """
    n = matrix.records
    if not n:
        return undefined(text("measured.no_records"))
    by_chance = sum(t * p for t, p in zip(matrix.truth, matrix.predicted, strict=True))
    if by_chance == n * n:
        return undefined(text("measured.chance_explains"))
    observed, expected = matrix.right / n, by_chance / (n * n)
    value = (matrix.right * n - by_chance) / (n * n - by_chance)

    def slope(i: int, j: int) -> float:
        margins = (matrix.predicted[i] + matrix.truth[j]) / n
        return (i == j) / (1 - expected) - (1 - observed) * margins / (1 - expected) ** 2

    cells = ((count, slope(i, j)) for i, j, count in matrix.filled())
    return by_influence(value, cells, confidence, bounds=(-1.0, 1.0))


def matthews(matrix: Confusion, confidence: Confidence = CONFIDENCE_95) -> Measure:
    """Matthews' correlation of true and predicted class, for any number of classes; -1 to 1.

    Source: J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, Computational
    Biology and Chemistry 28 (2004).
    """
    n = matrix.records
    if not n:
        return undefined(text("measured.no_records"))
    truth, predicted = matrix.truth, matrix.predicted
    joint = matrix.right * n - sum(t * p for t, p in zip(truth, predicted, strict=True))
    of_truth = n * n - sum(t * t for t in truth)
    of_predicted = n * n - sum(p * p for p in predicted)
    if not of_truth or not of_predicted:
        return undefined(text("measured.one_class_true" if not of_truth else "measured.one_class_predicted"))
    value = joint / math.sqrt(of_truth * of_predicted)
    scale, square = math.sqrt(of_truth * of_predicted) / (n * n), n * n

    def slope(i: int, j: int) -> float:
        top = (i == j) - (predicted[i] + truth[j]) / n
        bottom = truth[i] / n * square / of_truth + predicted[j] / n * square / of_predicted
        return top / scale + value * bottom

    cells = ((count, slope(i, j)) for i, j, count in matrix.filled())
    return by_influence(value, cells, confidence, bounds=(-1.0, 1.0))
