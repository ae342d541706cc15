"""C4.5's tree on numbers as they are, in the clear: the two rules that no mode of the product has on numbers.

A numeric attribute offers its threshold of greatest gain, the lowest of equal ones, with at least so many records on
either side: `min_child`, and a tenth of the node's records a class, but at most 25 (the smallest-branch rule). The
attribute is then chosen among all by criterion c45, categories with one branch a value. Without the penalty on
thresholds, as J48's option -J has it. A threshold is the greatest value of the whole data not above the gap's middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.tree.average_gain import best_above_average, many_values
from shared.tree.binary_tests import AtMost
from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import gain_ratio_fraction, has_zero_gain
from shared.tree.f_table import f_table
from shared.tree.gain_ratio_layer import gain_numerators
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema

Codes = NDArray[np.int64]
_MOST: Final = 25
_SHARE: Final = 10
_SCALE: Final = 32


@dataclass(frozen=True, slots=True)
class Offer:
    """What an attribute offers at a node: its table, and of a number the code of the threshold's left end."""

    table: ContingencyTable
    threshold: int | None = None


def grow_c45(schema: Schema, codes: list[Codes], labels: Codes, min_child: int = 1) -> Tree:
    """The tree. Args: codes: of each attribute, in fixed point or indices of values, shape (n,); labels: (n,)."""
    table = f_table(labels.size, _SCALE).astype(np.int64)
    grower = _Grower(schema, codes, labels, min_child, table, [np.unique(column) for column in codes])
    return Tree(grower.node(np.arange(labels.size), 0))


@dataclass(frozen=True, slots=True)
class _Grower:
    schema: Schema
    codes: list[Codes]
    labels: Codes
    min_child: int
    table: Codes
    values: list[Codes]

    def node(self, rows: Codes, above: int) -> Node:
        """By recursion: trees of a few hundred rows are not deep."""
        counts = self.counts(rows)
        label = counts.index(max(counts)) if rows.size else above
        offers = {} if max(counts) == rows.size else self.offers(rows)
        ratios = {attribute: gain_ratio_fraction(offer.table) for attribute, offer in offers.items()}
        branches = [2 if a.fixed_point is not None else len(a.values) for a in self.schema.attributes]
        limit = many_values(branches, self.labels.size)
        best = best_above_average(ratios, dict(enumerate(branches)), rows.size, limit)
        if best is None or has_zero_gain(offers[best].table):
            return Leaf(label, counts)
        code, threshold = self.codes[best][rows], offers[best].threshold
        if threshold is None:
            parts = [rows[code == value] for value in range(branches[best])]
            return Split(best, tuple(self.node(part, label) for part in parts), label, counts)
        fixed_point = self.schema.attributes[best].fixed_point
        assert fixed_point is not None
        test = AtMost(fixed_point.number_of(threshold))
        sides = (self.node(rows[code <= threshold], label), self.node(rows[code > threshold], label))
        return Split(best, sides, label, counts, test)

    def counts(self, rows: Codes) -> tuple[int, ...]:
        """Records per class."""
        return tuple(np.bincount(self.labels[rows], minlength=self.schema.class_count).tolist())

    def offers(self, rows: Codes) -> dict[int, Offer]:
        """Of each attribute that parts the rows."""
        found: dict[int, Offer] = {}
        for attribute, spec in enumerate(self.schema.attributes):
            if spec.fixed_point is not None:
                offer = self.cut(attribute, rows)
                if offer is not None:
                    found[attribute] = offer
                continue
            parts = [rows[self.codes[attribute][rows] == value] for value in range(len(spec.values))]
            found[attribute] = Offer(ContingencyTable.of(map(self.counts, parts)))
        return found

    def cut(self, attribute: int, rows: Codes) -> Offer | None:
        """The best threshold of a number; one without gain is none."""
        order = rows[np.argsort(self.codes[attribute][rows], kind="stable")]
        code = self.codes[attribute][order]
        one_hot = self.labels[order] == np.arange(self.schema.class_count)[:, None]
        left = np.cumsum(one_hot, axis=1, dtype=np.int64)
        whole = np.repeat(left[:, -1:], rows.size, axis=1)
        size = np.arange(1, rows.size + 1)
        smaller = np.minimum(size, rows.size - size)
        enough = (smaller >= _MOST) | (_SHARE * self.schema.class_count * smaller >= rows.size)
        differs = np.append(code[:-1] != code[1:], False)
        valid = np.flatnonzero(differs & enough & (smaller >= self.min_child))
        if not valid.size:
            return None
        place = int(valid[np.argmax(gain_numerators(left, whole, self.table)[valid])])
        sides = (left[:, place].tolist(), (whole - left)[:, place].tolist())
        offered = ContingencyTable.of(sides)
        if has_zero_gain(offered):
            return None
        return Offer(offered, self.below_middle(attribute, int(code[place]), int(code[place + 1])))

    def below_middle(self, attribute: int, left: int, right: int) -> int:
        """The greatest value of the whole data up to the gap's middle, in J48's own doubles: 14.97 may be above it."""
        fixed_point = self.schema.attributes[attribute].fixed_point
        assert fixed_point is not None
        low, high = (float(fixed_point.number_of(code)) for code in (left, right))
        between = [code for code in self.values[attribute].tolist() if left <= code < right]
        return max(code for code in between if float(fixed_point.number_of(code)) <= (low + high) / 2)
