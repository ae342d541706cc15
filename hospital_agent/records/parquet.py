"""Parquet files to tables of dictionary codes, one column in memory at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import duckdb

from hospital_agent.records.decimal_marks import mark_findings, with_marks
from hospital_agent.records.dictionary import encode_raw, literal, quoted, sealed_engine
from hospital_agent.records.reading import ReadingReport
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table, refuse_duplicate_names
from hospital_agent.records.text_file import has_pattern
from shared.errors import InputError

_TEXT: Final = "VARCHAR"
_NESTED: Final = ("STRUCT", "MAP", "UNION", "[", "BLOB")


def read_parquet(path: Path, settings: DataSettings, where: str) -> Table:
    """The columns of a Parquet file as texts.

    Raises: InputError: a damaged file, a path that reads as a pattern, columns of lists or structures.
    """
    if has_pattern(path):
        raise InputError(
            "the path has a character out of *?[, which Parquet readers take for a pattern.",
            where=where,
            remedy="Rename the file or its folder.",
        )
    with sealed_engine(where) as engine:
        try:
            file = literal(str(path))
            described = engine.execute(f"DESCRIBE SELECT * FROM read_parquet({file})").fetchall()  # noqa: S608
            kinds = {str(row[0]): str(row[1]) for row in described}
            names = [str(row[0]) for row in described]
            refuse_nested(kinds, where)
            picks = ", ".join(
                f"CAST({quoted(name)} AS VARCHAR) AS c{index}" for index, name in enumerate(names)
            )
            source = f"read_parquet({file}, file_row_number = true)"
            # A view, not a table: a column can be read without the others, so memory holds one at a time.
            engine.execute(f"CREATE VIEW raw AS SELECT file_row_number AS place, {picks} FROM {source}")  # noqa: S608
            columns, rows = encode_raw(engine, names, settings.missing_codes)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            raise InputError("the Parquet file is damaged.", where=where, remedy="Export it again.") from None
    refuse_duplicate_names(names, where)
    typed = [position for position, name in enumerate(names, start=1) if kinds[name] != _TEXT]
    columns = with_marks(columns, settings.decimal_comma, typed)
    findings = mark_findings(columns, settings.decimal_comma)
    report = ReadingReport(where, "Parquet", rows, len(columns), tuple(findings))
    return Table(where, columns, rows, True, lambda row: f"row {row + 1}", report)


def refuse_nested(kinds: dict[str, str], where: str) -> None:
    """Raises: InputError: a column of more than single values. Args: kinds: DuckDB's type of each column."""
    for name, kind in kinds.items():
        if any(word in kind for word in _NESTED):
            raise InputError(
                "the column holds lists, structures or bytes, not single values.",
                where=f"{where}, column {name!r}",
                remedy="Export the file with one value in a field.",
            )
