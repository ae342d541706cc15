"""Where each record's walk down a tree ends, for all records at once and on codes alone.

A *place* is the index of a node in the order of `Tree.nodes`. A walk ends at a leaf, or at a split that has no branch
for the record's value. Where missing values are fractional and the tree kept its counts, a record without a value has
no single end: its place is the number of nodes plus the class that the vote of the branches answers (`voting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.rows import RecordRows
from shared.errors import InternalError
from shared.tree.binary_tests import AtMost, Equals, UpTo, goes_right
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema
from shared.tree.voting import can_vote, distribution, winner

Places = NDArray[np.int64]


def places_of(tree: Tree, schema: Schema, records: RecordRows) -> Places:
    """The place of each record, shape (n,). Args: schema: of the tree; `records` are coded by it."""
    places = np.zeros(records.row_count, dtype=np.int64)
    pending: list[tuple[Node, NDArray[np.intp]]] = [(tree.root, np.arange(records.row_count))]
    number, nodes = 0, tree.node_count
    while pending:
        node, rows = pending.pop()
        if isinstance(node, Leaf):
            places[rows] = number
        else:
            branches = _branches(node, schema, records, rows)
            ended = rows[branches < 0]
            places[ended] = number
            if ended.size and _votes(node, schema):
                places[ended] = nodes + _voted(node, schema, records, ended)
            kids = [(kid, rows[branches == index]) for index, kid in enumerate(node.kids)]
            pending.extend(reversed(kids))
        number += 1
    return places


def _votes(split: Split, schema: Schema) -> bool:
    return schema.attributes[split.attribute].is_fractional and can_vote(split)


def _voted(split: Split, schema: Schema, records: RecordRows, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """The class that each of `rows` gets by the vote of the branches of `split`; records alike are asked once."""
    table = np.stack([line[rows] for line in records.attributes], axis=1)
    kinds, kind_of = np.unique(table, axis=0, return_inverse=True)
    answers = [_vote(split, schema, kind) for kind in kinds.tolist()]
    voted: NDArray[np.int64] = np.array(answers, dtype=np.int64)[kind_of.reshape(-1)]
    return voted


def _vote(split: Split, schema: Schema, codes: Sequence[int]) -> int:
    def branch_of(at: Split) -> int | None:
        code = codes[at.attribute]
        if code >= schema.branch_count(at.attribute):
            return None
        return code if not isinstance(at.test, UpTo | Equals) else int(goes_right(at.test, code))

    return winner(distribution(split, schema.class_count, branch_of, lambda at: _votes(at, schema)))


def _branches(split: Split, schema: Schema, records: RecordRows, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """The branch of each of `rows`, -1 where there is none."""
    codes: NDArray[Any] = records.attributes[split.attribute][rows]
    test = split.test
    if test is None:
        branches: NDArray[np.int64] = codes.astype(np.int64)
        branches[branches >= len(split.kids)] = -1
        return branches
    if isinstance(test, Equals):
        right: NDArray[np.bool_] = codes == test.value
    else:
        bound = _threshold_code(schema, split.attribute, test) if isinstance(test, AtMost) else test.value
        right = codes > bound
    branches = right.astype(np.int64)
    if schema.attributes[split.attribute].is_fractional:
        branches[codes >= schema.branch_count(split.attribute)] = -1
    return branches


def _threshold_code(schema: Schema, index: int, test: AtMost) -> int:
    attribute = schema.attributes[index]
    if attribute.fixed_point is None:
        raise InternalError("a threshold for an attribute of listed values")
    return attribute.fixed_point.code_of(attribute.name, test.threshold)
