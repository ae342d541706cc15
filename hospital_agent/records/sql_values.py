"""What "attribute a has value v" means in an SQL engine: one condition a value, for texts and for numbers.

A text is compared as the engine prints it, with every *spelling* of a value that occurred when the records were frozen
(`sql_checks`): blanks around it, missing codes and NULL were dealt with there, so that no row is trimmed again. A
number is compared with bounds of its own type (`sql_numbers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from hospital_agent.records.composing import input_names, why_absent
from hospital_agent.records.contracted import study_names
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_composing import composed_there
from hospital_agent.records.sql_engine import ibis, place
from hospital_agent.records.sql_numbers import NumberColumn, NumberReading
from hospital_agent.records.table import refuse_duplicate_names
from shared.errors import InputError
from shared.tree.schema import Attribute, Schema

Spellings = Sequence[Sequence[str | None]]
"""For each code of a column the texts that mean it; None is NULL. Empty for a numeric attribute."""


@dataclass(frozen=True, slots=True)
class SqlColumns:
    """The columns of the engine's rows in the order of the schema, the class, and the names that are ignored."""

    rows: Any = field(repr=False)
    attributes: tuple[Any, ...] = field(repr=False)
    target: Any = field(repr=False)
    ignored: tuple[str, ...]
    derived: frozenset[str] = frozenset()
    """Names of the attributes and the class that are joined texts of several columns."""


@dataclass(frozen=True, slots=True)
class SqlRecords:
    """The rows of an engine with, for each attribute and for the class, one condition a value."""

    rows: Any = field(repr=False)
    values: tuple[tuple[Any, ...], ...] = field(repr=False)
    labels: tuple[Any, ...] = field(repr=False)


def match(rows: Any, schema: Schema, settings: DataSettings) -> SqlColumns:
    """Columns by name, after the settings' renames.

    Raises: InputError: a column is missing, doubled, or a numeric attribute is kept as text.
    """
    names = study_names(rows.columns, settings)
    refuse_duplicate_names(names, f"{place(settings)}, after renaming")
    actual = dict(zip(names, rows.columns, strict=True))
    composed = composed_there(rows, actual, settings)
    made = composed.all
    derived_class = made.get(schema.class_name)
    target = rows[_class_name(rows, actual, schema, settings)] if derived_class is None else derived_class
    wanted = [attribute.name for attribute in schema.attributes]
    missing = [name for name in wanted if name not in actual and name not in made]
    if missing:
        raise InputError(
            f"the study's attribute {missing[0]!r} has no column here ({len(missing)} missing in all).",
            where=place(settings),
            remedy=f"{why_absent(settings, missing[0], names)}Add the column, or map an existing one to that name with "
            "rename.",
        )
    columns = tuple(made[name] if name in made else rows[actual[name]] for name in wanted)
    for attribute, column in zip(schema.attributes, columns, strict=True):
        _check_type(attribute, column, settings)
    known = {*wanted, *study_names([target.get_name()], settings), *input_names(settings)} - {*made}
    return SqlColumns(
        rows, columns, target, tuple(name for name in names if name not in known), frozenset(made)
    )


def with_conditions(
    columns: SqlColumns, schema: Schema, settings: DataSettings, spellings: Sequence[Spellings]
) -> SqlRecords:
    """One condition a value. Args: spellings: of each attribute, and of the class last.

    Raises: MustCopyError: a numeric column whose bounds cannot be told to the engine.
    """
    *of_attributes, of_class = spellings
    triples = zip(schema.attributes, columns.attributes, of_attributes, strict=True)
    values = tuple(
        _spelled(column, texts)
        if attribute.cuts is None or attribute.name in columns.derived
        else NumberColumn(column, NumberReading.of(attribute, settings)).conditions()
        for attribute, column, texts in triples
    )
    return SqlRecords(columns.rows, values, _spelled(columns.target, of_class))


def text_of(column: Any) -> Any:
    """The column as the engine prints it; NULL stays NULL."""
    return column.cast("string")


def _class_name(rows: Any, actual: dict[str, str], schema: Schema, settings: DataSettings) -> str:
    wanted = schema.class_name if settings.class_column is None else str(settings.class_column)
    if wanted in rows.columns:
        return wanted
    if wanted in actual:
        return actual[wanted]
    raise InputError(
        f"the class column {wanted!r} is missing.",
        where=place(settings),
        remedy="Name the column with class_column in the data settings.",
    )


def _check_type(attribute: Attribute, column: Any, settings: DataSettings) -> None:
    kind = column.type()
    if settings.contract is not None:
        return  # it is copied, and its texts are read one by one
    if attribute.is_numeric and not (kind.is_integer() or kind.is_floating() or kind.is_decimal()):
        raise InputError(
            "a numeric attribute of the study, but no numeric column.",
            where=f"{place(settings)}, column {column.get_name()!r}",
            remedy="Write a query that casts it, and name that query in the data settings.",
        )


def _spelled(column: Any, spellings: Spellings) -> tuple[Any, ...]:
    return tuple(_any_of(column, texts) for texts in spellings)


def _any_of(column: Any, texts: Sequence[str | None]) -> Any:
    """Whether the column holds one of these texts; never for a value that does not occur."""
    tests = [column.isnull() if text is None else text_of(column) == text for text in texts]
    return reduce(or_, tests) if tests else column.isnull() & ibis().literal(False)
