"""Excel workbooks (.xlsx) to tables of dictionary codes: one sheet that is one table, from its first row on.

Numbers become their shortest text (1, not 1.0), dates and times ISO text, true and false words, formulas the value that
was saved with them. Needs the extra `excel`.
"""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from hospital_agent.records.decimal_marks import mark_findings, with_marks
from hospital_agent.records.dictionary import column_of_texts
from hospital_agent.records.layout import Layout, find_header
from hospital_agent.records.reading import Finding, ReadingReport
from hospital_agent.records.shape import Gaps, refuse_shape, refuse_title
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table, refuse_duplicate_names
from hospital_agent.records.workbook_size import refuse_oversize
from shared.errors import InputError
from shared.texts import text
from shared.tree.numbers import decimal_text

_SAMPLE_ROWS: Final = 1000

Cell = str | int | float | bool | dt.date | dt.time | dt.timedelta


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet's cells up to the last one that is not empty; the finding about its choice."""

    cells: list[list[str]] = field(repr=False)
    merged: list[int]
    typed: frozenset[int]
    chosen: Finding


def read_excel(path: Path, settings: DataSettings, where: str) -> Table:
    """The rows of one sheet as texts.

    Raises: InputError: naming the row, for merged cells, empty rows above the table and what is not one table; a
        sheet that is not there, a workbook with a password, the extra is not installed.
    """
    sheet = _read_sheet(path, settings, where)
    where = f"{where}, sheet {sheet.chosen.found!r}"
    _refuse_layout(sheet, where)
    numbered = [(number, row) for number, row in enumerate(sheet.cells, start=1) if any(row)]
    width = len(sheet.cells[0])
    if width < 2:
        raise InputError(
            "the rows have a single field.", where=where, remedy="Give a table with an attribute and a class."
        )
    sample = numbered[:_SAMPLE_ROWS]
    header, why = find_header([row for _, row in sample], settings.has_header)
    names = [f"column {position}" for position in range(1, width + 1)]
    if header:
        names = [cell or name for cell, name in zip(sample[0][1], names, strict=True)]
    layout = Layout("\t", "", header, tuple(names), False, False, why)
    refuse_title(layout, sample, where, "row")
    refuse_duplicate_names(names, f"{where}, header")
    body = numbered[header:]
    columns = tuple(
        column_of_texts(name, position, [row[position - 1] for _, row in body], settings.missing_codes)
        for position, name in enumerate(names, start=1)
    )
    columns = with_marks(columns, settings.decimal_comma, sheet.typed)
    gaps = _gaps(sheet.cells)
    findings = [sheet.chosen, Finding("header", header, why, "header")]
    if gaps.empty:
        findings.append(Finding("empty rows left out", gaps.empty))
    findings += mark_findings(columns, settings.decimal_comma)
    report = ReadingReport(where, "Excel", len(body), width, tuple(findings))
    table = Table(where, columns, len(body), header, lambda row: f"row {body[row][0]}", report)
    refuse_shape(table, layout, gaps)
    return table


def _read_sheet(path: Path, settings: DataSettings, where: str) -> _Sheet:
    calamine = _calamine()
    refuse_oversize(path, where)
    try:
        with calamine.load_workbook(path) as book:
            return _choose(book, settings.sheet, where)
    except calamine.PasswordError:
        raise InputError(
            "this is a spreadsheet with a password.",
            where=where,
            remedy="Open it, and save it without the password.",
        ) from None
    except calamine.CalamineError:
        raise InputError("the workbook is damaged.", where=where, remedy="Save it again.") from None


def _calamine() -> Any:
    try:
        return importlib.import_module("python_calamine")
    except ImportError:
        raise InputError(
            "Excel workbooks need the extra `excel`.",
            where="data settings, path",
            remedy='Install it with: pip install "privet[excel]"; or save the sheet as CSV.',
        ) from None


def _choose(book: Any, wanted: str | int | None, where: str) -> _Sheet:
    names = list(book.sheet_names)
    if wanted is not None:
        name = _named_sheet(names, wanted, where)
        return _sheet(book, name, Finding("sheet", name, text("reading.setting"), "sheet"))
    filled = [name for name in names if book.get_sheet_by_name(name).end is not None]
    if not filled:
        raise InputError(
            "the workbook is empty.", where=where, remedy="Export the records again, or correct the path."
        )
    hidden = {sheet.name for sheet in book.sheets_metadata if "Hidden" in str(sheet.visible)}
    others = ", ".join(f"{name!r}{text('reading.hidden') if name in hidden else ''}" for name in filled[1:])
    why = text("reading.first_sheet", others=others) if others else text("reading.only_sheet")
    return _sheet(book, filled[0], Finding("sheet", filled[0], why, "sheet"))


def _named_sheet(names: Sequence[str], wanted: str | int, where: str) -> str:
    if wanted in names:
        return str(wanted)
    position = int(wanted) if isinstance(wanted, int) or wanted.isdecimal() else 0
    if 1 <= position <= len(names):
        return names[position - 1]
    raise InputError(
        f"there is no sheet {wanted!r}; the sheets are {', '.join(map(repr, names))}.",
        where=where,
        remedy=f"Name one of them with sheet, or give a position from 1 to {len(names)}.",
    )


def _sheet(book: Any, name: str, chosen: Finding) -> _Sheet:
    found = book.get_sheet_by_name(name)
    rows: list[list[Cell]] = found.to_python(skip_empty_area=False)
    cells = [[_text(cell) for cell in row] for row in rows]
    while cells and not any(cells[-1]):
        cells.pop()
    width = max((last for row in cells for last in [_width(row)]), default=0)
    cells = [row[:width] + [""] * (width - len(row)) for row in cells]
    typed = frozenset(
        column + 1
        for column in range(width)
        if not any(
            isinstance(row[column], str) and row[column] for row in rows[1 : len(cells)] if column < len(row)
        )
    )
    merged = sorted(start[0] + 1 for start, _ in found.merged_cell_ranges or [])
    return _Sheet(cells, merged, typed, chosen)


def _width(row: Sequence[str]) -> int:
    return max((index for index, cell in enumerate(row, start=1) if cell), default=0)


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return decimal_text(Decimal(repr(cell)))
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        return cell.date().isoformat()
    return str(cell) if isinstance(cell, dt.timedelta) else cell.isoformat()


def _refuse_layout(sheet: _Sheet, where: str) -> None:
    if not sheet.cells:
        raise InputError("the sheet is empty.", where=where, remedy="Name another sheet with sheet.")
    first = next(number for number, row in enumerate(sheet.cells, start=1) if any(row))
    if sheet.merged:
        raise InputError(
            "cells are merged, as in a title or a header of groups.",
            where=f"{where}, row {sheet.merged[0]}",
            remedy="Give a sheet with one row of column names above the cases, and no merged cells.",
        )
    if first > 1:
        raise InputError(
            f"rows above it are empty, and the table must begin in row 1; it begins in row {first}.",
            where=f"{where}, row {first}",
            remedy="Remove the rows above the table.",
        )
    if not any(row[0] for row in sheet.cells):
        raise InputError(
            "the first column is empty.",
            where=f"{where}, column A",
            remedy="Remove the columns left of the table.",
        )


def _gaps(cells: Sequence[Sequence[str]]) -> Gaps:
    empty = sum(not any(row) for row in cells)
    return Gaps(empty, 0, tuple(_after_gaps(cells)))


def _after_gaps(cells: Sequence[Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """The rows that follow an empty one."""
    for number in range(1, len(cells)):
        if any(cells[number]) and not any(cells[number - 1]):
            yield f"row {number + 1}", cells[number]
