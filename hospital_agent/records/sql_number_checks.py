"""Faults of numbers in a database, found in one query for many columns: what no bound of `sql_numbers` lets pass.

Messages name table and column and the rule, never a value or how many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import MAX_COLUMNS, place
from hospital_agent.records.sql_numbers import MustCopyError, NumberColumn, NumberReading
from hospital_agent.records.sql_values import SqlColumns
from shared.errors import InputError
from shared.tree.schema import Schema

_FAULTS: Final = {
    "no_number": ("NaN or infinity in a numeric column.", "Correct it, or make it NULL."),
    "empty": (
        "an empty field, and the schema has no value for it.",
        "Fill the field, or have the study's schema list a value for missing.",
    ),
    "range": (
        "a number outside the study's range.",
        "Correct the field; look at its unit too (units in the data settings).",
    ),
    "decimals": (
        "a number with more decimals than the study allows.",
        "Round the column, or have the study allow more decimals.",
    ),
}


def check_numbers(columns: SqlColumns, schema: Schema, settings: DataSettings) -> None:
    """Look for every fault of every numeric column.

    Raises: InputError: the first fault. MustCopyError: numbers that cannot be checked in the engine.
    """
    sums: dict[str, Any] = {}
    asked: list[tuple[str, str]] = []
    for attribute, column in zip(schema.attributes, columns.attributes, strict=True):
        if attribute.cuts is None or attribute.name in columns.derived:
            continue
        for fault, condition in NumberColumn(column, NumberReading.of(attribute, settings)).faults().items():
            sums[f"s{len(asked)}"] = condition.ifelse(1, 0).sum()
            asked.append((column.get_name(), fault))
    for name in _found(columns.rows, sums):
        column_name, fault = asked[int(name[1:])]
        if fault == "exponent":
            raise MustCopyError(
                f"column {column_name!r} holds numbers whose decimals the engine cannot count"
            )
        says, remedy = _FAULTS[fault]
        raise InputError(says, where=f"{place(settings)}, column {column_name!r}", remedy=remedy)


def _found(rows: Any, sums: dict[str, Any]) -> Iterator[str]:
    """The names of sums that are not 0, in their order."""
    names = list(sums)
    for start in range(0, len(names), MAX_COLUMNS):
        run = names[start : start + MAX_COLUMNS]
        (answer,) = rows.aggregate(**{name: sums[name] for name in run}).to_pyarrow().to_pylist()
        yield from (name for name in run if answer[name])
