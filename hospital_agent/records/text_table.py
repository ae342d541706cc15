"""Delimited text to a table of dictionary codes, with a report of what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from hospital_agent.records.decimal_marks import mark_findings, with_marks
from hospital_agent.records.dictionary import encode_raw, literal, sealed_engine
from hospital_agent.records.layout import (
    BLANKS,
    Delimiters,
    Layout,
    find_delimiters,
    find_layout,
    line_of_row,
    ragged_start,
)
from hospital_agent.records.reading import Finding, ReadingReport
from hospital_agent.records.shape import Gaps, gaps_of, ragged_line, refuse_shape, refuse_title
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table
from hospital_agent.records.text_file import Encoding, Rewriting, Utf8Text, private_file, sample_of, utf8_copy
from shared.errors import InputError
from shared.texts import text

Opening = Callable[[], AbstractContextManager[Path]]
"""Opens the text, unpacked where it is packed, as often as it is asked."""

_GROUP_ROWS: Final = 20_480
"""Rows whose texts are in memory unpacked while a file is parsed."""
_RAGGED: Final = {
    "MISSING COLUMNS": "has too few fields",
    "TOO MANY COLUMNS": "has too many fields",
    "UNQUOTED VALUE": "has a quote that is not closed",
}


@dataclass(frozen=True, slots=True)
class _Source:
    """A text, and how its lines are parted."""

    opening: Opening
    where: str
    encoding: Encoding
    delimiters: Delimiters

    @contextmanager
    def copy(self) -> Iterator[Utf8Text]:
        """The text as DuckDB takes it."""
        parts = self.delimiters
        is_record = None if parts.comment_is_certain else parts.is_record
        rewriting = Rewriting(parts.delimiter == BLANKS, parts.comment, parts.quote, is_record)
        with (
            self.opening() as path,
            utf8_copy(path, self.encoding.name, self.where, rewriting) as copy,
        ):
            yield copy


def read_text(opening: Opening, encoding: Encoding, sample: str, settings: DataSettings, where: str) -> Table:
    """The fields of a delimited text. Args: sample: its beginning.

    Raises: InputError: naming the line, where the text is not one table of cases.
    """
    delimiters = find_delimiters(
        sample, where, delimiter=settings.delimiter, quote=settings.quote, comment=settings.comment
    )
    source = _Source(opening, where, encoding, delimiters)
    with source.copy() as copy:
        beginning = sample_of(copy.path, "utf-8")
        layout, rows = find_layout(
            beginning, delimiters.delimiter, delimiters.quote, settings.has_header, where
        )
        refuse_title(layout, rows, where)
        columns, row_count = _load(copy.path, layout, settings, where)
        gaps = gaps_of(copy.path, layout)
    columns, dropped = _without_trailing(columns, layout)
    columns = with_marks(columns, settings.decimal_comma)

    def locate(row: int) -> str:
        with source.copy() as again:
            return line_of_row(again.path, layout, row)

    findings = _findings(source, copy, layout, gaps, dropped=dropped)
    report = ReadingReport(
        where, "text", row_count, len(columns), (*findings, *mark_findings(columns, settings.decimal_comma))
    )
    table = Table(where, columns, row_count, layout.has_header, locate, report)
    refuse_shape(table, layout, gaps)
    return table


def _load(copy: str, layout: Layout, settings: DataSettings, where: str) -> tuple[tuple[Column, ...], int]:
    """Parse into Parquet in memory and encode; lines of another width are reported by DuckDB in a table of their own.

    Parquet, since it keeps repeated texts once: a tenth of the memory of a table, and each column is read by itself.
    """
    kinds = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(layout.names)))
    quote = literal(layout.quote)
    # The parser takes an empty first line for the header, so that it is told of none, and the row is left out below.
    parsed = (
        f"SELECT * FROM read_csv({literal(copy)}, auto_detect = false, header = false, "  # noqa: S608
        f"delim = {literal(layout.delimiter)}, quote = {quote}, escape = {quote}, columns = {{{kinds}}}, "
        "store_rejects = true, compression = 'none')"
    )
    first = int(layout.has_header and not layout.short_header)
    with private_file() as (_, packed), sealed_engine(where) as engine:
        try:
            engine.execute("SET threads = 1")  # with more, whole row groups of unpacked texts wait in memory
            engine.execute(
                f"COPY ({parsed}) TO {literal(packed)} "
                f"(FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {_GROUP_ROWS})"
            )
            engine.execute("RESET threads")
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            raise InputError(
                "the file cannot be parsed as delimited text.",
                where=where,
                remedy="Check its delimiter and quotes, or export it again.",
            ) from None
        _refuse_ragged(engine, copy, layout, where)
        rows = (
            f"SELECT file_row_number AS place, * FROM read_parquet({literal(packed)}, file_row_number = true)"  # noqa: S608
        )
        engine.execute(f"CREATE VIEW raw AS {rows} WHERE place >= {first}")
        return encode_raw(engine, layout.names, settings.missing_codes)


def _refuse_ragged(engine: duckdb.DuckDBPyConnection, copy: str, layout: Layout, where: str) -> None:
    """The parser counts lines otherwise than editors where some are empty, so they are counted again."""
    rejected = engine.execute(
        "SELECT line, error_type FROM reject_errors WHERE trim(csv_line, ' \t\r\n') <> '' ORDER BY line LIMIT 2"
    ).fetchall()[layout.short_header :]
    if not rejected:
        return
    line, kind = ragged_start(copy, layout) or int(rejected[0][0]), str(rejected[0][1])
    of_width = kind.endswith("COLUMNS")
    special = ragged_line(copy, line, layout) if of_width else None
    expected = f"; {len(layout.names)} are expected" if of_width else ""
    what, remedy = special or (
        f"the line {_RAGGED.get(kind, 'cannot be parsed')}{expected}.",
        "Correct that line, or set the delimiter in the data settings.",
    )
    raise InputError(what, where=f"{where}, line {line}", remedy=remedy)


def _without_trailing(columns: tuple[Column, ...], layout: Layout) -> tuple[tuple[Column, ...], bool]:
    """The columns without the empty one that delimiters at the ends of all lines make."""
    dropped = layout.trailing and len(columns) > 2 and columns[-1].values in ((), ("",))
    return (columns[:-1], True) if dropped else (columns, False)


def _findings(
    source: _Source, copy: Utf8Text, layout: Layout, gaps: Gaps, *, dropped: bool
) -> Iterator[Finding]:
    yield Finding("encoding", source.encoding.name, source.encoding.why, "encoding")
    ends = " and ".join(copy.line_ends) or "none"
    yield Finding("line ends", ends, text("reading.mixed_ends") if len(copy.line_ends) > 1 else "")
    yield from source.delimiters.findings
    if copy.comments:
        yield Finding("comment lines left out", copy.comments, "", "comment")
    yield Finding("header", layout.has_header, layout.why, "header")
    empty = gaps.empty - copy.comments  # comments become empty lines in the copy
    if empty > 0:
        yield Finding("empty lines left out", empty)
    blanks = max(gaps.trailing_blanks, copy.joined)
    if blanks:
        yield Finding("lines that end in blanks", blanks, text("reading.blanks_around"))
    if dropped:
        yield Finding("delimiter at the end of every line", True, text("reading.trailing"))
