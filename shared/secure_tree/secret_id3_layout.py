"""Mode I, all that is public: how records become columns of bits, and where counts stand in arrays.

A record is known by the bits "value v of attribute a" for all values but the last of each attribute, and "class c"
for all classes but the last: what is left out follows by subtraction, here and in every count. `kept` values are
those that are not the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from shared.errors import InputError, InternalError
from shared.mpc.ring import U8, U32, Words
from shared.mpc.sharing import Share
from shared.tree.counting import Row
from shared.tree.criteria import SCALE_BITS
from shared.tree.f_table import MOST_ENTRIES
from shared.tree.schema import Schema

Indices = NDArray[np.intp]

MOST_RECORDS: Final = MOST_ENTRIES - 2
"""Counts up to here fit the table F_32 and the exact products of `shared.mpc.matrices`."""


MOST_FAMILY_COUNTS: Final = 2**24
"""Counts of all children of one node, which are formed together: with so many a party takes some 1.5 GB."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The public shape of a job in mode I.

    A table of counts has one row per value of every attribute, in schema order (`table_rows` of them), and one column
    per class and one for their sum. `weights`: how often a record of each class counts, None for once.
    `first_row[a]`: the first row of attribute a, with one more entry at the end.
    `order`: where each row of the table stands when the kept ones come first, then the last ones by attribute.
    `kept_ends`: how many kept rows the attributes up to each one have, from 0 on.
    """

    values: Indices
    classes: int
    records: int
    weights: tuple[int, ...] | None = None
    first_row: Indices = field(init=False)
    order: Indices = field(init=False)
    kept_ends: Indices = field(init=False)

    def __post_init__(self) -> None:
        """Derive the places."""
        first_row = np.concatenate([[0], np.cumsum(self.values)])
        kept_ends = np.concatenate([[0], np.cumsum(self.values - 1)])
        order = np.empty(first_row[-1], np.intp)
        is_last = np.zeros(len(order), bool)
        is_last[first_row[1:] - 1] = True
        order[~is_last] = np.arange(kept_ends[-1])
        order[is_last] = kept_ends[-1] + np.arange(len(self.values))
        for name, value in (("first_row", first_row), ("order", order), ("kept_ends", kept_ends)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, schema: Schema, records: int, weights: tuple[int, ...] | None = None) -> Self:
        """Raises: InternalError: more records than a table holds. InputError: an attribute without listed values,
        more counts than a party can hold, or weights by which the records would be more than a table holds.
        """
        if not 0 <= records <= MOST_RECORDS:
            raise InternalError(f"mode I takes at most {MOST_RECORDS} records")
        if weights is not None and records * max(weights) > MOST_RECORDS:
            raise InputError(
                f"with these weights mode I takes at most {MOST_RECORDS // max(weights)} records of all members",
                where="class_weights",
                remedy="Choose smaller weights with the same ratios, or a sample of the records.",
            )
        for attribute in schema.attributes:
            if not attribute.values:
                raise InputError(
                    "mode I asks for one of listed values, and this attribute lists none",
                    where=f"attribute {attribute.name!r}",
                    remedy="Cut it at public points, or train by gain ratio.",
                )
        values = np.array([len(attribute.values) for attribute in schema.attributes], np.intp)
        if (counts := int(values.sum() * values.max()) * schema.class_count) > MOST_FAMILY_COUNTS:
            raise InputError(
                f"the children of one node would have up to {counts} counts; mode I takes {MOST_FAMILY_COUNTS}",
                where="the study's schema",
                remedy="Ask for fewer attributes, values of an attribute, or classes.",
            )
        return cls(values, schema.class_count, records, weights)

    @property
    def attributes(self) -> int:
        """Number of attributes."""
        return len(self.values)

    @property
    def kept_rows(self) -> int:
        """Values that are not the last of their attribute."""
        return int(self.kept_ends[-1])

    @property
    def table_rows(self) -> int:
        """Values of all attributes."""
        return int(self.first_row[-1])

    @property
    def columns(self) -> int:
        """Bits of a record: the kept values in schema order, then all classes but the last."""
        return self.kept_rows + self.classes - 1

    def cells_of(self, attributes: NDArray[np.bool_]) -> Indices:
        """The rows of the matrix of counts (`secret_id3_records`) that belong to some attributes."""
        kept = np.flatnonzero(np.repeat(attributes, self.values - 1))
        return (np.arange(self.classes)[:, None] * self.kept_rows + kept).reshape(-1)

    @property
    def most(self) -> int:
        """No count exceeds this, as records weigh."""
        return self.records * max(self.weights or (1,))

    def weighed(self, counts: Share) -> Share:
        """Counts per class and their sum along the last axis, each record as often as its class weighs; local."""
        if self.weights is None:
            return counts
        factors = np.array(self.weights, U32)
        by_class = counts[..., :-1].times(factors)
        return by_class.map(
            lambda part: np.append(part, part.sum(axis=-1, dtype=U32, keepdims=True), axis=-1)
        )

    @property
    def count_bits(self) -> int:
        """Counts and their differences, `most` + 1 included, are numbers of so many bits in two's complement."""
        return (self.most + 1).bit_length() + 1

    @property
    def score_bits(self) -> int:
        """The like for scores: they lie between -N log2(classes) 2^32 and 0, up to half a unit for each entry of F.

        N: `most`, of weighed records.
        """
        most = self.most * (self.classes - 1).bit_length() + 1
        return ((most << SCALE_BITS) + self.table_rows * (self.classes + 1)).bit_length() + 1

    @property
    def product_dtype(self) -> np.dtype[np.uint32] | np.dtype[np.uint64]:
        """The smallest ring for a difference of two products of counts."""
        return np.dtype(np.uint32) if 2 * self.count_bits <= 32 else np.dtype(np.uint64)


def record_bits(layout: Layout, rows: Sequence[Row] | NDArray[np.integer]) -> Words:
    """The bits of records in plain: what a hospital shares.

    Args: rows: codes, one per attribute in schema order and then the class, shape (n, attributes + 1).
    Returns: uint8 0 or 1, shape (columns, n).
    Raises: InternalError: codes that the schema does not have.
    """
    codes = np.asarray(rows, np.intp).reshape(-1, layout.attributes + 1).T
    limits = np.append(layout.values, layout.classes)[:, None]
    if codes.size and not ((codes >= 0) & (codes < limits)).all():
        raise InternalError("rows to be shared hold codes that the schema does not have")
    columns = [
        codes[attribute] == value
        for attribute, count in enumerate(limits[:, 0].tolist())
        for value in range(count - 1)
    ]
    return np.array(columns, U8).reshape(layout.columns, codes.shape[1])


@dataclass(frozen=True, slots=True)
class Questions:
    """Which rows of which nodes' tables one level looks at; all of it public.

    A pair is an open attribute of a node. `pair_node`, `pair_attribute`: by node, then attribute, `per_node` to a node.
    `row_pair`, `row_node`, `row_of_table`: the rows, pair by pair in value order. `starts`: first row of each pair.
    """

    pair_node: Indices
    pair_attribute: Indices
    per_node: int
    row_pair: Indices
    row_node: Indices
    row_of_table: Indices
    starts: Indices

    @classmethod
    def of(cls, layout: Layout, is_open: NDArray[np.bool_]) -> Self:
        """Args: is_open: shape (nodes, attributes), as many open attributes in each node."""
        pair_node, pair_attribute = np.nonzero(is_open)
        sizes = layout.values[pair_attribute]
        starts = np.cumsum(sizes) - sizes
        row_pair = np.repeat(np.arange(len(sizes)), sizes)
        value = np.arange(len(row_pair)) - starts[row_pair]
        return cls(
            pair_node,
            pair_attribute,
            len(pair_node) // len(is_open),
            row_pair,
            pair_node[row_pair],
            layout.first_row[pair_attribute[row_pair]] + value,
            starts,
        )

    @property
    def rows(self) -> int:
        """Rows of all pairs."""
        return len(self.row_pair)

    def slots(self, left_out: int = 0) -> Indices:
        """Row numbers of every pair, shape (longest, pairs), the last one repeated: for ANDs over a pair's rows.

        Args: left_out: so many rows at the end of each pair, but never the first one.
        """
        ends = np.append(self.starts[1:], self.rows)
        last = np.maximum(self.starts, ends - 1 - left_out)
        longest = int((last - self.starts).max()) + 1
        return np.asarray(np.minimum(self.starts + np.arange(longest)[:, None], last))
