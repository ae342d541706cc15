"""Mode I, the shared records: bits become numbers once, and counts of nodes are products of matrices from then on.

For "value v and class c" the products of the two bits are formed once for all nodes (`SecretRecords.cells`). The counts
of a node are then inner products with its membership vector w, one word each, and w is all that a node needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.arithmetic import multiply
from shared.mpc.conversion import bits_to_arithmetic
from shared.mpc.matrices import SecretMatrix, products_of_rows
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.sharing import BinaryShare, Share, concatenate, public_share
from shared.secure_tree.secret_id3_layout import Indices, Layout

PRODUCTS_AT_ONCE: Final = 2**22
"""Where there are more products than this, they are formed class by class, to save memory."""


@dataclass(frozen=True, slots=True)
class SecretRecords:
    """Shared records. `values`: 1 where a record has a value, uint32, shape (table rows, n). `cells`: the matrix with a
    row for each class but the last and each kept value, then one for each kept value; shape (classes * kept rows, n).
    `totals`: of all records, per class and their sum, shape (1, classes + 1).
    """

    layout: Layout
    values: Share = field(repr=False)
    cells: SecretMatrix = field(repr=False)
    totals: Share = field(repr=False)

    @classmethod
    def prepare(cls, party: Party, layout: Layout, bits: BinaryShare) -> Program[SecretRecords]:
        """From the XOR-shared bits of all records (`secret_id3_layout.record_bits`).

        Args: bits: 0/1 words, shape (columns, n).
        Rounds: 3, with very many records 2 and one a class. Sends: 12 bytes a bit and 12 a kept value, class but the
            last, and record. Leaks: nothing.
        """
        numbers = yield from bits_to_arithmetic(party, bits, U32)
        kept, of_class = numbers[: layout.kept_rows], numbers[layout.kept_rows :]
        products = [multiply(party, kept, of_class[c : c + 1]) for c in range(layout.classes - 1)]
        if kept.own.size * len(products) <= PRODUCTS_AT_ONCE:
            both = yield from together(*products)
        else:
            both = []
            for product in products:
                both.append((yield from product))
        cells = SecretMatrix.of([*both, kept], layout.count_bits)
        return cls(layout, _all_values(party, layout, kept), cells, _totals(party, layout, of_class))

    def root_cells(self) -> Share:
        """The counts of the matrix' rows over all records; local. Returns: shape (1, classes * kept rows)."""
        return self.cells.row_sums().reshape(1, -1)


def tables_of(layout: Layout, cells: Share, totals: Share) -> Share:
    """Whole tables of counts from the counted rows and the nodes' totals; local.

    Args: cells: shape (nodes, classes * kept rows). totals: shape (nodes, classes + 1).
    Returns: shape (nodes, classes + 1, table rows), as `secret_id3_choice.Level` has them.
    """

    def filled(part: Words, of_node: Words) -> Words:
        counted = part.reshape(len(part), layout.classes, layout.kept_rows)
        kept = np.empty((len(part), layout.classes + 1, layout.kept_rows), U32)
        kept[:, :-2] = counted[:, :-1]
        kept[:, -1] = counted[:, -1]
        kept[:, -2] = counted[:, -1] - counted[:, :-1].sum(axis=1, dtype=U32)
        running = np.zeros((len(part), layout.classes + 1, layout.kept_rows + 1), U32)
        np.cumsum(kept, axis=2, dtype=U32, out=running[:, :, 1:])
        by_attribute = running[:, :, layout.kept_ends[1:]] - running[:, :, layout.kept_ends[:-1]]
        last = of_node[:, :, None] - by_attribute
        return np.concatenate([kept, last], axis=2)[:, :, layout.order]

    return Share(filled(cells.own, totals.own), filled(cells.next, totals.next))


@dataclass(frozen=True, slots=True)
class Kids:
    """Children, all those of their parents, parent by parent in value order; public.

    `parent`: index among the nodes above. `row`: the table row of the child's value. `is_last`: whether that is the
    last value of its attribute, so that the child is what its siblings leave of the parent. `is_open`: attributes not
    on the child's path, shape (kids, attributes).
    """

    parent: Indices
    row: Indices
    is_last: NDArray[np.bool_]
    is_open: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.parent)

    def __getitem__(self, part: slice) -> Kids:
        return Kids(self.parent[part], self.row[part], self.is_last[part], self.is_open[part])


def count_kids(
    party: Party,
    records: SecretRecords,
    above: Share | None,
    cells_above: Share,
    kids: Kids,
    members: Share | None,
) -> Program[Share]:
    """Membership vectors of children, w of the parent times "has the value", and their counts.

    Args: above: the parents' vectors, uint32, shape (parents, n), or None for the root, which has all records.
        cells_above: their counts, shape (parents, classes * kept rows). members: is filled with the children's vectors,
        shape (kids, n), if it is not None.
    Returns: the counts, shape (kids, classes * kept rows); 0 where no child has a question left.
    Rounds: 2, 1 below the root. Sends: 12 bytes a record and child that is not the last (none below the root), and 12
        a count of such a child. Leaks: nothing.
    """
    counted = np.flatnonzero(~kids.is_last)
    rows = kids.row[counted]
    if above is None:
        vectors = records.values[rows]
        above = public_share(party.index, 1, U32, (1, records.values.shape[1]))
    else:
        vectors = yield from products_of_rows(party, above, kids.parent[counted], records.values, rows)
    if members is not None:
        _with_last(kids, counted, above, vectors, members)
    asked = records.layout.cells_of(np.asarray(kids.is_open.any(axis=0)))
    some = yield from records.cells.multiplied(party, vectors, asked)
    cells = some.map(lambda part: _spread(part, asked, cells_above.shape[1]))
    shape = (len(kids), cells_above.shape[1])
    whole = Share(np.empty(shape, U32), np.empty(shape, U32))
    _with_last(kids, counted, cells_above, cells, whole)
    return whole


def _spread(part: Words, columns: Indices, count: int) -> Words:
    whole = np.zeros((len(part), count), part.dtype)
    whole[:, columns] = part
    return whole


def _with_last(kids: Kids, counted: Indices, above: Share, of_counted: Share, whole: Share) -> None:
    """Fill `whole` with what was counted and, for the last children, with what the others leave of the parent."""
    starts = np.searchsorted(counted, np.flatnonzero(np.diff(kids.parent, prepend=-1)))
    ends = np.append(starts[1:], len(counted))
    for parent, part, target in (
        (above.own, of_counted.own, whole.own),
        (above.next, of_counted.next, whole.next),
    ):
        for row, place in zip(part, counted, strict=True):
            target[place] = row
        for place, start, end in zip(np.flatnonzero(kids.is_last), starts, ends, strict=True):
            rest = target[place]
            rest[:] = parent[kids.parent[place]]
            for row in part[start:end]:
                rest -= row


def _all_values(party: Party, layout: Layout, kept: Share) -> Share:
    """All rows of "has the value": 1 minus the others for the last value of an attribute."""
    ones = public_share(party.index, 1, U32, (1, kept.shape[1]))
    last = [
        ones - kept[start:end].sum(axis=0).reshape(1, -1)
        for start, end in zip(layout.kept_ends[:-1], layout.kept_ends[1:], strict=True)
    ]
    return concatenate([kept, *last])[layout.order]


def _totals(party: Party, layout: Layout, of_class: Share) -> Share:
    counts = of_class.sum(axis=1)
    whole = public_share(party.index, layout.records, U32, (1,))
    last = whole - counts.sum(axis=0).reshape(1)
    return concatenate([counts, last, whole]).reshape(1, -1)
