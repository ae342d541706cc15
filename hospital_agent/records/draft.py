"""A study's schema drafted from tables at hand: for the demo, and for a coordinator who has sample data.

Values and classes are sorted as text; those that a file declares stand first, in its order. What the draft refuses
would give a useless or an unlawful tree: identifiers, a single class, more values than the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from hospital_agent.records.source import ColumnReference
from hospital_agent.records.table import Column, Table
from shared.errors import InputError
from shared.tree.numbers import MAX_CODE_BITS, FixedPoint, UnknownValueError, decimal_text, parse_number
from shared.tree.schema import MAX_CLASSES, MAX_VALUES, MISSING_NAMES, Attribute, Schema

IDENTIFIER_ROWS: Final = 20
"""Below so many rows, distinct values prove nothing."""
IDENTIFIER_TENTHS: Final = 9
"""A column with at least nine distinct values to ten rows names patients."""


def draft_schema(
    tables: Sequence[Table],
    class_column: ColumnReference,
    drop: Iterable[ColumnReference] = (),
    cuts: Mapping[str, Sequence[Decimal]] | None = None,
    *,
    numbers: bool = False,
) -> Schema:
    """The schema of tables with the same columns; attributes in the order of the first table.

    Args: cuts: public cut points of numeric attributes; every other attribute is categorical. numbers: for mode
        gain-ratio: columns of nothing but numbers are compared as numbers, in the range and with the decimals that
        occur, and categorical attributes are tested value by value.
    Raises: InputError: tables with different columns, an identifier column, too many values, an empty class
        field, a single class over all tables, a class column that is dropped, numbers of more than 32 bits.
    """
    first = tables[0]
    target = first.find(class_column, "--class")
    dropped = {first.find(reference, "--drop").position for reference in drop}
    if target.position in dropped:
        raise InputError(
            "the class column is to be left out.",
            where=f"{first.where}, class column {target.name!r}",
            remedy="Name another class column with --class, or take it out of --drop.",
        )
    kept = [column for column in first.columns if column.position not in {target.position, *dropped}]
    rows = sum(table.row_count for table in tables)
    pooled = {column.name: _pooled_values(tables, column) for column in (*kept, target)}
    points = cuts or {}
    draft = _number_or_category if numbers else _attribute
    attributes = [draft(_where(tables), name, pooled[name], rows, points.get(name)) for name in _names(kept)]
    return Schema.create(attributes, target.name, _classes(tables, target, pooled[target.name]))


def _where(tables: Sequence[Table]) -> str:
    """The tables together, for faults that no single one of them need have."""
    more = len(tables) - 1
    return tables[0].where + (f" and {more} more file{'s' if more > 1 else ''}" if more else "")


def _names(columns: Iterable[Column]) -> list[str]:
    return [column.name for column in columns]


def _pooled_values(tables: Sequence[Table], wanted: Column) -> list[str]:
    """All values of a column over the tables: the declared ones as declared, then the others sorted."""
    values: set[str] = set()
    declared: dict[str, None] = {}
    for table in tables:
        matches = [column for column in table.columns if column.name == wanted.name]
        if not matches:
            raise InputError(
                f"there is no column {wanted.name!r}, which {tables[0].where} has.",
                where=table.where,
                remedy="Give files with the same columns, or leave the column out with --drop.",
            )
        values.update(matches[0].values)
        declared.update(dict.fromkeys(matches[0].declared or ()))
    return [*declared, *sorted(values - declared.keys())]


def _attribute(
    where: str, name: str, values: Sequence[str], rows: int, cuts: Sequence[Decimal] | None
) -> Attribute:
    if cuts is not None:
        return Attribute.numeric(name, cuts, "missing" if "" in values else None)
    column = f"{where}, column {name!r}"
    _refuse_identifier(column, name, values, rows)
    if len(values) > MAX_VALUES:
        raise InputError(f"more than {MAX_VALUES} distinct values.", where=column, remedy=_drop(name))
    return Attribute(name, _named(values))


def _number_or_category(
    where: str, name: str, values: Sequence[str], rows: int, cuts: Sequence[Decimal] | None
) -> Attribute:
    found = None if cuts is not None else _numbers(name, values)
    if found is None:
        attribute = _attribute(where, name, values, rows, cuts)
        return attribute if cuts is not None else replace(attribute, treat_as="equality")
    decimals = max(max(0, -int(number.normalize().as_tuple().exponent)) for number in found)
    if decimals == 0:
        _refuse_identifier(f"{where}, column {name!r}", name, values, rows)
    low, high = decimal_text(min(found)), decimal_text(max(found))
    try:
        return Attribute(name, (), fixed_point=FixedPoint.create(name, low, high, decimals))
    except InputError:
        raise InputError(
            f"numbers of this range with {decimals} decimals do not fit into {MAX_CODE_BITS} bits.",
            where=f"{where}, column {name!r}",
            remedy=f"Round the numbers in the file, give cut points with --cut, or leave it out with --drop {name!r}.",
        ) from None


def _numbers(name: str, values: Sequence[str]) -> list[Decimal] | None:
    """The values as numbers, None where one is not, or is missing."""
    try:
        return [parse_number(name, value) for value in values]
    except UnknownValueError:
        return None


def _refuse_identifier(column: str, name: str, values: Sequence[str], rows: int) -> None:
    if rows >= IDENTIFIER_ROWS and len(values) * 10 >= rows * IDENTIFIER_TENTHS:
        raise InputError(
            "nearly every row has its own value, as in an identifier.", where=column, remedy=_drop(name)
        )


def _drop(name: str) -> str:
    return f"Leave it out with --drop {name!r}, or give it cut points if it is a measurement."


def _named(values: Sequence[str]) -> tuple[str, ...]:
    """The empty field as a value that can be read, where the data do not use that word themselves."""
    empty, word = MISSING_NAMES
    return tuple(word if value == empty and word not in values else value for value in values)


def _classes(tables: Sequence[Table], target: Column, labels: Sequence[str]) -> Sequence[str]:
    where = f"{_where(tables)}, class column {target.name!r}"
    if "" in labels:
        table, row = next(
            (table, row)
            for table in tables
            for row, text in enumerate(table.find(target.name, "--class").texts())
            if not text
        )
        raise InputError(
            "a record without a class.",
            where=f"{table.where}, class column {target.name!r}, {table.locate(row)}",
            remedy="Fill the field or remove the record; only records with a known class can be learned from.",
        )
    if len({text for table in tables for text in table.find(target.name, "--class").values}) < 2:
        raise InputError(
            "all records have one and the same class.",
            where=where,
            remedy="Name another class column with --class, or add records of another class.",
        )
    if len(labels) > MAX_CLASSES:
        raise InputError(
            f"more than {MAX_CLASSES} classes.", where=where, remedy="Name another class column with --class."
        )
    return labels
