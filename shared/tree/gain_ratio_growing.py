"""Mode G in the clear: the binary gain-ratio tree of pooled numeric records, layer by layer (protocol section 11).

The oracle of the secret trainer: same table, same integer products, same ties, hence the same tree. Every attribute is
sorted once; after a layer the order is partitioned stably. What the columns and their codes mean to people is the
business of `numeric`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shared.errors import InputError, InternalError
from shared.tree.f_table import f_table
from shared.tree.gain_ratio_layer import (
    Integers,
    class_counts,
    gain_numerators,
    split_denominators,
    table_scale,
    valid_positions,
)
from shared.tree.growth_rules import GrowthRules

Keys = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class GainRatioRules:
    """The manifest's rules of growth in mode G.

    `height`: layers of tests. `min_node`: fewer records make a leaf. `min_child`: least records of each side.
    `grid`: for each column the public step to whose multiples thresholds are rounded up, in codes, 0 for none; empty
    where no column has one. `min_gain`: least information gain of a test, in bits. `stop_share`: the share of a class
    that makes a node a leaf, above 0; None for all of its records, which leave nothing to gain.
    """

    height: int
    min_node: int = 1
    min_child: int = 1
    grid: tuple[int, ...] = ()
    min_gain: Fraction = Fraction(0)
    stop_share: Fraction | None = None

    def __post_init__(self) -> None:
        """Refuse what no manifest can say. Raises: InputError."""
        for name, value in (
            ("height", self.height),
            ("min_node", self.min_node),
            ("min_child", self.min_child),
        ):
            if value < 1:
                raise InputError("expected at least 1", where=name)
        if any(step < 0 for step in self.grid):
            raise InputError("expected steps of at least 1, or 0 for none", where="grid")
        if self.min_gain < 0:
            raise InputError("expected at least 0 bits", where="min_gain")
        if self.stop_share is not None and not 0 < self.stop_share <= 1:
            raise InputError("expected above 0 and at most 1", where="stop_share")

    @classmethod
    def of(cls, rules: GrowthRules, grid: tuple[int, ...] = ()) -> GainRatioRules:
        """What a job's rules say of mode G. Raises: InputError: no height, or class weights."""
        if rules.max_depth is None:
            raise InputError("mode gain-ratio needs a height", where="max_depth", remedy="For example: 4.")
        if rules.class_weights is not None:
            raise InputError(
                "mode gain-ratio has no class weights", where="class_weights", remedy="Leave them out."
            )
        return cls(rules.max_depth, rules.min_node, rules.min_child, grid, rules.min_gain, rules.stop_share)

    def gains_enough(self, gain: int, records: int, scale: int) -> bool:
        """Whether a test reaches `min_gain`. Args: gain: Gain+, times 2^scale and the node's records."""
        return gain * self.min_gain.denominator >= self.min_gain.numerator * records << scale

    def stops(self, counts: NDArray[np.integer]) -> bool:
        """Whether a class has the share that ends growth. Args: counts: records of a node per class."""
        if self.stop_share is None:
            return False
        most, records = int(counts.max()), int(counts.sum())
        return most * self.stop_share.denominator >= self.stop_share.numerator * records


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A node that splits: records with `code <= threshold` in the column go left."""

    column: int
    threshold: int


@dataclass(frozen=True, slots=True)
class GroupLeaf:
    """A node that does not."""

    label: int


Layer = tuple[GroupTest | GroupLeaf, ...]
"""The nodes of one depth from left to right. The k-th test of a layer has its kids at 2k and 2k + 1 of the next."""


def grow_by_gain_ratio(
    keys: Keys,
    labels: NDArray[np.integer],
    label_count: int,
    rules: GainRatioRules,
    *,
    scale: int | None = None,
) -> tuple[Layer, ...]:
    """The layers of the tree, the root's first; the last layer has leaves only.

    Args: keys: codes of shape (columns, n), columns at least 1. labels: class indices, shape (n,). scale: the s of the
        table; by the protocol's rule where it is not given.
    Raises: InternalError: shapes that do not fit, or a label outside its range. InputError: too many records.
    """
    _check(keys, labels, label_count, rules)
    if labels.size == 0:
        return ((GroupLeaf(0),),)
    s = table_scale(labels.size, label_count) if scale is None else scale
    table = f_table(labels.size, s).astype(np.int64)
    level = _Level.root(keys, labels.astype(np.int64), label_count, table, s, rules)
    layers: list[Layer] = []
    for _ in range(rules.height):
        layer = level.decide()
        layers.append(layer)
        level = level.after(layer)
        if not level.ends.size:
            return tuple(layers)
    return (*layers, level.leaves())


@dataclass(frozen=True, slots=True)
class _Level:
    """The records of the open nodes of one depth.

    `orders`: for each column the row numbers by (node, key), stable. `ends`: 1 at the last record of each node, common
    to all columns.
    """

    keys: Keys
    labels: Integers
    label_count: int
    table: Integers
    scale: int
    rules: GainRatioRules
    orders: tuple[NDArray[np.intp], ...]
    ends: NDArray[np.bool_]

    @classmethod
    def root(
        cls,
        keys: Keys,
        labels: Integers,
        label_count: int,
        table: Integers,
        scale: int,
        rules: GainRatioRules,
    ) -> _Level:
        orders = tuple(np.argsort(column, kind="stable") for column in keys)
        ends = np.arange(labels.size) == labels.size - 1
        return cls(keys, labels, label_count, table, scale, rules, orders, ends)

    def decide(self) -> Layer:
        """Steps 2 to 7 for all nodes."""
        position = np.arange(self.ends.size)
        last = np.flatnonzero(self.ends)
        sizes = np.diff(last, prepend=-1)
        whole = np.repeat(sizes, sizes)
        left = position - np.repeat(last - sizes, sizes)
        gain, column, threshold = self._best_columns(left, whole)
        chosen = np.flatnonzero((gain > 0) & (whole >= self.rules.min_node))
        split = split_denominators(left[chosen], whole[chosen], self.table)
        group = np.repeat(np.arange(last.size), sizes)[chosen]
        winners = chosen[_best_of_groups(group, gain[chosen], split)]
        counts = self._counts()
        nodes: list[GroupTest | GroupLeaf] = list(self.leaves())
        for place in winners.tolist():
            node = int(np.searchsorted(last, place))
            enough = self.rules.gains_enough(int(gain[place]), int(whole[place]), self.scale)
            if enough and not self.rules.stops(counts[:, node]):
                nodes[node] = GroupTest(int(column[place]), int(threshold[place]))
        return tuple(nodes)

    def _best_columns(self, left: Integers, whole: Integers) -> tuple[Integers, Integers, Integers]:
        """Step 6: of each position the greatest numerator over the columns, its column, and the threshold there."""
        best = np.full(self.ends.size, -1, dtype=np.int64)
        column, threshold = np.zeros_like(best), np.zeros_like(best)
        for index, order in enumerate(self.orders):
            values = self.keys[index][order].astype(np.int64)
            counts = class_counts(self.labels[order], self.ends, self.label_count)
            gain = gain_numerators(*counts, self.table)
            better = valid_positions(values, self.ends, left, whole, self.rules.min_child) & (gain > best)
            best[better], column[better] = gain[better], index
            threshold[better] = self._thresholds(index, values)[better]
        return best, column, threshold

    def _thresholds(self, column: int, values: Integers) -> Integers:
        """The value itself, or the greatest point of the grid below the next value where that is not less."""
        step = self.rules.grid[column] if self.rules.grid else 0
        if step == 0:
            return values
        below_next = np.append(values[1:], 0) - 1
        rounded: Integers = np.maximum(values, below_next // step * step)
        return rounded

    def leaves(self) -> tuple[GroupLeaf, ...]:
        """Every node as a leaf of its majority, on ties the lowest class."""
        majority = np.argmax(self._counts(), axis=0)
        return tuple(GroupLeaf(label) for label in majority.tolist())

    def _counts(self) -> Integers:
        """Records of each class in every node, shape (classes, nodes)."""
        order = self.orders[0]
        _, totals = class_counts(self.labels[order], self.ends, self.label_count)
        return totals[:, self.ends]

    def after(self, layer: Layer) -> _Level:
        """The records of the nodes that split, each now in its left or right kid."""
        kid = np.full(self.labels.size, -1, dtype=np.int64)
        bounds = np.flatnonzero(self.ends) + 1
        start = tests = 0
        for node, stop in zip(layer, bounds.tolist(), strict=True):
            if isinstance(node, GroupTest):
                rows = self.orders[0][start:stop]
                kid[rows] = 2 * tests + (self.keys[node.column][rows] > node.threshold)
                tests += 1
            start = stop
        orders = tuple(_partitioned(order, kid) for order in self.orders)
        placed = kid[orders[0]]
        ends = np.append(placed[1:] != placed[:-1], np.ones(min(1, placed.size), dtype=bool))
        return replace(self, orders=orders, ends=ends)


def _partitioned(order: NDArray[np.intp], kid: Integers) -> NDArray[np.intp]:
    """The rows that have a kid, by kid, otherwise in their order."""
    kept = order[kid[order] >= 0]
    by_kid: NDArray[np.intp] = kept[np.argsort(kid[kept], kind="stable")]
    return by_kid


def _best_of_groups(group: Integers, gain: Integers, split: Integers) -> Integers:
    """Step 7: of each group the place of the greatest `gain / split`, the first of equal ones, by cross products.

    Args: candidates in order of (group, position), shape (c,), all of positive gain and split.
    """
    places = np.arange(group.size)
    while True:
        own = group[places]
        first = np.concatenate((np.ones(min(1, own.size), dtype=bool), own[1:] != own[:-1]))
        index = np.arange(own.size)
        rank = index - np.maximum.accumulate(np.where(first, index, 0))
        earlier = np.flatnonzero(rank % 2 == 0)
        later = np.minimum(earlier + 1, own.size - 1)
        paired = (own[later] == own[earlier]) & (later != earlier)
        if not paired.any():
            return places
        a, b = places[earlier], places[later]
        replaces = paired & (gain[b] * split[a] > gain[a] * split[b])
        places = np.where(replaces, b, a)


def _check(keys: Keys, labels: NDArray[np.integer], label_count: int, rules: GainRatioRules) -> None:
    if keys.ndim != 2 or keys.shape[0] < 1 or labels.shape != keys.shape[1:]:
        raise InternalError("expected keys of shape (columns, records) and one label a record")
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) < label_count:
        raise InternalError("expected labels below the number of classes")
    if rules.grid and len(rules.grid) != keys.shape[0]:
        raise InternalError("expected one step of the grid a column")
