"""A growth with fractional rows in the middle, as plain JSON and back: what an agent's journal keeps between rounds.

Beside the decisions of `growth_record` it holds the unit of their counts and the parts of the open nodes. Reading
checks all of it, since a disk may have damaged it: the parts of an open node must add up to its row in the decision
above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shared.errors import InputError
from shared.tree.fractional_frontier import Part, PartedNode, parted_root
from shared.tree.fractional_splitting import WeightedDecision
from shared.tree.growth_record import levels_to_json, parse_record, unreadable
from shared.tree.ordered_frontier import OpenValues
from shared.tree.paths import Branch, NodePath, Side, parse_path, path_text
from shared.tree.schema import Schema
from shared.tree.splitting import SplitDecision

Levels = tuple[tuple[WeightedDecision, ...], ...]
"""Decisions by depth, each level in frontier order."""

_OpenRows = dict[NodePath, tuple[int, tuple[Fraction, ...]]]
"""Of each open node the majority above and the weight per class."""


def decided_to_json(history: Levels) -> dict[str, Any]:
    """Decisions by level, and the unit of each one's counts."""
    decisions = tuple(tuple(entry.decision for entry in level) for level in history)
    units = [[entry.denominator for entry in level] for level in history]
    return {"history": levels_to_json(decisions), "units": units}


def parted_to_json(frontier: Sequence[PartedNode]) -> list[dict[str, Any]]:
    """The open nodes; weights as fractions in text."""
    return [
        {
            "node": path_text(node.path),
            "majority": node.majority_above,
            "parts": [_part_to_json(part) for part in node.parts],
        }
        for node in frontier
    ]


def _part_to_json(part: Part) -> list[Any]:
    entry: list[Any] = [path_text(part.population), str(part.weight), part.row]
    if part.values is not None:
        entry.append([[index, list(values)] for index, values in part.values.items()])
    return entry


def parse_decided(schema: Schema, data: Any) -> tuple[bytes, bytes, Levels]:
    """The manifest's hash, the chained state and the decisions of a record. Raises: InputError: another form."""
    if not isinstance(data, dict):
        raise unreadable()
    record = parse_record(schema, {**data, "last_depth": 0, "parents": []})
    try:
        history = tuple(
            tuple(
                WeightedDecision(decision, _positive(unit))
                for decision, unit in zip(level, units, strict=True)
            )
            for level, units in zip(record.history, data["units"], strict=True)
        )
    except (KeyError, TypeError, ValueError):
        raise unreadable() from None
    return record.mh, record.state, history


def parse_parted(schema: Schema, data: Mapping[str, Any], history: Levels) -> tuple[PartedNode, ...]:
    """The open nodes of a record. Raises: InputError: another form, or not those that the last level left open."""
    if not history:
        if data.get("open") != parted_to_json([parted_root()]):
            raise unreadable()
        return (parted_root(),)
    try:
        frontier = tuple(_node(schema, entry) for entry in data["open"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, InputError, ZeroDivisionError):
        raise unreadable() from None
    if {node.path: (node.majority_above, _weight(node)) for node in frontier} != _left_open(history):
        raise unreadable()
    return frontier


def _node(schema: Schema, entry: Mapping[str, Any]) -> PartedNode:
    path = parse_path(entry["node"])
    parts = tuple(
        Part(
            _population(schema, path, population),
            Fraction(weight),
            _row(schema, row),
            _values(schema, values),
        )
        for population, weight, row, *values in entry["parts"]
    )
    return PartedNode(path, entry["majority"], parts)


def _population(schema: Schema, path: NodePath, text: str) -> NodePath:
    """A population of a node: at each step of its path the node's value, or none where that is fractional."""
    steps, taken = list(parse_path(text)), []
    for index, branch in path:
        attribute = schema.attributes[index]
        missing = attribute.missing_code if attribute.is_fractional else None
        if isinstance(branch, Side) and missing is not None and (index, missing) in taken:
            continue
        step = steps.pop(0)
        if step == (index, branch):
            taken.append((index, _known(branch, missing)))
        elif missing is not None and step == (index, missing):
            taken.append((index, missing))
        else:
            raise ValueError("a population of another node")
    if steps:
        raise ValueError("a population of another node")
    return tuple(taken)


def _known(branch: Branch, missing: int | None) -> Branch:
    """A node's branch as that of its records with a value."""
    return replace(branch, below=missing) if isinstance(branch, Side) and branch.is_above else branch


def _values(schema: Schema, given: list[Any]) -> OpenValues | None:
    """What is asked of a population, None in a job without thresholds."""
    if not given:
        return None
    (entries,) = given
    found = {}
    for index, values in entries:
        codes = range(schema.value_count(range(len(schema.attributes))[index]))
        if sorted(set(values)) != values or not all(
            type(value) is int and value in codes for value in values
        ):
            raise ValueError("values that the attribute does not have")
        found[index] = tuple(values)
    return found


def _row(schema: Schema, row: Any) -> tuple[int, ...]:
    if len(row) != schema.class_count or any(type(count) is not int or count < 0 for count in row):
        raise ValueError("a row of another shape")
    return tuple(row)


def _positive(unit: Any) -> int:
    if type(unit) is not int or unit < 1:
        raise ValueError("a unit that is not a natural number")
    return unit


def _weight(node: PartedNode) -> tuple[Fraction, ...]:
    rows = [[part.weight * count for count in part.row or ()] for part in node.parts]
    return tuple(sum(column, start=Fraction(0)) for column in zip(*rows, strict=True))


def _left_open(history: Levels) -> _OpenRows:
    rows: _OpenRows = {}
    for entry in history[-1]:
        split = entry.decision
        if not isinstance(split, SplitDecision):
            continue
        for kid, label in enumerate(split.kids):
            if label is None:
                weights = tuple(Fraction(count, entry.denominator) for count in split.rows[kid])
                rows[split.path_of(kid)] = (split.majority, weights)
    return rows
