from __future__ import annotations

import stat
from pathlib import Path

import duckdb
import pytest

from hospital_agent.records.files import read_table, write_table
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Table
from shared.errors import InputError

ROWS = [("a", "1", "yes"), ("b", "2", "no"), ("a", "3", "no")]


def read(path: Path, content: str | bytes, **settings: object) -> Table:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(DataSettings(path=path, **settings))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ward.csv"


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " ", "   "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n \n"])
def test_delimiters_line_ends_and_empty_lines(file: Path, delimiter: str, line_end: str, ending: str) -> None:
    text = "\n".join(delimiter.join(row) for row in [("name", "n", "class"), *ROWS]) + ending
    table = read(file, text.replace("\n", line_end))
    assert list(table.rows()) == ROWS
    assert [column.name for column in table.columns] == ["name", "n", "class"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"]
)
def test_encodings(file: Path, encoding: str) -> None:
    text = "größe,klasse\nüber,ja\nunter,nein\n"
    assert list(read(file, text.encode(encoding)).rows()) == [("über", "ja"), ("unter", "nein")]


def test_an_encoding_can_be_named(file: Path) -> None:
    table = read(file, "größe,klasse\nüber,ja\n".encode("cp437"), encoding="cp437")
    assert list(table.rows()) == [("über", "ja")]
    with pytest.raises(
        InputError, match=r"^ward.csv: the bytes are not utf-8 text\. Name the right encoding"
    ):
        read(file, "größe,klasse\nüber,ja\n".encode("cp437"), encoding="utf-8", delimiter=",")
    with pytest.raises(InputError, match=r"'klingon' is not known"):
        read(file, "a,b\n1,2\n", encoding="klingon")


def test_quotes_and_blanks_around_values(file: Path) -> None:
    table = read(file, 'x, y\n"one, two" , 2\n" say ""hi"" ",3\n"two\nlines",4\n', has_header=True)
    assert list(table.rows()) == [("one, two", "2"), ('say "hi"', "3"), ("two\nlines", "4")]
    assert [column.name for column in table.columns] == ["x", "y"]


def test_mixed_line_ends(file: Path) -> None:
    assert list(read(file, "a,1,yes\r\nb,2,no\r\na,3,no\n").rows()) == ROWS


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("name,n,class", True),
        ("name,7,class", False),
        ("a,n,class", False),
        ("name,,class", False),
    ],
    ids=["names", "a number", "a value of its column", "an empty cell"],
)
def test_a_header_is_found_or_not(file: Path, first: str, expected: bool) -> None:
    table = read(file, f"{first}\na,1,yes\nb,2,no\n")
    assert table.has_header is expected
    assert table.row_count == 2 + (not expected)


def test_columns_without_header_are_numbered(file: Path) -> None:
    table = read(file, "a,1\nb,2\n", has_header=False)
    assert [column.name for column in table.columns] == ["column 1", "column 2"]
    assert table.find(2, "class_column") is table.find("2", "class_column") is table.columns[1]


def test_missing_codes_become_empty_fields(file: Path) -> None:
    table = read(file, "x,y\n?,1\nit's,NA\n", missing_codes=("?", "NA", "it's"))
    assert list(table.rows()) == [("", "1"), ("", "")]


def test_parquet_columns_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "ward.parquet"
    query = 'SELECT * FROM (VALUES (1, \'a\', 1.5::DOUBLE, true), (2, NULL, NULL, false)) AS t(n, "odd ""name", x, b)'
    duckdb.sql(query).write_parquet(str(path))
    table = read_table(DataSettings(path=path))
    assert list(table.rows()) == [("1", "a", "1.5", "true"), ("2", "", "", "false")]
    assert [column.name for column in table.columns] == ["n", 'odd "name', "x", "b"]
    assert table.locate(1) == "row 2"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "ward.csv: the file is empty. Export the records again, or correct the path."),
        ("\n \n\n", "ward.csv: the file is empty. Export the records again, or correct the path."),
        (
            "x,y\n",
            (
                "ward.csv: the file has no rows. A hospital without records cannot take part; "
                "export the records again or correct the path."
            ),
        ),
        (
            "x,y\n1,2\n\n1,2,3\n4\n",
            (
                "ward.csv, line 4: the line has too many fields; 2 are expected. "
                "Correct that line, or set the delimiter in the data settings."
            ),
        ),
        (
            "x,y\n1,2\n4\n",
            (
                "ward.csv, line 3: the line has too few fields; 2 are expected. "
                "Correct that line, or set the delimiter in the data settings."
            ),
        ),
        (
            "age,sex,age\n1,2,3\n",
            (
                "ward.csv, header: columns 1 and 3 are both named 'age'. Rename or remove one of them. "
                "If the first line is a record and names no columns, set header = false in [data] "
                "(privet data: --set header=false, privet demo: --no-header)."
            ),
        ),
        (
            "one\ntwo\n",
            (
                "ward.csv: every line is a single field. Give a table with at least one attribute and a class, "
                "or name its delimiter in the data settings."
            ),
        ),
        (
            "age,age,class\n1,2,yes\n",
            (
                "ward.csv, header: columns 1 and 2 are both named 'age'. Rename or remove one of them. "
                "If the first line is a record and names no columns, set header = false in [data] "
                "(privet data: --set header=false, privet demo: --no-header)."
            ),
        ),
        ("% hello\n@RELATION x\n", "ward.csv: there is no @data line. Export the file again; it is cut off."),
        (
            b"PK\x03\x04....",
            "ward.csv: the file is a damaged spreadsheet or zip archive. Export it again.",
        ),
        (b"PAR1 and nothing more", "ward.csv: the Parquet file is damaged. Export it again."),
    ],
    ids=[
        "empty",
        "blank",
        "no rows",
        "long line",
        "short line",
        "duplicate",
        "one field",
        "repeat",
        "arff",
        "xlsx",
        "parquet",
    ],
)
def test_faults_name_the_place_and_the_remedy(file: Path, content: str | bytes, message: str) -> None:
    settings = {"has_header": True} if isinstance(content, str) and content[:1] in "xa" else {}
    with pytest.raises(InputError) as caught:
        read(file, content, **settings)
    assert str(caught.value) == message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ward\.csv: there is no such file\. Set the path"):
        read_table(DataSettings(path=tmp_path / "ward.csv"))
    with pytest.raises(InputError, match=r": this is a folder, not a file\. Set the path"):
        read_table(DataSettings(path=tmp_path))


def test_a_file_name_is_no_pattern(tmp_path: Path) -> None:
    (tmp_path / "data1.csv").write_text("other,file\n")
    assert read(tmp_path / "data[1].csv", "x,y\na,b\n", has_header=True).row_count == 1
    duckdb.sql("SELECT 1 AS a, 2 AS b").write_parquet(str(tmp_path / "data1.parquet"))
    (tmp_path / "data1.parquet").rename(tmp_path / "data[1].parquet")
    with pytest.raises(InputError, match=r"data\[1\]\.parquet: the path has a character .* Rename the file"):
        read_table(DataSettings(path=tmp_path / "data[1].parquet"))


def test_an_open_quote_is_not_repeated_in_the_message(file: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(file, 'x,y\n1,2\n"secret,3\n4,5\n', has_header=True)
    assert "secret" not in str(caught.value)
    assert caught.value.where.startswith("ward.csv")
    assert "a quote that is not closed. Correct that line" in str(caught.value)
    assert caught.value.__cause__ is None


def test_rows_are_located_as_an_editor_counts_lines(file: Path) -> None:
    table = read(file, 'x,y\n1,2\n\n"two\nlines",3\n4,5\n', has_header=True)
    assert [table.locate(row) for row in range(3)] == ["line 2", "line 4", "line 6"]


def test_rows_are_dealt_round_robin_and_written(file: Path, tmp_path: Path) -> None:
    table = read(file, "".join(f"{n},{n % 2}\n" for n in range(7)))
    hands = table.deal(3)
    assert [[row[0] for row in hand.rows()] for hand in hands] == [["0", "3", "6"], ["1", "4"], ["2", "5"]]
    assert hands[1].locate(1) == "line 5"
    write_table(hands[0], tmp_path / "hand.csv")
    again = read_table(DataSettings(path=tmp_path / "hand.csv"))
    assert list(again.rows()) == list(hands[0].rows())
    assert stat.S_IMODE((tmp_path / "hand.csv").stat().st_mode) == 0o600


def test_a_column_that_is_not_there(file: Path) -> None:
    table = read(file, "x,y\na,b\n", has_header=True)
    with pytest.raises(
        InputError, match=r"there is no column 'z'; the columns are 'x', 'y'\. Name one .* class_column"
    ):
        table.find("z", "class_column")
    with pytest.raises(InputError, match="from 1 to 2"):
        table.find(3, "class_column")


def test_nothing_of_the_records_shows_in_a_repr(file: Path) -> None:
    shown = repr(read(file, "x,y\nsecret,hush\n", has_header=True))
    assert "secret" not in shown
    assert "hush" not in shown
