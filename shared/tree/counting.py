"""Counting the cells of queries over rows of codes in memory: the oracle's counter, and the small demo's.

The hospital agent counts large data elsewhere (`hospital_agent.records`), in the same order of cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from shared.tree.frontier import NodeQuery
from shared.tree.paths import Branch, leads_to
from shared.tree.populations import count_apart
from shared.tree.schema import Schema

Row = Sequence[int]
"""The codes of one record: one per attribute in schema order, then the class."""


def count_rows(rows: Iterable[Row], queries: Sequence[NodeQuery], schema: Schema) -> list[int]:
    """The cells of all queries over `rows`: by query, attribute, value, class, each in the query's order."""
    kept = list(rows)
    return count_apart(
        queries, lambda some: _count_open(kept, some, schema), lambda query: query.cell_count(schema)
    )


def _count_open(rows: Iterable[Row], queries: Sequence[NodeQuery], schema: Schema) -> list[int]:
    """The same for open nodes of one tree."""
    buckets = _rows_by_query(rows, queries)
    cells: list[int] = []
    for query, bucket in zip(queries, buckets, strict=True):
        for attribute, values in zip(query.attributes, query.asked_values(schema.value_count), strict=True):
            found = Counter((row[attribute], row[-1]) for row in bucket)
            cells.extend(found[value, label] for value in values for label in query.classes)
    return cells


def _rows_by_query(rows: Iterable[Row], queries: Sequence[NodeQuery]) -> list[list[Row]]:
    """The rows that reach each query's node, found by walking the tree of the paths once per row."""
    top = _walk_table(queries)
    buckets: list[list[Row]] = [[] for _ in queries]
    for row in rows:
        place = top
        while isinstance(place, tuple):
            attribute, branches = place
            place = next(
                (deeper for branch, deeper in branches.items() if leads_to(branch, row[attribute])), None
            )
        if place is not None:
            buckets[place].append(row)
    return buckets


def _walk_table(queries: Sequence[NodeQuery]) -> Any:
    """Nested (attribute, {branch: deeper}) for the paths of one frontier; at the end the query's index.

    Nodes of one frontier that share a prefix were split there on one attribute, so a pair is enough.
    """
    top: dict[Branch, Any] = {}
    for index, query in enumerate(queries):
        branches: dict[Branch, Any] = top
        key: Branch = 0
        for attribute, branch in query.path:
            branches, key = branches.setdefault(key, (attribute, {}))[1], branch
        branches[key] = index
    return top.get(0)
