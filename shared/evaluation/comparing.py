"""Two ways of answering for the same records: the joint tree and a hospital's own, or a tree and its baseline.

The table of who was right needs both answers for each record, so it is made where the records are, and stays there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shared.errors import InputError
from shared.evaluation.binomial import binomial_tail
from shared.evaluation.confusion import Confusion, accuracy
from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, share, undefined
from shared.texts import text


@dataclass(frozen=True, slots=True)
class Paired:
    """Records by which of two trees was right."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def records(self) -> int:
        """All records that both answered for."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def p_value(self) -> float | None:
        """McNemar's exact test that both are right equally often, two-sided; None: they are never right apart.

        Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika
        12 (1947); exact by the binomial distribution.
        """
        apart = self.first_only + self.second_only
        if not apart:
            return None
        return min(1.0, 2 * binomial_tail(max(self.first_only, self.second_only), apart, 0.5))

    def difference(self, confidence: Confidence = CONFIDENCE_95) -> Measure:
        """The first's accuracy minus the second's, -1 to 1.

        Interval: D. G. Bonett, R. M. Price, Adjusted Wald confidence interval for a difference of binomial proportions
        based on paired data, Journal of Educational and Behavioral Statistics 37 (2012).
        """
        n = self.records
        if not n:
            return undefined(text("measured.no_records"))
        first, second = (self.first_only + 1) / (n + 2), (self.second_only + 1) / (n + 2)
        half = confidence.z * math.sqrt((first + second - (first - second) ** 2) / (n + 2))
        return Measure(
            (self.first_only - self.second_only) / n,
            max(-1.0, first - second - half),
            min(1.0, first - second + half),
            "Bonett and Price",
            records=n,
            parts=(self.both, self.first_only, self.second_only, self.neither),
        )

    def to_json(self, confidence: Confidence = CONFIDENCE_95) -> dict[str, Any]:
        """The plain form, for the eyes of the hospital whose records these are."""
        return {
            "records": self.records,
            "both_right": self.both,
            "first_only_right": self.first_only,
            "second_only_right": self.second_only,
            "neither_right": self.neither,
            "accuracy_first": share(self.both + self.first_only, self.records, confidence).to_json(),
            "accuracy_second": share(self.both + self.second_only, self.records, confidence).to_json(),
            "difference": self.difference(confidence).to_json(),
            "mcnemar_p": self.p_value,
        }


def compare(first: Sequence[int], second: Sequence[int], truth: Sequence[int]) -> Paired:
    """Two trees' class indices for the same records, held against the true ones. Raises: InputError: other lengths."""
    if not len(first) == len(second) == len(truth):
        raise InputError("expected two answers and one true class for each record", where="comparison")
    cells = [0, 0, 0, 0]
    for one, two, true in zip(first, second, truth, strict=True):
        cells[(one != true) * 2 + (two != true)] += 1
    return Paired(cells[0], cells[1], cells[2], cells[3])


@dataclass(frozen=True, slots=True)
class Baseline:
    """What answering one class for every record would have reached.

    `best`: with the class most frequent among the judged (the no-information rate). `expected`: with the class most
    frequent in the training; None where that is not known. `p_value`: how probable so many right answers would be for a
    tree no better than `best`; one-sided, exact, None without records.
    """

    best: Measure
    expected: Measure | None
    p_value: float | None


def baseline(
    matrix: Confusion, training_majority: int | None, confidence: Confidence = CONFIDENCE_95
) -> Baseline:
    """The baseline of a matrix. Args: training_majority: class index."""
    most = max(matrix.truth, default=0)
    best = share(most, matrix.records, confidence)
    chance = best.value
    return Baseline(
        best,
        None
        if training_majority is None
        else share(matrix.truth[training_majority], matrix.records, confidence),
        None
        if chance is None or accuracy(matrix).value is None
        else binomial_tail(matrix.right, matrix.records, chance),
    )
