"""Everything that one table says of a tree, under names, and its plain form for files and programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shared.evaluation import confusion as by_class
from shared.evaluation.binomial import binomial_tail
from shared.evaluation.calibration import (
    bins_of,
    expected_calibration_error,
    in_the_large,
    recalibration,
)
from shared.evaluation.comparing import Baseline, baseline
from shared.evaluation.confusion import Confusion
from shared.evaluation.deciding import net_benefit
from shared.evaluation.floors import rounded, rounded_table, shown, shown_count, shown_matrix, shown_parts
from shared.evaluation.measures import CONFIDENCE_95, Confidence, Measure, share
from shared.evaluation.probabilities import brier, brier_of_class, brier_skill, log_loss
from shared.evaluation.ranking import RocPoint, auc, average_precision, macro_auc, roc
from shared.evaluation.table import Counts, LeafTable

_OVERALL: Final[Mapping[str, Callable[[Confusion, Confidence], Measure]]] = {
    "accuracy": by_class.accuracy,
    "balanced_accuracy": by_class.balanced_accuracy,
    "f1_macro": by_class.mean_f1,
    "f1_weighted": lambda matrix, confidence: by_class.mean_f1(matrix, confidence, weighted=True),
    "kappa": by_class.kappa,
    "mcc": by_class.matthews,
}
_PER_CLASS: Final[Mapping[str, Callable[[Confusion, int, Confidence], Measure]]] = {
    "sensitivity": by_class.sensitivity,
    "specificity": by_class.specificity,
    "ppv": by_class.positive_predictive_value,
    "npv": by_class.negative_predictive_value,
    "f1": by_class.f1,
}
_BY_RECORD: Final = frozenset({"f1_weighted", "brier", "log_loss", "calibration_error"})
"""Means over records, in which the classes count by their size; shares have a rule of their own."""
OF_SCORES: Final = (
    "auc_macro",
    "auc",
    "average_precision",
    "brier",
    "brier_skill",
    "log_loss",
    "calibration_error",
    "observed_over_expected",
    "calibration_intercept",
    "calibration_slope",
)
"""Measures that see the score of a record's place: they leave out records for which branches voted."""


@dataclass(frozen=True, slots=True)
class ClassJudgement:
    """One class against the rest. `measures`: by name."""

    label: str
    measures: Mapping[str, Measure]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A tree judged. `overall`: measures by name, those of scores among them. `against`: answering one class always.

    `votes`: records that the branches of a split answered together (answered class x true class). They are in `matrix`,
    not in `table`: without a place of their own they have no score.
    """

    table: LeafTable = field(repr=False)
    matrix: Confusion
    overall: Mapping[str, Measure]
    classes: tuple[ClassJudgement, ...]
    against: Baseline
    confidence: Confidence
    votes: tuple[Counts, ...] = field(default=(), repr=False)

    @property
    def records(self) -> int:
        """All records judged."""
        return self.matrix.records

    @property
    def voted(self) -> int:
        """Those of them that branches answered together."""
        return sum(map(sum, self.votes))

    def to_json(self, floor: int | None = None) -> dict[str, Any]:
        """The plain form. Args: floor: no count below it is told; None: exact, for the hospital's own eyes."""

        def told(measures: Mapping[str, Measure], smallest: int) -> dict[str, Any]:
            return {
                name: shown(
                    m, floor, self.confidence, smallest=None if name in _BY_RECORD else smallest
                ).to_json()
                for name, m in measures.items()
            }

        drawn = rounded_table(self.table, floor)
        return {
            "privet_evaluation": 1,
            "floor": floor,
            "level": self.confidence.level,
            "records": shown_count(self.records, floor),
            "stopped": shown_count(self.table.stopped, floor),
            **(self._votes(floor) if self.votes else {}),
            "confusion": {
                "classes": list(self.matrix.classes),
                "cells": shown_matrix(self.matrix, floor),
                "truth": [shown_count(count, floor) for count in self.matrix.truth],
                "predicted": [shown_count(count, floor) for count in self.matrix.predicted],
            },
            "overall": told(self.overall, self.matrix.smallest),
            "classes": [
                {"class": entry.label, "measures": told(entry.measures, self._side(k))}
                | _curves(drawn, k, self.confidence, floor)
                for k, entry in enumerate(self.classes)
            ],
            "baseline": self._baseline(floor),
            "places": [
                {
                    "node": p.node,
                    "label": p.label,
                    "leaf": p.is_leaf,
                    "counts": [shown_count(n, floor) for n in c],
                }
                for p, c in self.table.reached()
            ],
        }

    def _side(self, k: int) -> int:
        """Records of a class, or of all others where these are fewer."""
        return min(self.matrix.truth[k], self.records - self.matrix.truth[k])

    def _votes(self, floor: int | None) -> dict[str, Any]:
        """What rests on fewer records, and on how many."""
        return {
            "voted": shown_count(self.voted, floor),
            "scored": shown_count(self.table.records, floor),
            "measures_of_the_scored": list(OF_SCORES),
        }

    def _baseline(self, floor: int | None) -> dict[str, Any]:
        expected = self.against.expected
        return {
            "most_frequent_class": shown(self.against.best, floor, self.confidence).to_json(),
            "training_majority": None
            if expected is None
            else shown(expected, floor, self.confidence).to_json(),
            "p_value": self.against.p_value if floor is None else self._told_p_value(floor),
        }

    def _told_p_value(self, floor: int) -> float | None:
        """That of the counts as they are told: of the exact ones three digits would tell how few were wrong."""
        if self.against.p_value is None:
            return None
        right, most = (shown_parts(one, floor) for one in (self.overall["accuracy"], self.against.best))
        if right is None or most is None:
            return None
        p = binomial_tail(right[0], sum(right), most[0] / sum(most))
        return max(round(p, 3), 0.001)


def judge(
    table: LeafTable,
    *,
    smoothed: LeafTable | None = None,
    votes: Sequence[Counts] = (),
    training_majority: int | None = None,
    confidence: Confidence = CONFIDENCE_95,
) -> Judgement:
    """Judge a tree by its table.

    Args: smoothed: the same with smoothed scores, of which log loss and recalibration are taken, for they are not
        defined for scores of 0 and 1. votes: as of a judgement; most trees have none. training_majority: the class
        index most frequent in the training, if known.
    """
    matrix = Confusion.of(table).with_votes(votes)
    overall = {name: measure(matrix, confidence) for name, measure in _OVERALL.items()}
    overall |= {
        "auc_macro": macro_auc(table, confidence),
        "brier": brier(table, confidence),
        "brier_skill": brier_skill(table),
        "log_loss": log_loss(smoothed or table, confidence),
        "not_covered": share(table.stopped, matrix.records, confidence),
    }
    classes = tuple(
        ClassJudgement(label, _measures_of_class(table, smoothed or table, matrix, k, confidence))
        for k, label in enumerate(table.classes)
    )
    against = baseline(matrix, training_majority, confidence)
    return Judgement(table, matrix, overall, classes, against, confidence, tuple(votes))


def _measures_of_class(
    table: LeafTable, smoothed: LeafTable, matrix: Confusion, k: int, confidence: Confidence
) -> dict[str, Measure]:
    found = {name: measure(matrix, k, confidence) for name, measure in _PER_CLASS.items()}
    intercept, slope = recalibration(smoothed, k, confidence)
    return found | {
        "auc": auc(table, k, confidence),
        "average_precision": average_precision(table, k),
        "brier": brier_of_class(table, k, confidence),
        "calibration_error": expected_calibration_error(table, k),
        "observed_over_expected": in_the_large(table, k),
        "calibration_intercept": intercept,
        "calibration_slope": slope,
    }


def _curves(table: LeafTable, k: int, confidence: Confidence, floor: int | None) -> dict[str, Any]:
    """ROC and precision-recall points, bins and the decision curve; rates of counts that may have stand-ins."""
    points, positives = roc(table, k), table.truth[k]
    negatives = table.records - positives
    return {
        "roc": [_roc_point(point, positives, negatives) for point in points if positives and negatives],
        "precision_recall": [_recall_point(point, positives) for point in points[1:] if positives],
        "calibration": [
            {**entry.to_json(), "records": entry.records if floor is None else rounded(entry.records, floor)}
            for entry in bins_of(table, k, confidence)
        ],
        "net_benefit": [
            {"threshold": float(n.threshold), "tree": float(n.by_tree), "all": float(n.by_all)}
            for n in net_benefit(table, k)
        ],
    }


def _roc_point(point: RocPoint, positives: int, negatives: int) -> dict[str, float | None]:
    return {
        "threshold": None if point.threshold is None else float(point.threshold),
        "false_positive_rate": point.false_positives / negatives,
        "true_positive_rate": point.true_positives / positives,
    }


def _recall_point(point: RocPoint, positives: int) -> dict[str, float]:
    called = point.true_positives + point.false_positives
    return {
        "threshold": float(point.threshold or 0),
        "recall": point.true_positives / positives,
        "precision": point.true_positives / called if called else 1.0,
    }
