"""What errors about one class cost, the threshold that follows, and what calling the class by it does.

Beside it stands what the tree does without: the class is called where the tree answers it. Both are of the records that
have a score, so that they can be compared; in a shared report of counts with stand-ins for small ones, as its curves
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

from shared.errors import InputError
from shared.evaluation.confusion import (
    Confusion,
    negative_predictive_value,
    positive_predictive_value,
    sensitivity,
    specificity,
)
from shared.evaluation.deciding import decide, threshold_of
from shared.evaluation.floors import rounded_table
from shared.evaluation.measures import Confidence
from shared.evaluation.table import LeafTable

_HUNDRED: Final = 100
_MEASURES: Final = {
    "sensitivity": sensitivity,
    "specificity": specificity,
    "ppv": positive_predictive_value,
    "npv": negative_predictive_value,
}


@dataclass(frozen=True, slots=True)
class Costs:
    """`miss`: of not calling a record of the class; `false_alarm`: of calling another. In one unit, whole numbers."""

    label: str
    miss: int
    false_alarm: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `CLASS=MISS:FALSE_ALARM`. Raises: InputError: another form, or a cost below 1."""
        label, equals, costs = text.rpartition("=")
        miss, colon, false_alarm = costs.partition(":")
        if not (
            equals and colon and all(cost.isascii() and cost.isdecimal() for cost in (miss, false_alarm))
        ):
            raise InputError(
                "expected CLASS=MISS:FALSE_ALARM, two whole numbers",
                where="--cost",
                remedy='Where a miss is as bad as five false alarms: --cost "CLASS=5:1".',
            )
        found = cls(label, int(miss), int(false_alarm))
        threshold_of(found.false_alarm, found.miss)
        return found

    @property
    def threshold(self) -> Fraction:
        """The score from which calling the class costs less than not calling it."""
        return threshold_of(self.false_alarm, self.miss)

    def index(self, classes: tuple[str, ...]) -> int:
        """The class. Raises: InputError: there is no such one."""
        if self.label not in classes:
            raise InputError(
                f"no class {self.label!r}", where="--cost", remedy=f"One of: {', '.join(map(repr, classes))}."
            )
        return classes.index(self.label)


def decision_json(
    table: LeafTable, costs: Costs, confidence: Confidence, floor: int | None
) -> dict[str, Any]:
    """What comes of calling the class by its costs, as the tree answers, always and never, as plain JSON.

    `ways` is empty where a floor leaves no record to tell of.
    Raises: InputError: no such class, or the tree has no scores.
    """
    k = costs.index(table.classes)
    if not table.has_scores:
        raise InputError("the tree came without the counts that scores are made of", where="--cost")
    drawn = rounded_table(table, floor)
    ways: dict[str, tuple[int, int, int, int]] = {}
    if drawn.records:
        decided = decide(drawn, k, costs.threshold)
        positives, negatives = drawn.truth[k], drawn.records - drawn.truth[k]
        ways = {
            "by_costs": (decided.tp, decided.fn, decided.fp, decided.tn),
            "as_the_tree_answers": Confusion.of(drawn).against_rest(k),
            "everybody": (positives, 0, negatives, 0),
            "nobody": (0, positives, 0, negatives),
        }
    return {
        "class": costs.label,
        "cost_of_miss": costs.miss,
        "cost_of_false_alarm": costs.false_alarm,
        "threshold": float(costs.threshold),
        "ways": {name: _way(way, costs, confidence) for name, way in ways.items()},
    }


def _way(counts: tuple[int, int, int, int], costs: Costs, confidence: Confidence) -> dict[str, Any]:
    """One way of deciding. `net_benefit`: true positives a record, less false ones at what they cost beside a miss."""
    tp, fn, fp, tn = counts
    n = sum(counts)
    matrix = Confusion((costs.label, "others"), ((tp, fn), (fp, tn)))
    return {
        "measures": {name: measure(matrix, 0, confidence).to_json() for name, measure in _MEASURES.items()},
        "net_benefit": float((tp - Fraction(costs.false_alarm * fp, costs.miss)) / n),
        "cost_of_100_records": float(Fraction(_HUNDRED * (costs.miss * fn + costs.false_alarm * fp), n)),
    }
