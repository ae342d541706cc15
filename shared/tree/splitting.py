"""What becomes of one node once its tables are known: split or leaf (protocol section 4, rules 1, 2, 4, 5).

The same rules hold in every profile, so all agents decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.tree.average_gain import best_of_average_gain
from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import (
    SCALE_BITS,
    gain_ratio_fraction,
    greatest_ratio,
    has_zero_gain,
    information_gain_score,
)
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import NodePath, Side, path_text

NodeTables = Mapping[int, ContingencyTable]
"""The tables of one node by attribute index, in ascending order of the index."""


@dataclass(frozen=True, slots=True)
class LeafDecision:
    """The root became a leaf, or no attribute of an asked node was admissible."""

    path: NodePath
    label: int
    counts: tuple[int, ...] = field(repr=False)

    def canonical(self) -> dict[str, Any]:
        """The decision as section 4 writes it."""
        return {"node": path_text(self.path), "leaf": self.label}


@dataclass(frozen=True, slots=True)
class SplitDecision:
    """A node splits. `kids` has one entry per branch: the class index of a leaf, or None for an open child.

    `rows` are the records per class of each child (shape branches x classes), read off the chosen table. `up_to`: of
    a threshold the last value that goes left; None where every value is a branch.
    """

    path: NodePath
    attribute: int
    majority: int
    kids: tuple[int | None, ...]
    counts: tuple[int, ...] = field(repr=False)
    rows: tuple[tuple[int, ...], ...] = field(repr=False)
    up_to: int | None = None

    def canonical(self) -> dict[str, Any]:
        """The decision as section 4 writes it; with a threshold also `up_to`."""
        kids = ["open" if label is None else {"leaf": label} for label in self.kids]
        decision = {"node": path_text(self.path), "attr": self.attribute, "kids": kids}
        return decision if self.up_to is None else decision | {"up_to": self.up_to}

    def path_of(self, kid: int) -> NodePath:
        """Where the child of this index is."""
        branch = kid if self.up_to is None else Side(self.up_to, is_above=kid == 1)
        return (*self.path, (self.attribute, branch))


NodeDecision = LeafDecision | SplitDecision


def decide(
    path: NodePath,
    tables: NodeTables,
    majority_above: int,
    rules: GrowthRules,
    many_values: int | None = None,
) -> NodeDecision:
    """Split or leaf for one asked node. `tables` has every open attribute, at least one.

    `majority_above` labels an empty node (class 0 above the root). The stop conditions of a node below
    the root were decided from its parent's row, so only the root is tested for them here. `many_values`: of
    criterion c45.
    """
    counts = next(iter(tables.values())).class_totals
    majority = majority_label(rules.weighed(counts), majority_above)
    if not path and (is_pure(counts) or sum(counts) < rules.min_node):
        return LeafDecision(path, majority, counts)
    attribute = best_attribute(tables, rules, many_values)
    if attribute is None:
        return LeafDecision(path, majority, counts)
    rows = tables[attribute].rows
    last_level = len(tables) == 1 or len(path) + 1 == rules.max_depth
    kids = tuple(_kid(row, majority, last_level, rules) for row in rows)
    return SplitDecision(path, attribute, majority, kids, counts, rows)


def majority_label(counts: Sequence[int], majority_above: int) -> int:
    """The class with most records, on ties the lowest index; the parent's for an empty node (rule 2)."""
    return max(range(len(counts)), key=counts.__getitem__) if any(counts) else majority_above


def best_attribute(tables: NodeTables, rules: GrowthRules, many_values: int | None = None) -> int | None:
    """The attribute to split on, or None for a leaf: the best admissible one, unless it gains nothing.

    Without `split_on_zero_gain` a chosen attribute whose gain is exactly 0 makes a leaf (rule 5), and so does one
    below `min_gain`. Whether it is admissible is a matter of records, the rest of records as their classes weigh.
    """
    admissible = {
        attribute: table if rules.class_weights is None else table.weighed(rules.class_weights)
        for attribute, table in tables.items()
        if is_admissible(table, rules.min_child)
    }
    best = _best(admissible, rules, many_values)
    if best is None or (not rules.split_on_zero_gain and has_zero_gain(admissible[best])):
        return None
    return None if gains_too_little(admissible[best], rules) else best


def _best(tables: NodeTables, rules: GrowthRules, many_values: int | None) -> int | None:
    if rules.criterion == "c45":
        return best_of_average_gain(tables, many_values)
    return _by_gain_ratio(tables) if rules.criterion == "gain-ratio" else _by_information_gain(tables)


def gains_too_little(table: ContingencyTable, rules: GrowthRules) -> bool:
    """Whether the gain is below `min_gain`: `gain N 2^32 < min_gain N 2^32`, the left side off by rounded entries."""
    if not rules.min_gain:
        return False
    gain, _ = gain_ratio_fraction(table)
    return gain * rules.min_gain.denominator < rules.min_gain.numerator * table.total << SCALE_BITS


def is_admissible(table: ContingencyTable, min_child: int) -> bool:
    """Whether every child that is not empty has at least `min_child` records (rule 4)."""
    return all(total == 0 or total >= min_child for total in table.row_totals)


def _by_information_gain(tables: NodeTables) -> int | None:
    best, best_score = None, 0
    for attribute, table in tables.items():
        score = information_gain_score(table)
        if best is None or score > best_score:
            best, best_score = attribute, score
    return best


def _by_gain_ratio(tables: NodeTables) -> int | None:
    """An attribute with all records in one value has no ratio."""
    return greatest_ratio({attribute: gain_ratio_fraction(table) for attribute, table in tables.items()})


def _kid(row: tuple[int, ...], majority: int, last_level: bool, rules: GrowthRules) -> int | None:
    if last_level or is_pure(row) or sum(row) < rules.min_node:
        return majority_label(rules.weighed(row), majority)
    return None


def is_pure(counts: Sequence[int]) -> bool:
    """Whether at most one class occurs."""
    return sum(1 for count in counts if count) <= 1
