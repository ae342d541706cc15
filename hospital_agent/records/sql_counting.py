"""Push-down counting by conditional sums: the rows stay in the database, one row a node and class comes out.

`SELECT node, class, sum(CASE WHEN attribute = value THEN 1 ELSE 0 END), ... GROUP BY node, class`, at most
`MAX_COLUMNS` sums a query. The node is a nested CASE that follows the paths as a tree does. An attribute of more than
`WIDE_VALUES` values, such as a number on a fine grid, has a query of its own that groups by its value as well: a third
of the time of so many sums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final

from hospital_agent.records.sql_engine import MAX_COLUMNS, ibis
from hospital_agent.records.sql_values import SqlRecords
from shared.tree.frontier import NodeQuery
from shared.tree.paths import Branch, NodePath, Side

WIDE_VALUES: Final = 32
_NOWHERE: Final = -1

_Found = Mapping[tuple[int, int, int, int], int]
"""(node, class, attribute, value) to a count above zero."""


def count_sql(records: SqlRecords, queries: Sequence[NodeQuery]) -> list[int]:
    """All asked cells, in the order query, attribute, value, class."""
    asked = sorted({attribute for query in queries if query.classes for attribute in query.attributes})
    wide = [attribute for attribute in asked if len(records.values[attribute]) > WIDE_VALUES]
    found: dict[tuple[int, int, int, int], int] = {}
    for attributes in chunks(records, [attribute for attribute in asked if attribute not in wide]):
        found.update(_count_attributes(records, queries, attributes))
    for attribute in wide:
        found.update(_count_wide(records, queries, attribute))
    return [
        found.get((node, label, attribute, value), 0)
        for node, query in enumerate(queries)
        for attribute, values in zip(
            query.attributes, query.asked_values(lambda index: len(records.values[index])), strict=True
        )
        for value in values
        for label in query.classes
    ]


def chunks(records: SqlRecords, attributes: Sequence[int]) -> Iterator[list[int]]:
    """Runs of attributes with at most MAX_COLUMNS values together; an attribute alone has at most 256."""
    run: list[int] = []
    width = 0
    for attribute in attributes:
        size = len(records.values[attribute])
        if run and width + size > MAX_COLUMNS:
            yield run
            run, width = [], 0
        run.append(attribute)
        width += size
    if run:
        yield run


def code_of(conditions: Sequence[Any], codes: Sequence[int]) -> Any:
    """The code whose condition holds, or -1."""
    return ibis().cases(*zip(conditions, map(_literal, codes), strict=True), else_=_literal(_NOWHERE))


def _count_attributes(records: SqlRecords, queries: Sequence[NodeQuery], attributes: Sequence[int]) -> _Found:
    places = [(query.path, node) for node, query in enumerate(queries) if query.classes]
    node = _node_expression(records, places, 0)
    label = code_of(records.labels, range(len(records.labels)))
    names = {f"s{a}_{v}": (a, v) for a in attributes for v in range(len(records.values[a]))}
    sums = {name: records.values[a][v].ifelse(1, 0).sum() for name, (a, v) in names.items()}
    grouped = records.rows.group_by(node=node, label=label).aggregate(**sums)
    result = grouped.filter(grouped.node != _NOWHERE).to_pyarrow().to_pylist()
    return {
        (row["node"], row["label"], *place): int(row[name] or 0)
        for row in result
        for name, place in names.items()
        if row[name]
    }


def _count_wide(records: SqlRecords, queries: Sequence[NodeQuery], attribute: int) -> _Found:
    places = [(query.path, node) for node, query in enumerate(queries) if query.classes]
    grouped = records.rows.group_by(
        node=_node_expression(records, places, 0),
        label=code_of(records.labels, range(len(records.labels))),
        value=code_of(records.values[attribute], range(len(records.values[attribute]))),
    ).aggregate(records=lambda table: table.count())
    result = grouped.filter(grouped.node != _NOWHERE).to_pyarrow().to_pylist()
    return {(row["node"], row["label"], attribute, row["value"]): int(row["records"]) for row in result}


def _node_expression(records: SqlRecords, places: Sequence[tuple[NodePath, int]], depth: int) -> Any:
    """The index of the open node of a row, or -1: the paths share their first `depth` steps."""
    if len(places[0][0]) == depth:
        return _literal(places[0][1])
    branches: dict[tuple[int, Branch], list[tuple[NodePath, int]]] = defaultdict(list)
    for path, node in places:
        branches[path[depth]].append((path, node))
    cases = [
        (_condition(records.values[attribute], branch), _node_expression(records, deeper, depth + 1))
        for (attribute, branch), deeper in branches.items()
    ]
    return ibis().cases(*cases, else_=_literal(_NOWHERE))


def _condition(values: Sequence[Any], branch: Branch) -> Any:
    """Whether a row goes down a branch. Args: values: for each value of the attribute whether a row has it."""
    if not isinstance(branch, Side):
        return values[branch]
    end = branch.threshold + 1
    return reduce(or_, values[end : branch.below] if branch.is_above else values[:end])


def _literal(code: int) -> Any:
    return ibis().literal(code, type="int32")
