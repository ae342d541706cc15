"""Where records of a database end in a tree, counted there: the walk as nested CASEs, a row a place and class.

Places are those of `walking`. What comes out of the engine is how many records of each class end at each place; no
record's values do. A CASE asks at most `PIECE` questions in a row, for parsers nest no deeper than their stack. Of a
deeper tree it ends at the place where its piece of the tree does, and a query around it goes on from there. A vote of
branches over missing values has no such expression, and trees of very many nodes make queries that take longer than a
copy: both are left to `walking` (`MustCopyError`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.selecting import Selector
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_checks import notes_of, read_spellings
from hospital_agent.records.sql_counting import code_of
from hospital_agent.records.sql_engine import ibis
from hospital_agent.records.sql_engine import place as place_name
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_parting import check_engine, check_parting, opened_for, taken
from hospital_agent.records.sql_values import SqlRecords, match
from shared.errors import InputError, InternalError
from shared.tree.binary_tests import AtMost, Equals, UpTo
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema
from shared.tree.voting import can_vote

MAX_NODES: Final = 10_000
PIECE: Final = 20
"""Of a CASE in a CASE: what Python's and engines' parsers of a query take with room to spare."""
MAX_DEPTH: Final = 10 * PIECE
"""Of a query in a query: the same."""

Ends = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64], tuple[str, ...]]
"""Place, class and number of records of every pair that occurs, each of shape (pairs,), and the records' notes."""


def count_ends(tree: Tree, schema: Schema, settings: DataSettings, selector: Selector | None = None) -> Ends:
    """Check every record as a freeze does, and count where they end, those of the selection where there is one.

    Args: schema: of the tree.
    Raises: InputError: as of a source. MustCopyError: it cannot be said in one query. TemporaryError: no database.
    """
    refuse_what_no_query_says(tree, schema)
    if selector is not None:
        check_engine(settings, selector)
    schema = with_thresholds(tree, schema)
    with opened_for(settings, selector) as rows:
        columns = match(rows, schema, settings)
        spellings = read_spellings(columns, schema, settings)
        if selector is not None:
            check_parting(columns, schema, settings, spellings, selector)
        records = taken(columns, schema, settings, spellings, selector)
        walked, ends = _Walk(records, schema).of(tree)
        counted = walked.group_by(
            place=ends, label=code_of(records.labels, range(len(records.labels)))
        ).aggregate(records=lambda table: table.count())
        with nullcontext() if walked is records.rows else _queries_apart():
            found = counted.to_pyarrow()
    if found.num_rows and min(found["label"].to_pylist()) < 0:
        raise InputError(
            "the records changed while they were counted.",
            where=place_name(settings),
            remedy="Try again when nothing writes to them, or name a copy of the table.",
        )
    place, label, number = (found[name].to_numpy().astype(np.int64) for name in ("place", "label", "records"))
    order = np.lexsort((label, place))
    return place[order], label[order].astype(np.uint8), number[order], notes_of(columns, spellings[-1])


def refuse_what_no_query_says(tree: Tree, schema: Schema) -> None:
    """Raises: MustCopyError: a vote of branches, or too large a tree."""
    if tree.node_count > MAX_NODES:
        raise MustCopyError(f"the tree has more than {MAX_NODES} nodes")
    level: Sequence[Node] = [tree.root]
    for _ in range(MAX_DEPTH + 1):
        splits = [node for node in level if isinstance(node, Split)]
        if any(schema.attributes[one.attribute].is_fractional and can_vote(one) for one in splits):
            raise MustCopyError("records with missing values end where the branches' vote says")
        level = [kid for one in splits for kid in one.kids]
        if not level:
            return
    raise MustCopyError(f"the tree asks more than {MAX_DEPTH} questions in a row")


def with_thresholds(tree: Tree, schema: Schema) -> Schema:
    """The schema with cuts for its numbers in fixed point: where the tree asks for them, and nowhere else."""
    asked: dict[int, set[Decimal]] = {}
    for node in tree.nodes():
        if isinstance(node, Split) and isinstance(node.test, AtMost):
            asked.setdefault(node.attribute, set()).add(node.test.threshold)
    attributes = tuple(
        attribute
        if attribute.fixed_point is None
        else replace(attribute, cuts=tuple(sorted(asked.get(index, ()))))
        for index, attribute in enumerate(schema.attributes)
    )
    return replace(schema, attributes=attributes)


@contextmanager
def _queries_apart() -> Iterator[None]:
    """Ibis would make one query of a query around another, and so one deep CASE of pieces."""
    options = ibis().options.sql
    fuses, options.fuse_selects = options.fuse_selects, False
    try:
        yield
    finally:
        options.fuse_selects = fuses


class _Walk:
    """Builds the expression of a tree. Nodes are numbered in the order of `Tree.nodes`."""

    def __init__(self, records: SqlRecords, schema: Schema) -> None:
        self._records, self._schema = records, schema

    def of(self, tree: Tree) -> tuple[Any, Any]:
        """Rows, and over them the place where each ends."""
        sizes = _sizes(tree)
        ends, roots = self._piece(tree.root, 0, sizes)
        rows, columns = self._records.rows, list[str]()
        while roots:
            columns.append(f"privet_place{len(columns)}")
            rows = rows.mutate(**{columns[-1]: ends})
            pieces, roots = [(number, self._piece(node, number, sizes)) for node, number in roots], []
            for _, (_, deeper) in pieces:
                roots += deeper
            cases = [(_literal(number), expression) for number, (expression, _) in pieces]
            ends = rows[columns[-1]].cases(*cases, else_=ibis().null("int32"))
        return rows, ibis().coalesce(ends, *(rows[name] for name in reversed(columns))) if columns else ends

    def _piece(self, root: Node, first: int, sizes: Mapping[int, int]) -> tuple[Any, list[tuple[Node, int]]]:
        """The place of a row that has come to `root`, or how far this piece takes it; and where others go on."""
        onwards: list[tuple[Node, int]] = []

        def expression(node: Node, number: int, depth: int) -> Any:
            if isinstance(node, Leaf):
                return _literal(number)
            if depth == PIECE:
                onwards.append((node, number))
                return _literal(number)
            kids, at = [], number + 1
            for kid in node.kids:
                kids.append(expression(kid, at, depth + 1))
                at += sizes[id(kid)]
            return ibis().cases(*zip(self._branches(node), kids, strict=True), else_=_literal(number))

        return expression(root, first, 0), onwards

    def _branches(self, split: Split) -> list[Any]:
        """For each branch whether a row takes it; rows that take none end here."""
        values = self._records.values[split.attribute]
        if isinstance(split.test, AtMost):
            return self._sides(split.attribute, split.test.threshold, values)
        usable = values[: self._schema.branch_count(split.attribute)]
        if isinstance(split.test, UpTo):
            return [_any_of(usable[: split.test.value + 1]), _any_of(usable[split.test.value + 1 :])]
        if isinstance(split.test, Equals):
            others = (*usable[: split.test.value], *usable[split.test.value + 1 :])
            return [_any_of(others), usable[split.test.value]]
        return list(values[: len(split.kids)])

    def _sides(self, index: int, threshold: Decimal, values: Sequence[Any]) -> list[Any]:
        """Up to a threshold, and above; an empty field counts as the number that the study names for it."""
        attribute = self._schema.attributes[index]
        if attribute.fixed_point is None:
            raise InternalError("a threshold for an attribute of listed values")
        cuts, missing = attribute.cuts or (), attribute.fixed_point.missing
        end = cuts.index(threshold) + 1
        left, right = list(values[:end]), list(values[end : len(cuts) + 1])
        if missing is not None:
            (left if missing <= threshold else right).append(values[-1])
        return [_any_of(left), _any_of(right)]


def _any_of(conditions: Sequence[Any]) -> Any:
    return reduce(or_, conditions, ibis().literal(False))


def _sizes(tree: Tree) -> dict[int, int]:
    """Nodes of each node's subtree, by the node's identity."""
    sizes: dict[int, int] = {}
    for node in reversed(list(tree.nodes())):  # kids come behind their parents
        sizes[id(node)] = 1 + (0 if isinstance(node, Leaf) else sum(sizes[id(kid)] for kid in node.kids))
    return sizes


def _literal(number: int) -> Any:
    return ibis().literal(number, type="int32")
