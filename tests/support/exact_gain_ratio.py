"""A second way of growing mode G's tree (protocol section 11): rows, loops, recursion and exact fractions.

Shares nothing with the product: the table comes from 90-digit logarithms, the best test of a node is found by looking
at every cut of every column, ratios compare as `fractions.Fraction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from tests.support.exact_tree import f_by_decimals

Row = Sequence[int]
"""The codes of one record, the class last."""


@dataclass(frozen=True, slots=True)
class GainRatioSetting:
    """Classes, s of the table, and the rules of growth; `grid` has a step for each column, 0 for none."""

    classes: int
    scale: int
    height: int
    min_node: int = 1
    min_child: int = 1
    grid: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """One admissible test of a node: records with `code <= value` go left, which are `position` in number."""

    gain: int
    split: int
    position: int
    column: int
    value: int
    following: int


@cache
def f(x: int, scale: int) -> int:
    """The table's entry."""
    return f_by_decimals(x, scale)


def impurity(counts: Sequence[int], scale: int) -> int:
    """f of the sum minus the sum of f."""
    return f(sum(counts), scale) - sum(f(count, scale) for count in counts)


def gain_and_split(left: Sequence[int], right: Sequence[int], scale: int) -> tuple[int, int]:
    """Gain+ and SplitInfo+ of one test from its class counts."""
    whole = [a + b for a, b in zip(left, right, strict=True)]
    gain = impurity(whole, scale) - impurity(left, scale) - impurity(right, scale)
    return gain, impurity([sum(left), sum(right)], scale)


def cuts_of(rows: Sequence[Row], setting: GainRatioSetting) -> list[Cut]:
    """Every admissible test of a node's rows."""
    found = []
    for column in range(len(rows[0]) - 1):
        values = sorted({row[column] for row in rows})
        for value, following in pairwise(values):
            sides = [[row for row in rows if (row[column] <= value) is wanted] for wanted in (True, False)]
            if min(map(len, sides)) < setting.min_child:
                continue
            left, right = (
                [sum(row[-1] == c for row in side) for c in range(setting.classes)] for side in sides
            )
            gain, split = gain_and_split(left, right, setting.scale)
            found.append(Cut(gain, split, len(sides[0]), column, value, following))
    return found


def best_cut(rows: Sequence[Row], setting: GainRatioSetting) -> Cut | None:
    """The test of a node, None for a leaf: greatest ratio, then smallest left side, then lowest column (rule 3)."""
    if len(rows) < setting.min_node:
        return None
    gaining = [cut for cut in cuts_of(rows, setting) if cut.gain > 0]
    return min(
        gaining, key=lambda cut: (-Fraction(cut.gain, cut.split), cut.position, cut.column), default=None
    )


def exact_gain_ratio_tree(rows: Sequence[Row], setting: GainRatioSetting) -> dict[str, Any]:
    """The tree as `{"leaf": c}` or `{"column": j, "threshold": code, "kids": [left, right]}`."""

    def build(rows: Sequence[Row], depth: int) -> dict[str, Any]:
        totals = [sum(row[-1] == label for row in rows) for label in range(setting.classes)]
        best = best_cut(rows, setting) if rows and depth < setting.height else None
        if best is None:
            return {"leaf": totals.index(max(totals))}
        sides = [[row for row in rows if (row[best.column] <= best.value) is left] for left in (True, False)]
        return {
            "column": best.column,
            "threshold": on_grid(best, setting),
            "kids": [build(side, depth + 1) for side in sides],
        }

    return build(rows, 0)


def on_grid(cut: Cut, setting: GainRatioSetting) -> int:
    """The largest multiple of the column's step that is below the following value, if the cut may move there."""
    step = setting.grid[cut.column] if setting.grid else 0
    if step == 0:
        return cut.value
    below = cut.following - 1
    return max(cut.value, below - below % step)
