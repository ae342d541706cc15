"""Bad input in a database, found before anything is counted: every distinct text of a column, every number's kind.

What comes out is how the values of the study are spelled there. Messages name table and column, never a value; a
database has no line numbers to give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from hospital_agent.records.contracted import through_contract
from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_engine import place
from hospital_agent.records.sql_number_checks import check_numbers
from hospital_agent.records.sql_numbers import MustCopyError
from hospital_agent.records.sql_values import Spellings, SqlColumns, text_of
from shared.errors import InputError
from shared.texts import text
from shared.tree.numbers import UnknownValueError
from shared.tree.schema import Schema

_MAX_DISTINCT: Final = 1000
"""Distinct texts of a column: more than any study lists, several spellings of each included."""


def read_spellings(columns: SqlColumns, schema: Schema, settings: DataSettings) -> list[Spellings]:
    """The spellings of each attribute, and of the class last.

    Raises: InputError: no rows, or a field that has no code in the schema. MustCopyError: a column of a contract that
        is spelled in too many ways, or whose numbers cannot be read in the engine.
    """
    where = f"{place(settings)}, class column {schema.class_name!r}"
    class_code = through_contract(settings, schema.class_name, schema.class_code)
    of_class = _spellings(columns.rows, columns.target, class_code, schema.class_count, settings, where)
    if not any(of_class):
        raise without_rows(settings)
    check_numbers(columns, schema, settings)
    found: list[Spellings] = []
    for attribute, column in zip(schema.attributes, columns.attributes, strict=True):
        where = f"{place(settings)}, column {column.get_name()!r}"
        is_derived = attribute.name in columns.derived
        if is_derived and attribute.fixed_point is not None:
            raise MustCopyError(f"column {attribute.name!r} is a number made of several columns")
        if attribute.is_numeric and not is_derived:
            found.append(())
        else:
            size, read = len(attribute.values), through_contract(settings, attribute.name, attribute.code_of)
            found.append(_spellings(columns.rows, column, read, size, settings, where))
    return [*found, of_class]


def without_rows(settings: DataSettings) -> InputError:
    """The error of an empty table."""
    return InputError(
        "there are no rows.",
        where=place(settings),
        remedy="A hospital without records cannot take part; check the name of the table, or the query.",
    )


def notes_of(columns: SqlColumns, of_class: Spellings) -> tuple[str, ...]:
    """What the hospital should know."""
    single = [text("data_check.one_class")] if sum(map(bool, of_class)) == 1 else []
    return (*ignored_columns(columns), *single)


def ignored_columns(columns: SqlColumns) -> tuple[str, ...]:
    """A note on the columns that the study leaves out, if there are any."""
    names = ", ".join(columns.ignored)
    return (text("data_check.ignored", names=names),) if names else ()


def _spellings(
    rows: Any, column: Any, read: Callable[[str], int], size: int, settings: DataSettings, where: str
) -> list[list[str | None]]:
    found: list[list[str | None]] = [[] for _ in range(size)]
    unknown = 0
    texts = rows.select(text=text_of(column)).distinct().limit(_MAX_DISTINCT).to_pyarrow()["text"].to_pylist()
    for one in texts:
        try:
            found[read(clean(one, settings))].append(one)
        except UnknownValueError:
            unknown += 1
    if len(texts) == _MAX_DISTINCT and not unknown and settings.contract is not None:
        raise MustCopyError(
            f"{where.rpartition(', ')[2]} is spelled, or made of others, in {_MAX_DISTINCT} ways or more"
        )
    if unknown or len(texts) == _MAX_DISTINCT:
        raise InputError(
            f"texts that the schema does not list ({unknown} distinct ones among the first {len(texts)}).",
            where=where,
            remedy="Correct them, declare missing_codes, or have the study's schema list them.",
        )
    return [sorted(texts, key=lambda text: (text is None, text)) for texts in found]


def clean(text: str | None, settings: DataSettings) -> str:
    """A field's text without blanks around it; NULL and missing codes as the empty field."""
    stripped = "" if text is None else text.strip()
    return "" if stripped in settings.missing_codes else stripped
