"""The scores and weights of fractional rows against Weka's J48, on its trees of data with missing values.

J48's tests are thresholds, which a tree of listed values does not have. So at each of its nodes every threshold of
every attribute is taken as an attribute of two values, and the product's scores must choose what J48 chose, by J48's
own rules for thresholds; then the records walk down in parts, and each leaf must hold the weight that J48 prints.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from shared.tree.average_gain import best_above_average
from shared.tree.contingency import ContingencyTable
from shared.tree.fractional_splitting import (
    WeightedTable,
    common_denominator,
    weighted_gain,
    weighted_split_information,
)
from tests.support.reference_data import DATA, SKIP_REASON, TREES, is_available

Record = tuple[tuple[float | None, ...], int]
"""Numbers, None for missing, and the class."""
Weighted = list[tuple[Fraction, Record]]

FILES = {
    "breast-cancer-wisconsin": ["breast-cancer-wisconsin-original/breast-cancer-wisconsin.data"],
    "heart-hungarian": ["heart-disease/processed.hungarian.data"],
    "heart-2-hospitals": [
        "heart-disease/processed.cleveland.data",
        "heart-disease/processed.hungarian.data",
    ],
}


def records_of(name: str) -> Weighted:
    rows = [row for file in FILES[name] for row in csv.reader((DATA / file).read_text().splitlines()) if row]
    if name == "breast-cancer-wisconsin":
        labelled = [(row[1:-1], ["2", "4"].index(row[-1])) for row in rows]
    else:
        labelled = [(row[:-1], int(int(row[-1]) > 0)) for row in rows]
    return [
        (Fraction(1), (tuple(None if text == "?" else float(text) for text in texts), label))
        for texts, label in labelled
    ]


@dataclass
class Walk:
    """Down one of J48's trees. `inner`, `ends`: how many nodes were compared."""

    columns: list[str]
    labels: list[str]
    inner: int = 0
    ends: int = 0
    faults: list[str] = field(default_factory=list)

    def visit(self, tree: dict[str, Any], records: Weighted) -> None:
        if "leaf" in tree:
            self._check_leaf(tree, records)
            return
        column, threshold = self.columns.index(tree["attribute"]), float(tree["threshold"])
        chosen = self._choice(records)
        values = {record[0][column] for _, record in records} - {None}
        parts = {value for value in values if value is not None and value <= threshold}
        if chosen is None or chosen != (column, max(parts, default=None)):
            self.faults.append(f"{tree['attribute']} <= {threshold}: the scores choose {chosen}")
        self.inner += 1
        for kid, part in zip(tree["branches"].values(), parted(records, column, threshold), strict=True):
            self.visit(kid, part)

    def _check_leaf(self, tree: dict[str, Any], records: Weighted) -> None:
        total = sum((weight for weight, _ in records), start=Fraction(0))
        label = self.labels.index(tree["leaf"])
        other = total - sum((weight for weight, record in records if record[1] == label), start=Fraction(0))
        printed = (tree["count"], tree.get("errors", 0))
        if (float(total), float(other)) != pytest.approx(printed, abs=0.0051):
            self.faults.append(f"a leaf of {float(total)}, {float(other)}; J48 prints {printed}")
        self.ends += 1

    def _choice(self, records: Weighted) -> tuple[int, float] | None:
        """The attribute, and the greatest value that goes left."""
        best = {}
        for column in range(len(self.columns)):
            found = self._best_threshold(records, column)
            if found is not None and weighted_gain(found[0]):
                best[column] = found
        ratios = {
            column: (weighted_gain(table), weighted_split_information(table))
            for column, (table, _) in best.items()
        }
        total = next(iter(best.values()))[0].total if best else 0
        chosen = best_above_average(ratios, dict.fromkeys(ratios, 2), total, None)
        return None if chosen is None else (chosen, best[chosen][1])

    def _best_threshold(self, records: Weighted, column: int) -> tuple[WeightedTable, float] | None:
        """By gain, the first of equals; at least max(1, min(25, known / 10 / classes)) records on each side."""
        unit = common_denominator(weight for weight, _ in records)
        unknown = [0] * len(self.labels)
        by_value: dict[float, list[int]] = {}
        for weight, (numbers, label) in records:
            number = numbers[column]
            cells = unknown if number is None else by_value.setdefault(number, [0] * len(self.labels))
            cells[label] += int(weight * unit)
        known = sum(map(sum, by_value.values()))
        least = min(max(Fraction(known, 10 * len(self.labels)), Fraction(unit)), Fraction(25 * unit))
        left, right = [0] * len(self.labels), [sum(cells) for cells in zip(*by_value.values(), strict=True)]
        best: tuple[WeightedTable, float] | None = None
        for number in sorted(by_value):
            left = [a + b for a, b in zip(left, by_value[number], strict=True)]
            right = [a - b for a, b in zip(right, by_value[number], strict=True)]
            if min(sum(left), sum(right)) < least:
                continue
            table = WeightedTable(ContingencyTable((tuple(left), tuple(right))), tuple(unknown))
            if best is None or weighted_gain(table) > weighted_gain(best[0]):
                best = table, number
        return best


def parted(records: Weighted, column: int, threshold: float) -> tuple[Weighted, Weighted]:
    """Records with the value whole, the others in parts as the known ones are spread."""
    left = [each for each in records if (x := each[1][0][column]) is not None and x <= threshold]
    right = [each for each in records if (x := each[1][0][column]) is not None and x > threshold]
    size = sum((weight for weight, _ in left), start=Fraction(0))
    share = size / (size + sum((weight for weight, _ in right), start=Fraction(0)))
    lost = [each for each in records if each[1][0][column] is None]
    return (
        left + [(weight * share, record) for weight, record in lost],
        right + [(weight * (1 - share), record) for weight, record in lost],
    )


@pytest.mark.skipif(not is_available(), reason=SKIP_REASON)
@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("breast-cancer-wisconsin", 40),
        pytest.param("heart-hungarian", 65, marks=pytest.mark.long),
        pytest.param("heart-2-hospitals", 117, marks=pytest.mark.long),
    ],
)
def test_every_choice_and_every_weight_of_j48_follows(name: str, inner: int) -> None:
    document = json.loads((TREES / f"{name}.gain-ratio.json").read_text(encoding="utf-8"))
    records = records_of(name)
    assert any(None in numbers for _, (numbers, _) in records)
    walk = Walk(list(document["attributes"]), document["class_order"])
    walk.visit(document["tree_plain"], records)
    assert walk.faults == []
    assert (walk.inner, walk.ends) == (inner, document["summary_plain"]["leaves"])


@pytest.mark.skipif(not is_available(), reason=SKIP_REASON)
def test_counting_missing_as_known_is_noticed() -> None:
    """The control: with the lost values filled in by 1, weights and choices are others."""
    document = json.loads((TREES / "breast-cancer-wisconsin.gain-ratio.json").read_text(encoding="utf-8"))
    filled: Weighted = [
        (weight, (tuple(1.0 if number is None else number for number in numbers), label))
        for weight, (numbers, label) in records_of("breast-cancer-wisconsin")
    ]
    walk = Walk(list(document["attributes"]), document["class_order"])
    walk.visit(document["tree_plain"], filled)
    assert walk.faults != []
