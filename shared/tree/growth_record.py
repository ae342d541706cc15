"""A growth in the middle, as plain JSON and back: what an agent's journal keeps between two rounds.

A record holds the decisions with their counts and the tables that later subtractions need; the rest
follows from them. Reading checks all of it, since a disk may have damaged it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.errors import InputError
from shared.tree.contingency import ContingencyTable
from shared.tree.paths import NodePath, Side, parse_path, path_text
from shared.tree.schema import Schema
from shared.tree.splitting import LeafDecision, NodeDecision, NodeTables, SplitDecision

T = TypeVar("T")

Levels = tuple[tuple[NodeDecision, ...], ...]
"""Decisions by depth, each level in frontier order."""


@dataclass(frozen=True, slots=True)
class GrowthRecord:
    """The parts of a growth that a record holds."""

    mh: bytes
    state: bytes
    last_depth: int
    history: Levels = field(repr=False)
    parents: Mapping[NodePath, NodeTables] = field(repr=False)


def levels_to_json(levels: Levels) -> list[list[dict[str, Any]]]:
    """Decisions by level; `kids` has null for an open child."""
    return [[_decision_to_json(decision) for decision in level] for level in levels]


def parents_to_json(parents: Mapping[NodePath, NodeTables]) -> list[dict[str, Any]]:
    """Kept tables by node and attribute."""
    return [
        {
            "node": path_text(path),
            "tables": [[attribute, [list(row) for row in table.rows]] for attribute, table in tables.items()],
        }
        for path, tables in parents.items()
    ]


def parse_record(schema: Schema, data: Any) -> GrowthRecord:
    """A checked record. Raises: InputError: another form, or an index or shape outside the schema."""
    try:
        return GrowthRecord(
            bytes.fromhex(data["mh"]),
            bytes.fromhex(data["state"]),
            _index(data["last_depth"], len(data["history"]) + 1),
            tuple(tuple(_decision(schema, entry) for entry in level) for level in data["history"]),
            {parse_path(entry["node"]): _tables(schema, entry["tables"]) for entry in data["parents"]},
        )
    except (KeyError, TypeError, ValueError, AttributeError, InputError):
        raise unreadable() from None


def unreadable() -> InputError:
    """The one error for a record that cannot be used; it says nothing of the content."""
    return InputError(
        "the record of the growing tree is damaged or belongs to another job",
        where="journal",
        remedy="Restore the journal, or cancel the job and start it again.",
    )


def _decision_to_json(decision: NodeDecision) -> dict[str, Any]:
    node = {"node": path_text(decision.path)}
    if isinstance(decision, LeafDecision):
        return node | {"leaf": decision.label, "counts": list(decision.counts)}
    split = node | {
        "attr": decision.attribute,
        "majority": decision.majority,
        "kids": list(decision.kids),
        "rows": [list(row) for row in decision.rows],
    }
    return split if decision.up_to is None else split | {"up_to": decision.up_to}


def _decision(schema: Schema, entry: dict[str, Any]) -> NodeDecision:
    path, classes = _path(schema, entry["node"]), schema.class_count
    if "leaf" in entry:
        return LeafDecision(path, _index(entry["leaf"], classes), _vector(entry["counts"], classes, _count))
    attribute = _index(entry["attr"], len(schema.attributes))
    up_to = _index(entry["up_to"], schema.value_count(attribute) - 1) if "up_to" in entry else None
    values = schema.branch_count(attribute) if up_to is None else 2
    table = _table(entry["rows"], values, classes)
    return SplitDecision(
        path,
        attribute,
        _index(entry["majority"], classes),
        _vector(entry["kids"], values, lambda kid: None if kid is None else _index(kid, classes)),
        table.class_totals,
        table.rows,
        up_to,
    )


def _path(schema: Schema, text: str) -> NodePath:
    path = parse_path(text)
    for attribute, branch in path:
        values = schema.value_count(_index(attribute, len(schema.attributes)))
        if isinstance(branch, Side):
            _index(branch.threshold, values - 1)
        else:
            _index(branch, values)
    return path


def _tables(schema: Schema, entries: list[Any]) -> NodeTables:
    tables = {}
    for attribute, rows in entries:
        values = schema.value_count(_index(attribute, len(schema.attributes)))
        tables[attribute] = _table(rows, values, schema.class_count)
    return tables


def _table(rows: list[Any], values: int, classes: int) -> ContingencyTable:
    return ContingencyTable(_vector(rows, values, lambda row: _vector(row, classes, _count)))


def _vector(items: list[Any], length: int, read: Callable[[Any], T]) -> tuple[T, ...]:
    if not isinstance(items, list) or len(items) != length:
        raise ValueError("a list of another length")
    return tuple(read(item) for item in items)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a count that is not a natural number")
    return value


def _index(value: Any, bound: int) -> int:
    if type(value) is not int or not 0 <= value < bound:
        raise ValueError("an index outside its range")
    return value
