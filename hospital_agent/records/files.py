"""Local files to tables of dictionary codes: delimited text, ARFF, Excel and Parquet, each found by its content.

Every column is read as text; what a text means is the schema's business (`matching`). What was found out on the way is
in the table's reading report.
"""

from __future__ import annotations

import csv
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from hospital_agent.records.arff import is_arff, read_arff
from hospital_agent.records.excel import read_excel
from hospital_agent.records.foreign import Kind, kind_of, refuse_marked_up, unpacked
from hospital_agent.records.parquet import read_parquet
from hospital_agent.records.reading import Finding
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table
from hospital_agent.records.text_file import find_encoding, sample_of
from hospital_agent.records.text_table import Opening, read_text
from shared.errors import InputError, InternalError
from shared.texts import text


def read_table(settings: DataSettings) -> Table:
    """The file's columns as texts, blanks around them removed, missing codes as empty fields.

    Raises: InputError: no such file, no rows, what is not one table of cases, duplicate column names, another format,
        a file that changed meanwhile.
    """
    path = _existing(settings.path)
    before = _state(path)
    table = _read(path, settings)
    if _state(path) != before:
        raise InputError(
            "the file changed while it was read.",
            where=path.name,
            remedy="Wait until it is written, or give a copy of it, and try again.",
        )
    if table.row_count == 0:
        raise InputError(
            "the file has no rows.",
            where=path.name,
            remedy="A hospital without records cannot take part; export the records again or correct the path.",
        )
    return table


def write_table(table: Table, path: Path) -> None:
    """A table as UTF-8 CSV with a header, readable by its owner only."""
    path.touch(mode=0o600)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(column.name for column in table.columns)
        writer.writerows(table.rows())


def _read(path: Path, settings: DataSettings) -> Table:
    kind = kind_of(path, path.name)
    if kind is Kind.PARQUET:
        return read_parquet(path, settings, path.name)
    if kind is Kind.EXCEL:
        return read_excel(path, settings, path.name)
    if kind is Kind.GZIP:
        table = _read_any_text(partial(unpacked, path), settings, path.name)
        if table.reading is None:
            raise InternalError("a text was read without a report of how")
        packed = Finding("packed", "gzip", text("reading.unpacked"))
        return replace(table, reading=table.reading.with_findings([packed]))
    return _read_any_text(partial(_plain, path), settings, path.name)


def _read_any_text(opening: Opening, settings: DataSettings, where: str) -> Table:
    with opening() as path:
        encoding = find_encoding(path, settings.encoding, where)
        sample = sample_of(path, encoding.name)
    refuse_marked_up(sample, where)
    if is_arff(sample):
        return read_arff(opening, encoding, settings, where)
    return read_text(opening, encoding, sample, settings, where)


def _plain(path: Path) -> AbstractContextManager[Path]:
    return nullcontext(path)


def _state(path: Path) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _existing(path: Path | None) -> Path:
    if path is None or not path.is_file():
        raise InputError(
            "this is a folder, not a file." if path and path.is_dir() else "there is no such file.",
            where=str(path or "data settings"),
            remedy="Set the path of the records to an existing file.",
        )
    return path
