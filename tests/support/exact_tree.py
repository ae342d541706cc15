"""A second way of computing trees, in exact rational arithmetic, for the tests of `shared.tree`.

Works on rows with loops and recursion and shares nothing with the product but the form of its results.
`2^score = prod n[v][c]^n[v][c] / prod n[v]^n[v]` is a fraction, so information gains compare exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import prod
from typing import Any

Row = Sequence[int]
Table = list[list[int]]

DIGITS = 90
TIE_DIGITS = 60


@dataclass(frozen=True, slots=True)
class Setting:
    """Values per attribute, classes, and the rules of growth."""

    values: tuple[int, ...]
    classes: int
    min_node: int = 1
    min_child: int = 1
    max_depth: int | None = None
    split_on_zero_gain: bool = False


def f_by_decimals(x: int, s: int) -> int:
    """The integer nearest to 2^s x log2 x by 90-digit logarithms."""
    with localcontext() as context:
        context.prec = DIGITS
        return 0 if x < 2 else int((x * Decimal(x).ln() / Decimal(2).ln() * 2**s).to_integral_value())


def table_of(rows: Sequence[Row], attribute: int, setting: Setting) -> Table:
    """Counts by value and class."""
    table = [[0] * setting.classes for _ in range(setting.values[attribute])]
    for row in rows:
        table[row[attribute]][row[-1]] += 1
    return table


def exact_score(table: Table) -> Fraction:
    """2 to the power of the score of protocol section 4, without any rounding."""
    cells = prod(count**count for row in table for count in row)
    return Fraction(cells, prod(sum(row) ** sum(row) for row in table))


def exact_gain_is_zero(table: Table) -> bool:
    """Whether knowing the value changes nothing: 2^(N * gain) = 1."""
    totals = [sum(column) for column in zip(*table, strict=True)]
    whole = sum(totals)
    return exact_score(table) * whole**whole == prod(total**total for total in totals)


def precise_ratio(table: Table) -> Decimal | None:
    """The gain ratio to 90 digits; None where all rows have one value."""
    with localcontext() as context:
        context.prec = DIGITS
        totals = [sum(column) for column in zip(*table, strict=True)]
        sizes = [sum(row) for row in table]
        split = _f(sum(sizes)) - sum(_f(size) for size in sizes)
        left = sum((_f(sum(row)) - sum(_f(cell) for cell in row) for row in table), Decimal(0))
        gain = _f(sum(totals)) - sum(_f(total) for total in totals) - left
        return None if max(sizes) == sum(sizes) else gain / split


def _f(x: int) -> Decimal:
    return Decimal(x) * Decimal(x).ln() if x > 1 else Decimal(0)


def best_by_gain(rows: Sequence[Row], attributes: Sequence[int], setting: Setting) -> list[int]:
    """All admissible attributes whose information gain is the exact maximum, ascending."""
    scores = {
        attribute: exact_score(table)
        for attribute in attributes
        if _admissible(table := table_of(rows, attribute, setting), setting)
    }
    return [attribute for attribute, score in scores.items() if score == max(scores.values())]


def best_by_ratio(rows: Sequence[Row], attributes: Sequence[int], setting: Setting) -> list[int]:
    """All admissible attributes whose gain ratio is the maximum to 60 digits, ascending."""
    ratios = {
        attribute: ratio
        for attribute in attributes
        if _admissible(table := table_of(rows, attribute, setting), setting)
        and (ratio := precise_ratio(table)) is not None
    }
    near = Decimal(1).scaleb(-TIE_DIGITS)
    return [attribute for attribute, ratio in ratios.items() if max(ratios.values()) - ratio < near]


def faults(tree: dict[str, Any], rows: Sequence[Row], setting: Setting, criterion: str) -> list[str]:
    """What is wrong with a tree (section 4's JSON) grown on these rows; empty when nothing is."""
    choose = best_by_gain if criterion == "information-gain" else best_by_ratio
    used: list[int] = []

    def visit(node: dict[str, Any], rows: Sequence[Row], label_above: int, at_root: bool) -> list[str]:
        totals = [sum(row[-1] == label for row in rows) for label in range(setting.classes)]
        label = totals.index(max(totals)) if rows else label_above
        open_here = [a for a in range(len(setting.values)) if a not in used]
        stop = (
            max(totals) == len(rows)
            or len(rows) < setting.min_node
            or (not at_root and (not open_here or len(used) == setting.max_depth))
        )
        best = [] if stop else choose(rows, open_here, setting)
        if best and not setting.split_on_zero_gain and exact_gain_is_zero(table_of(rows, best[0], setting)):
            best = []
        if not best:
            return [] if node == {"leaf": label} else [f"at {used}: a leaf of class {label} is expected"]
        if node.get("attr") not in best:
            return [f"at {used}: one of {best} is expected"]
        used.append(node["attr"])
        found = [
            fault
            for value, kid in enumerate(node["kids"])
            for fault in visit(kid, [row for row in rows if row[used[-1]] == value], label, False)
        ]
        used.pop()
        return found

    return visit(tree, rows, 0, True)


def first_best_tree(rows: Sequence[Row], setting: Setting) -> dict[str, Any]:
    """The tree of section 4 by exact information gain, the first of exactly tied attributes."""

    def build(
        rows: Sequence[Row], open_here: tuple[int, ...], label_above: int, depth: int
    ) -> dict[str, Any]:
        totals = [sum(row[-1] == label for row in rows) for label in range(setting.classes)]
        label = totals.index(max(totals)) if rows else label_above
        if max(totals) == len(rows) or len(rows) < setting.min_node or depth == setting.max_depth:
            return {"leaf": label}
        best = best_by_gain(rows, open_here, setting)
        if not best or (
            not setting.split_on_zero_gain and exact_gain_is_zero(table_of(rows, best[0], setting))
        ):
            return {"leaf": label}
        left = tuple(a for a in open_here if a != best[0])
        parts = [[row for row in rows if row[best[0]] == value] for value in range(setting.values[best[0]])]
        return {"attr": best[0], "kids": [build(part, left, label, depth + 1) for part in parts]}

    return build(rows, tuple(range(len(setting.values))), 0, 0)


def _admissible(table: Table, setting: Setting) -> bool:
    return all(not any(row) or sum(row) >= setting.min_child for row in table)
