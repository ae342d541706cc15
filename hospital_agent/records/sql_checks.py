"""Bad input in a database, found before anything is counted: every distinct text of a column, every number's kind.

Messages name table and column, never a value; a database has no line numbers to give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import place
from hospital_agent.records.sql_values import SqlRecords, text_of
from shared.errors import InputError
from shared.tree.schema import Attribute, Schema, UnknownValueError

_MAX_DISTINCT: Final = 1000
"""Distinct texts fetched of a column: more than any study lists."""


def check_records(records: SqlRecords, schema: Schema, settings: DataSettings) -> tuple[str, ...]:
    """Notes for the hospital. Raises: InputError: no rows, or a field that has no code in the schema."""
    labels = _distinct(records, records.class_text)
    if not labels:
        raise InputError(
            "there are no rows.",
            where=place(settings),
            remedy="A hospital without records cannot take part; check the name of the table, or the query.",
        )
    _check_texts(labels, schema.class_code, f"{place(settings)}, class column {schema.class_name!r}")
    for attribute, column in zip(schema.attributes, records.columns, strict=True):
        where = f"{place(settings)}, column {column.get_name()!r}"
        if attribute.is_numeric:
            _check_numbers(records, attribute, column, where)
        else:
            _check_texts(_distinct(records, text_of(column, settings)), attribute.code_of, where)
    ignored = (
        [f"columns that the study does not use: {', '.join(records.ignored)}"] if records.ignored else []
    )
    return (*ignored, *(["only one class occurs in these records"] if len(labels) == 1 else []))


def _distinct(records: SqlRecords, text: Any) -> list[str]:
    found = records.rows.select(text=text).distinct().limit(_MAX_DISTINCT).to_pyarrow()
    return [str(value) for value in found["text"].to_pylist()]


def _check_texts(texts: list[str], read: Callable[[str], int], where: str) -> None:
    unknown = 0
    for text in texts:
        try:
            read(text)
        except UnknownValueError:
            unknown += 1
    if unknown:
        raise InputError(
            f"texts that the schema does not list ({unknown} distinct ones in the column).",
            where=where,
            remedy="Correct them, declare missing_codes, or have the study's schema list them.",
        )


def _check_numbers(records: SqlRecords, attribute: Attribute, column: Any, where: str) -> None:
    kind = column.type()
    if not kind.is_integer():
        number = column.cast("float64")
        strange = (number.isnan() | number.isinf()).ifelse(1, 0).sum()
        if records.rows.aggregate(found=strange).to_pyarrow()["found"].to_pylist()[0]:
            raise InputError(
                "NaN or infinity in a numeric column.", where=where, remedy="Correct it, or make it NULL."
            )
    if attribute.missing_code is None:
        empty = column.isnull().ifelse(1, 0).sum()
        if records.rows.aggregate(found=empty).to_pyarrow()["found"].to_pylist()[0]:
            raise InputError(
                "an empty field, and the schema has no value for it.",
                where=where,
                remedy="Fill the field, or have the study's schema list a value for missing.",
            )
