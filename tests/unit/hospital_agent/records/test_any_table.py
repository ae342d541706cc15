"""Any table in any dialect comes back as it was or is refused; any bytes at all are read or refused, never a crash."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hospital_agent.records.files import read_table
from hospital_agent.records.source import DataSettings
from shared.errors import InputError
from tests.support import ugly_files

pytestmark = pytest.mark.long

WORDS = [
    "no",
    "yes",
    "Köln",
    "Süd West",
    "a,b",
    "x;y",
    'a "q" b',
    "it's",
    "two\nlines",
    "#1",
    "%",
    "10-20",
    ">50",
    "",
    "a\tb",
]
PIECES = [
    b'"',
    b"'",
    b",",
    b";",
    b"\n",
    b"\r",
    b"\0",
    b"#",
    b"{",
    b"}",
    b"\\",
    b"?",
    b"\xff",
    b"\xc3",
    b"@data\n",
    b"Total",
]
SLOW = settings(
    # No shrinking: a failure shows its file as it is.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class Written:
    """A table, and how it is written."""

    rows: list[tuple[str, ...]]
    delimiter: str
    encoding: str
    header: bool
    quoting: int
    end: str

    def content(self) -> bytes:
        stream = io.StringIO()
        quoting = csv.QUOTE_ALL if self.quoting else csv.QUOTE_MINIMAL
        writer = csv.writer(stream, delimiter=self.delimiter, lineterminator=self.end, quoting=quoting)
        if self.header:
            writer.writerow([f"Name {column}" for column, _ in enumerate(self.rows[0])])
        writer.writerows(self.rows)
        return stream.getvalue().encode(self.encoding)


@st.composite
def written(draw: st.DrawFn) -> Written:
    count = draw(st.integers(2, 40))
    number = st.integers(0, 99).map(str) | st.decimals(0, 99, places=1).map(str)
    columns = draw(
        st.lists(
            st.lists(number, min_size=count, max_size=count)
            | st.lists(st.sampled_from(WORDS), min_size=count, max_size=count),
            min_size=2,
            max_size=6,
        )
    )
    rows = [row for row in zip(*columns, strict=True) if any(row)]
    return Written(
        rows or [("a", *["b"] * (len(columns) - 1))],
        draw(st.sampled_from(",;\t|")),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])),
        draw(st.booleans()),
        draw(st.integers(0, 1)),
        draw(st.sampled_from(["\n", "\r\n"])),
    )


def rows_of(found: DataSettings) -> list[tuple[str, ...]] | str:
    """The records, or why they are refused."""
    try:
        return list(read_table(found).rows())
    except InputError as error:
        return str(error)


@SLOW
@given(table=written())
def test_a_table_comes_back_where_its_dialect_is_said(tmp_path: Path, table: Written) -> None:
    path = tmp_path / "any.csv"
    path.write_bytes(table.content())
    said = DataSettings(
        path=path,
        delimiter=table.delimiter,
        encoding=table.encoding,
        has_header=table.header,
        quote='"',
        comment="",
    )
    found = rows_of(said)
    if isinstance(found, str):
        assert any(words in found for words in ("another table", "no case", "no name and no values"))
    else:
        assert found == table.rows


@SLOW
@given(table=written())
def test_a_table_comes_back_or_is_refused_where_nothing_is_said(tmp_path: Path, table: Written) -> None:
    path = tmp_path / "any.csv"
    path.write_bytes(table.content())
    try:
        found = read_table(DataSettings(path=path))
    except InputError:
        return
    if found.has_header == table.header:
        assert list(found.rows()) == table.rows
    else:  # a first record that could be a header, or a header above nothing but words
        assert abs(found.row_count - len(table.rows)) == 1
        assert found.reading is not None
        assert found.reading.find("header") is found.has_header


@SLOW
@given(data=st.data(), ugly=st.sampled_from(ugly_files.ALL))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: st.DataObject, ugly: ugly_files.Ugly) -> None:
    content = bytearray(ugly.content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        if data.draw(st.booleans()):
            content[place:place] = data.draw(st.sampled_from(PIECES))
        else:
            del content[place : place + data.draw(st.integers(1, 100))]
    path = tmp_path / "any.csv"
    path.write_bytes(bytes(content))
    try:
        table = read_table(DataSettings(path=path, **ugly.settings))
    except InputError:
        return
    assert len(list(table.rows())) == table.row_count
    assert table.locate(table.row_count - 1).split()[0] in ("line", "row")
