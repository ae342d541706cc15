"""Local files to tables of dictionary codes: CSV, TSV and other delimited text, and Parquet, through DuckDB.

Every column is read as text; what a text means is the schema's business (`matching`). DuckDB works in memory alone: its
spill directory is switched off, so that no record reaches a disk. DuckDB's own messages quote records and
are therefore never passed on.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.layout import BLANKS, Layout, find_delimiter, find_layout, line_of_row
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table, refuse_duplicate_names
from hospital_agent.records.text_file import find_encoding, has_pattern, sample_of, utf8_copy
from shared.errors import InputError

_PARQUET_MAGIC: Final = b"PAR1"
_SEALED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""Nothing is spilled to a disk, and nothing fetched over the network."""
_RAGGED: Final = {
    "MISSING COLUMNS": "has too few fields",
    "TOO MANY COLUMNS": "has too many fields",
    "UNQUOTED VALUE": "has a quote that is not closed",
}


def read_table(settings: DataSettings) -> Table:
    """The file's columns as texts, blanks around them removed, missing codes as empty fields.

    Raises: InputError: no such file, no rows, ragged rows, duplicate column names, another format.
    """
    path = _existing(settings.path)
    with path.open("rb") as stream:
        is_parquet = stream.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    with _engine(path) as engine:
        table = _read_parquet(engine, path, settings) if is_parquet else _read_text(engine, path, settings)
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


def _existing(path: Path | None) -> Path:
    if path is None or not path.is_file():
        raise InputError(
            "this is a folder, not a file." if path and path.is_dir() else "there is no such file.",
            where=str(path or "data settings"),
            remedy="Set the path of the records to an existing file.",
        )
    return path


@contextmanager
def _engine(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect(":memory:", config=_SEALED)) as engine:
        try:
            yield engine
        except duckdb.OutOfMemoryException:
            raise InputError(
                "the records do not fit into memory.",
                where=path.name,
                remedy="Give the machine more memory, or load them into a database and name its URL.",
            ) from None


def _read_parquet(engine: duckdb.DuckDBPyConnection, path: Path, settings: DataSettings) -> Table:
    if has_pattern(path):
        raise InputError(
            "the path has a character out of *?[, which Parquet readers take for a pattern.",
            where=path.name,
            remedy="Rename the file or its folder.",
        )
    try:
        described = engine.execute(f"DESCRIBE SELECT * FROM read_parquet({_literal(str(path))})").fetchall()  # noqa: S608
        names = [str(row[0]) for row in described]
        picks = ", ".join(f"CAST({_quoted(name)} AS VARCHAR) AS c{index}" for index, name in enumerate(names))
        source = f"read_parquet({_literal(str(path))}, file_row_number = true)"
        # A view, not a table: a column of Parquet can be read without the others, so memory holds one at a time.
        engine.execute(f"CREATE VIEW raw AS SELECT file_row_number AS place, {picks} FROM {source}")  # noqa: S608
        columns, rows = _encode(engine, names, settings)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        raise InputError("the Parquet file is damaged.", where=path.name, remedy="Export it again.") from None
    refuse_duplicate_names(names, path.name)
    return Table(path.name, columns, rows, True, lambda row: f"row {row + 1}")


def _read_text(engine: duckdb.DuckDBPyConnection, path: Path, settings: DataSettings) -> Table:
    encoding = find_encoding(path, settings.encoding)
    delimiter = settings.delimiter or find_delimiter(sample_of(path, encoding), path.name)
    with utf8_copy(path, encoding, join_blanks=delimiter == BLANKS) as copy:
        layout = find_layout(sample_of(copy, "utf-8"), delimiter, settings.has_header, path.name)
        _load_text(engine, copy, layout, path.name)
    columns, rows = _encode(engine, list(layout.names), settings)

    def locate(row: int) -> str:
        with utf8_copy(path, encoding, join_blanks=delimiter == BLANKS) as again:
            return line_of_row(again, layout, row)

    return Table(path.name, columns, rows, layout.has_header, locate)


def _load_text(engine: duckdb.DuckDBPyConnection, copy: str, layout: Layout, where: str) -> None:
    """Parse into memory and show it as `raw`; lines of another width are reported by DuckDB in a table of their own."""
    columns = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(layout.names)))
    try:
        engine.execute(
            f"CREATE TABLE loaded AS SELECT * FROM read_csv({_literal(copy)}, auto_detect = false, "  # noqa: S608
            f"header = {layout.has_header}, delim = {_literal(layout.delimiter)}, quote = '\"', escape = '\"', "
            f"columns = {{{columns}}}, store_rejects = true, compression = 'none')"
        )
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        raise InputError(
            "the file cannot be parsed as delimited text.",
            where=where,
            remedy="Check its delimiter and quotes, or export it again.",
        ) from None
    engine.execute("CREATE VIEW raw AS SELECT rowid AS place, * FROM loaded")
    _refuse_ragged(engine, layout, where)


def _refuse_ragged(engine: duckdb.DuckDBPyConnection, layout: Layout, where: str) -> None:
    rejected = engine.execute(
        "SELECT line, error_type FROM reject_errors WHERE trim(csv_line, ' \t\r\n') <> '' ORDER BY line LIMIT 1"
    ).fetchone()
    if rejected is None:
        return
    line, kind = int(rejected[0]), str(rejected[1])
    expected = f"; {len(layout.names)} are expected" if kind.endswith("COLUMNS") else ""
    raise InputError(
        f"the line {_RAGGED.get(kind, 'cannot be parsed')}{expected}.",
        where=f"{where}, line {line}",
        remedy="Correct that line, or set the delimiter in the data settings.",
    )


def _encode(
    engine: duckdb.DuckDBPyConnection, names: list[str], settings: DataSettings
) -> tuple[tuple[Column, ...], int]:
    """Each column of `raw` as sorted distinct texts and codes, in the order of the file."""
    row = engine.execute("SELECT count(*) FROM raw").fetchone()
    rows = int(row[0]) if row else 0
    encoded = (_encode_column(engine, index, settings.missing_codes) for index in range(len(names)))
    columns = tuple(
        Column(name, position, values, codes)
        for position, (name, (values, codes)) in enumerate(zip(names, encoded, strict=True), start=1)
    )
    return columns, rows


def _encode_column(
    engine: duckdb.DuckDBPyConnection, index: int, missing: tuple[str, ...]
) -> tuple[tuple[str, ...], NDArray[Any]]:
    """An enumeration type of the column's raw texts gives DuckDB's dictionary codes.

    Blanks and missing codes are dealt with once a distinct text, not once a row: four times faster.
    """
    raw = f"coalesce(c{index}, '')"
    engine.execute(f"CREATE OR REPLACE TYPE texts AS ENUM (SELECT DISTINCT {raw} AS v FROM raw ORDER BY v)")  # noqa: S608
    found = engine.execute("SELECT unnest(enum_range(NULL::texts))").fetchall()
    coded = engine.execute(f"SELECT enum_code({raw}::texts) AS code FROM raw ORDER BY place").fetchnumpy()  # noqa: S608
    texts = [_clean(str(text), missing) for (text,) in found]
    values = sorted(set(texts))
    place = {text: code for code, text in enumerate(values)}
    table = np.array([place[text] for text in texts], dtype=np.min_scalar_type(max(len(values) - 1, 0)))
    return tuple(values), table.take(coded["code"])


def _clean(text: str, missing: tuple[str, ...]) -> str:
    text = text.strip()
    return "" if text in missing else text


def _literal(text: str) -> str:
    """A text in SQL. Not a parameter: for the first of those DuckDB imports pandas, where it is installed."""
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
