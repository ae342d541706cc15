"""What "attribute a has value v" means in an SQL engine: one condition a value, for texts and for numbers.

A text is compared as the engine prints it, blanks around it removed, NULL as an empty field. A number is compared
with the study's cuts in its own type: integers with the cut's whole part, floating numbers with the nearest floating
number, decimals exactly. For text attributes and for cuts of up to 15 digits this is the same as in a file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from typing import Any

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import ibis, place
from hospital_agent.records.table import refuse_duplicate_names
from shared.errors import InputError
from shared.tree.schema import Attribute, Schema


@dataclass(frozen=True, slots=True)
class SqlRecords:
    """The records of an engine with, for each attribute and each class, one condition a value."""

    rows: Any = field(repr=False)
    columns: tuple[Any, ...] = field(repr=False)
    values: tuple[tuple[Any, ...], ...] = field(repr=False)
    labels: tuple[Any, ...] = field(repr=False)
    class_text: Any = field(repr=False)
    ignored: tuple[str, ...]


def match(rows: Any, schema: Schema, settings: DataSettings) -> SqlRecords:
    """Columns by name, after the settings' renames.

    Raises: InputError: a column is missing, doubled, or a numeric attribute is kept as text.
    """
    names = [settings.rename.get(name, name) for name in rows.columns]
    refuse_duplicate_names(names, f"{place(settings)}, after renaming")
    actual = dict(zip(names, rows.columns, strict=True))
    target = _class_name(rows, actual, schema, settings)
    wanted = [attribute.name for attribute in schema.attributes]
    missing = [name for name in wanted if name not in actual]
    if missing:
        raise InputError(
            f"the study's attribute {missing[0]!r} has no column here ({len(missing)} missing in all).",
            where=place(settings),
            remedy="Add the column, or map an existing one to that name with rename.",
        )
    columns = tuple(rows[actual[name]] for name in wanted)
    pairs = zip(schema.attributes, columns, strict=True)
    values = tuple(_conditions(attribute, column, settings) for attribute, column in pairs)
    text = text_of(rows[target], settings)
    labels = tuple(text == label for label in schema.classes)
    known = {*wanted, settings.rename.get(target, target)}
    return SqlRecords(rows, columns, values, labels, text, tuple(name for name in names if name not in known))


def text_of(column: Any, settings: DataSettings) -> Any:
    """The column as the text that the schema is asked about."""
    text = column.cast("string").strip().fill_null("")
    return text.isin(settings.missing_codes).ifelse("", text) if settings.missing_codes else text


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


def _conditions(attribute: Attribute, column: Any, settings: DataSettings) -> tuple[Any, ...]:
    if attribute.cuts is None:
        text = text_of(column, settings)
        texts = [text == name for name in attribute.values]
        if attribute.missing_code is not None:
            texts[attribute.missing_code] |= text == ""
        return tuple(texts)
    kind = column.type()
    if not (kind.is_integer() or kind.is_floating() or kind.is_decimal()):
        raise InputError(
            "a numeric attribute of the study, but no numeric column.",
            where=f"{place(settings)}, column {column.get_name()!r}",
            remedy="Write a query that casts it, and name that query in the data settings.",
        )
    return _intervals(attribute, column)


def _intervals(attribute: Attribute, column: Any) -> tuple[Any, ...]:
    cuts = [_cut_literal(column, cut) for cut in attribute.cuts or ()]
    if cuts:
        between = [(column > low) & (column <= high) for low, high in pairwise(cuts)]
        conditions = [column <= cuts[0], *between, column > cuts[-1]]
    else:
        conditions = [column.notnull()]
    return tuple(conditions) if attribute.missing_code is None else (*conditions, column.isnull())


def _cut_literal(column: Any, cut: Decimal) -> Any:
    """A cut in the type of the column: x <= 37.5 is x <= 37 for integers."""
    kind = column.type()
    if kind.is_integer():
        return ibis().literal(math.floor(cut), type="int64")
    if kind.is_floating():
        return ibis().literal(float(cut), type=kind)
    return ibis().literal(cut, type="decimal(38, 17)")
