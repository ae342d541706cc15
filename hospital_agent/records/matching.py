"""A hospital's table against the signed study: which column is which attribute, and every text to its code.

The domain comes from the study, never from local data: a text that the schema does not list is an error that
names file, column and first line. Columns that the study does not know are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.composing import composed, input_names, why_absent
from hospital_agent.records.contracted import study_names, through_contract
from hospital_agent.records.decimal_marks import reader_of
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table, refuse_duplicate_names
from shared.errors import InputError
from shared.texts import text
from shared.tree.numbers import UnknownValueError
from shared.tree.schema import Attribute, Schema


@dataclass(frozen=True, slots=True)
class Match:
    """The columns of a table in the order of the schema, the classes last, and the names that are ignored."""

    columns: tuple[Column, ...]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodedRecords:
    """Records as codes of the schema.

    `codes`: of the attributes of listed values in order, the classes last, one line each. `numbers`: of the attributes
    in fixed point in order. Both of shape (lines, rows).
    """

    codes: NDArray[np.uint8] = field(repr=False)
    numbers: NDArray[np.uint32] = field(repr=False)
    notes: tuple[str, ...]


def encode(table: Table, schema: Schema, settings: DataSettings) -> CodedRecords:
    """Every record as codes.

    Raises: InputError: a column is missing, or a field has no code in the schema.
    """
    match = match_columns(table, schema, settings)
    measured = sum(attribute.fixed_point is not None for attribute in schema.attributes)
    codes = np.empty((len(match.columns) - measured, table.row_count), dtype=np.uint8)
    numbers = np.empty((measured, table.row_count), dtype=np.uint32)
    places, number_places = iter(codes), iter(numbers)
    *columns, target = match.columns
    for attribute, column in zip(schema.attributes, columns, strict=True):
        line: NDArray[Any] = next(places) if attribute.fixed_point is None else next(number_places)
        np.take(
            _code_table(table, column, _reader(attribute, column, settings), line.dtype),
            column.codes,
            out=line,
        )
    of_class = through_contract(settings, schema.class_name, schema.class_code)
    np.take(_code_table(table, target, of_class, codes.dtype), target.codes, out=codes[-1])
    return CodedRecords(codes, numbers, _notes(table, match))


def match_columns(table: Table, schema: Schema, settings: DataSettings) -> Match:
    """By name, after the settings' renames and the contract's; without header also by position (class and drops out).

    Raises: InputError: no class column, an attribute without a column, two columns for one name.
    """
    dropped = {table.find(reference, "drop").position for reference in settings.drop}
    made = _derived(table, settings, dropped)
    target = made.get(schema.class_name) or _class_column(table, schema, settings)
    rest = [column for column in table.columns if column.position not in {*dropped, target.position}]
    names = study_names([column.name for column in rest], settings)
    refuse_duplicate_names(names, f"{table.where}, after renaming")
    by_name = dict(zip(names, rest, strict=True)) | made
    wanted = [attribute.name for attribute in schema.attributes]
    if not table.has_header and not set(wanted) <= set(by_name):
        return Match((*_by_position(table, rest, wanted, is_dropping=bool(dropped)), target), ())
    missing = [name for name in wanted if name not in by_name]
    if missing:
        why = why_absent(settings, missing[0], names)
        left_out = study_names([c.name for c in table.columns if c.position in dropped], settings)
        raise InputError(
            f"the study's attribute {missing[0]!r} has no column here ({len(missing)} missing in all).",
            where=table.where,
            remedy="Take that column out of drop: the study uses it."
            if missing[0] in left_out
            else f"{why}Add the column, or map an existing one to that name with rename.",
        )
    used = {*wanted, *input_names(settings)} - {*made}
    ignored = tuple(name for name in names if name not in used)
    return Match((*(by_name[name] for name in wanted), target), ignored)


def _derived(table: Table, settings: DataSettings, dropped: set[int]) -> dict[str, Column]:
    """The columns that the contract makes of others, by the study's name of them."""
    there = [column for column in table.columns if column.position not in dropped]
    names = study_names([column.name for column in there], settings)
    return composed(dict(zip(names, there, strict=True)), settings)


def _class_column(table: Table, schema: Schema, settings: DataSettings) -> Column:
    if settings.class_column is not None:
        return table.find(settings.class_column, "class_column")
    names = study_names([column.name for column in table.columns], settings)
    for column, name in zip(table.columns, names, strict=True):
        if name == schema.class_name:
            return column
    raise InputError(
        f"the class column {schema.class_name!r} is missing.",
        where=table.where,
        remedy="Name the column with class_column in the data settings (by name, or by position from 1).",
    )


def _by_position(
    table: Table, columns: list[Column], wanted: list[str], *, is_dropping: bool
) -> list[Column]:
    if len(columns) != len(wanted):
        few = "Take columns of the study out of drop" if is_dropping else "Add the study's other columns"
        advice = "Take columns out with drop" if len(columns) > len(wanted) else few
        raise InputError(
            f"the file has no header and {len(columns)} attribute columns; the study has {len(wanted)}.",
            where=table.where,
            remedy=f"{advice}, or give the file a header line.",
        )
    return columns


def _reader(attribute: Attribute, column: Column, settings: DataSettings) -> Callable[[str], int]:
    read = through_contract(settings, attribute.name, attribute.code_of)
    return reader_of(column.decimal_mark, read, attribute.name) if attribute.is_numeric else read


def _code_table(
    table: Table, column: Column, read: Callable[[str], int], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Code of each distinct text of a column."""
    codes = np.zeros(len(column.values), dtype=dtype)
    unknown: list[int] = []
    reason: UnknownValueError | None = None
    for index, given in enumerate(column.values):
        try:
            codes[index] = read(given)
        except UnknownValueError as error:
            unknown.append(index)
            reason = reason or error
    if reason is not None:
        first = int(np.flatnonzero(np.isin(column.codes, unknown))[0])
        others = f" {len(unknown)} different texts of the column are at fault." if len(unknown) > 1 else ""
        raise InputError(
            _reason_text(reason) + others,
            where=f"{table.where}, column {column.name!r}, {table.locate(first)}",
            remedy=reason.remedy,
        ) from None
    return codes


def _reason_text(reason: UnknownValueError) -> str:
    """The schema's message without its own place, which names the attribute and not the file."""
    text = str(reason).removeprefix(f"{reason.where}:").removesuffix(reason.remedy)
    return text.strip()


def _notes(table: Table, match: Match) -> tuple[str, ...]:
    notes = []
    if match.ignored:
        notes.append(text("data_check.ignored", names=", ".join(match.ignored)))
    if len(match.columns[-1].values) == 1:
        notes.append(text("data_check.one_class"))
    return tuple(notes)
