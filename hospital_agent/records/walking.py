"""Where each record's walk down a tree ends, for all records at once and on codes alone.

A *place* is the index of a node in the order of `Tree.nodes`. A walk ends at a leaf, or at a split that has no branch
for the record's value: one of an attribute whose missing values make no branch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.rows import RecordRows
from shared.errors import InternalError
from shared.tree.binary_tests import AtMost, Equals
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema

Places = NDArray[np.int64]


def places_of(tree: Tree, schema: Schema, records: RecordRows) -> Places:
    """The place of each record, shape (n,). Args: schema: of the tree; `records` are coded by it."""
    places = np.zeros(records.row_count, dtype=np.int64)
    pending: list[tuple[Node, NDArray[np.intp]]] = [(tree.root, np.arange(records.row_count))]
    number = 0
    while pending:
        node, rows = pending.pop()
        if isinstance(node, Leaf):
            places[rows] = number
        else:
            branches = _branches(node, schema, records, rows)
            places[rows[branches < 0]] = number
            kids = [(kid, rows[branches == index]) for index, kid in enumerate(node.kids)]
            pending.extend(reversed(kids))
        number += 1
    return places


def _branches(split: Split, schema: Schema, records: RecordRows, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """The branch of each of `rows`, -1 where there is none."""
    codes: NDArray[Any] = records.attributes[split.attribute][rows]
    test = split.test
    if test is None:
        branches: NDArray[np.int64] = codes.astype(np.int64)
        branches[branches >= len(split.kids)] = -1
        return branches
    if isinstance(test, Equals):
        return (codes == test.value).astype(np.int64)
    if isinstance(test, AtMost):
        return (codes > _threshold_code(schema, split.attribute, test)).astype(np.int64)
    return (codes > test.value).astype(np.int64)


def _threshold_code(schema: Schema, index: int, test: AtMost) -> int:
    attribute = schema.attributes[index]
    if attribute.fixed_point is None:
        raise InternalError("a threshold for an attribute of listed values")
    return attribute.fixed_point.code_of(attribute.name, test.threshold)
