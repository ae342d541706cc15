"""Files as they should not be: one fault each, and the table of `TIDY` under it, or the message that refuses it.

The content of each file is made here, so that its one fault can be read. `TIDY` has a temperature with decimals, a ward
with an umlaut and a class; a file that is only ugly must give exactly these records, and so the same tree.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from tests.support.workbooks import Cell, workbook

Row = tuple[str, ...]

NAMES: Row = ("temp", "ward", "cough", "ill")
TIDY: tuple[Row, ...] = (
    ("36.6", "Köln", "no", "no"),
    ("37.5", "Köln", "yes", "no"),
    ("38.25", "Süd", "yes", "yes"),
    ("39", "Süd", "no", "yes"),
    ("36.6", "Süd", "yes", "no"),
    ("40.1", "Köln", "yes", "yes"),
    ("37.9", "Köln", "no", "no"),
    ("38.25", "Köln", "no", "no"),
)


@dataclass(frozen=True, slots=True)
class Ugly:
    """`fault`: what is wrong, in a word or two. `settings`: of the data. Exactly one of `rows` and `message` is given:
    the records, or the beginning of the refusal. `found`: what the report says, by subject.
    """

    fault: str
    content: bytes
    name: str = "ward.csv"
    settings: dict[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] | None = TIDY
    message: str = ""
    found: dict[str, Any] = field(default_factory=dict)


def text(
    delimiter: str = ",",
    *,
    header: bool = True,
    rows: Sequence[Row] = TIDY,
    end: str = "\n",
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """The tidy records as lines. Args: before, after: further lines."""
    lines = [delimiter.join(row) for row in ([NAMES] if header else []) + list(rows)]
    return end.join([*before, *lines, *after]) + end


def with_commas(rows: Sequence[Row] = TIDY) -> list[Row]:
    """The records with decimal commas."""
    return [(row[0].replace(".", ","), *row[1:]) for row in rows]


def wrapped(mark: str, cell: str) -> str:
    """A field between marks, which are doubled within it."""
    return mark + cell.replace(mark, mark * 2) + mark


def wrapped_text(mark: str, delimiter: str = ",") -> str:
    """The tidy records with every field between marks."""
    return text(delimiter, rows=[tuple(wrapped(mark, cell) for cell in row) for row in TIDY])


def good(fault: str, content: str | bytes, **more: Any) -> Ugly:
    """A file that gives the tidy records, or those in `rows`."""
    return Ugly(fault, content.encode() if isinstance(content, str) else content, **more)


def bad(fault: str, content: str | bytes, message: str, **more: Any) -> Ugly:
    """A file that is refused."""
    raw = content.encode() if isinstance(content, str) else content
    return Ugly(fault, raw, rows=None, message=message, **more)


def in_row(number: int, changed: Row) -> list[Row]:
    """The tidy records with one of them changed."""
    return [changed if index == number else row for index, row in enumerate(TIDY)]


ENCODINGS = [
    good("UTF-8", text(), found={"encoding": "utf-8", "line ends": "LF", "header": True}),
    good("UTF-8 with mark", text().encode("utf-8-sig"), found={"encoding": "utf-8-sig"}),
    good("UTF-16 with mark", b"\xff\xfe" + text().encode("utf-16-le"), found={"encoding": "utf-16"}),
    good("UTF-16 the other way", b"\xfe\xff" + text().encode("utf-16-be"), found={"encoding": "utf-16"}),
    good("UTF-16 without mark", text().encode("utf-16-le"), found={"encoding": "utf-16-le"}),
    good("UTF-16 BE without mark", text().encode("utf-16-be"), found={"encoding": "utf-16-be"}),
    good("UTF-32 with mark", text().encode("utf-32"), found={"encoding": "utf-32"}),
    good("UTF-32 without mark", text().encode("utf-32-le"), found={"encoding": "utf-32-le"}),
    good("Latin-1", text().encode("latin-1"), found={"encoding": "latin-1"}),
    good(
        "Windows-1252",
        text(rows=in_row(0, ("36.6", "Köln–Süd", "no", "no"))).encode("cp1252"),
        rows=in_row(0, ("36.6", "Köln–Süd", "no", "no")),
        found={"encoding": "cp1252"},
    ),
    good("a code page by name", text().encode("cp437"), settings={"encoding": "cp437"}),
    bad(
        "two encodings",
        text().encode() + "38,Süd,no,yes\n".encode("latin-1"),
        "ward.csv, line 10: the line is not UTF-8, while other lines are.",
    ),
    bad(
        "the wrong encoding",
        text().encode("latin-1"),
        "ward.csv: the bytes are not utf-8",
        settings={"encoding": "utf-8"},
    ),
    bad(
        "no encoding",
        text(),
        "ward.csv: the encoding 'klingon' is not known.",
        settings={"encoding": "klingon"},
    ),
    bad("a zero byte", text().replace("39", "3\x009"), "ward.csv, line 5: there is a zero byte"),
]

LINES = [
    good("CR LF", text(end="\r\n"), found={"line ends": "CR LF"}),
    good("CR alone", text(end="\r"), found={"line ends": "CR"}),
    good("mixed line ends", text().replace("yes\n", "yes\r\n"), found={"line ends": "LF and CR LF"}),
    good("no line end at the end", text().rstrip("\n")),
    good("empty lines", text(before=["", " "], after=["", "", "\t"]), found={"empty lines left out": 5}),
    good("an empty line within", text().replace("\n39", "\n\n39"), found={"empty lines left out": 1}),
    good("blanks around fields", text(" , "), found={"delimiter": ","}),
    good("blanks at the ends of lines", text(end="  \n"), found={"lines that end in blanks": 9}),
    good(
        "a delimiter at the end of each line",
        text(end=",\n"),
        found={"delimiter at the end of every line": True},
    ),
    good(
        "a delimiter at the end of each line but the header's",
        ",".join(NAMES) + "\n" + text(end=",\n", header=False),
        settings={"has_header": True},
    ),
    bad("an empty file", "", "ward.csv: the file is empty."),
    bad("nothing but empty lines", "\n \r\n\t\n", "ward.csv: the file is empty."),
    bad("a single column", "ill\nyes\nno\n", "ward.csv: every line is a single field."),
    bad(
        "a short line",
        text().replace("39,Süd,", "39,"),
        "ward.csv, line 5: the line has too few fields; 4 are",
    ),
    bad(
        "a long line",
        text().replace("39,Süd", "39,5,Süd"),
        "ward.csv, line 5: the line has too many fields; 4 are",
    ),
]

DELIMITERS = [
    good("tabs", text("\t"), found={"delimiter": "tab"}),
    good("semicolons", text(";"), found={"delimiter": ";"}),
    good("bars", text("|"), found={"delimiter": "|"}),
    good("blanks", text(" "), found={"delimiter": "blanks"}),
    good(
        "columns drawn up by blanks",
        text("    ", end="  \n"),
        found={"delimiter": "blanks", "lines that end in blanks": 9},
    ),
    good("a delimiter of their own", text("~"), settings={"delimiter": "~"}),
    good("tab by name", text("\t"), settings={"delimiter": "tab"}),
    bad(
        "two characters",
        text(),
        "ward.csv: the delimiter '||' is not one character",
        settings={"delimiter": "||"},
    ),
    bad(
        "the wrong delimiter", text(), "ward.csv: the lines have a single field.", settings={"delimiter": ";"}
    ),
    good(
        "a delimiter in quotes",
        text(rows=in_row(2, ("38.25", '"Süd, West"', "yes", "yes"))),
        rows=in_row(2, ("38.25", "Süd, West", "yes", "yes")),
    ),
    good(
        "a line end in quotes",
        text(rows=in_row(2, ("38.25", '"Süd\nWest"', "yes", "yes"))),
        rows=in_row(2, ("38.25", "Süd\nWest", "yes", "yes")),
    ),
    good(
        "quotes in quotes",
        text(rows=in_row(2, ("38.25", '"the ""old"" one"', "yes", "yes"))),
        rows=in_row(2, ("38.25", 'the "old" one', "yes", "yes")),
    ),
    good("everything in quotes", wrapped_text('"'), found={"quote": '"'}),
    good("everything in single quotes", wrapped_text("'"), found={"quote": "'"}),
    good(
        "marks of inches",
        text(rows=[(r[0], r[1] + '"', *r[2:]) for r in TIDY]),
        settings={"quote": ""},
        rows=[(r[0], r[1] + '"', *r[2:]) for r in TIDY],
    ),
    bad(
        "a quote without end",
        text().replace("39,Süd", '39,"Süd'),
        "ward.csv, line 5: the line has a quote that is not",
    ),
]

NUMBERS = [
    good("decimal commas and semicolons", text(";", rows=with_commas()), found={"decimal mark": "comma"}),
    good("decimal commas and tabs", text("\t", rows=with_commas()), found={"decimal mark": "comma"}),
    good(
        "decimal commas and no header",
        text(";", header=False, rows=with_commas()),
        settings={"class_column": 4},
        found={"delimiter": ";", "decimal mark": "comma"},
    ),
    good(
        "decimal commas in quotes",
        text(rows=[(wrapped('"', row[0]), *row[1:]) for row in with_commas()]),
        found={"delimiter": ",", "decimal mark": "comma"},
    ),
    good("37 and 37.0", text(rows=[(row[0] if "." in row[0] else row[0] + ".0", *row[1:]) for row in TIDY])),
    bad(
        "both marks",
        text(";", rows=[*with_commas()[:4], *TIDY[4:]]),
        "ward.csv, column 'temp', line 2: a mark that may part thousands or decimals",
        found={"decimal mark": "unclear"},
    ),
    bad(
        "a comma that may part thousands",
        text(";", rows=[("1,234", *row[1:]) for row in TIDY]),
        "ward.csv, column 'temp', line 2: a mark that may part thousands or decimals",
    ),
    good(
        "a comma that may part thousands, and the setting",
        text(
            ";",
            rows=[
                (f"{row[0].replace('.', ',')}00"[:6] if "." in row[0] else row[0], *row[1:]) for row in TIDY
            ],
        ),
        settings={"decimal_comma": True},
    ),
    bad(
        "thousands in points",
        text(";", rows=[*with_commas()[:3], ("1.039,0", *TIDY[3][1:]), *with_commas()[4:]]),
        "ward.csv, column 'temp', line 5: expected a number with a decimal comma",
    ),
    bad(
        "a unit",
        text().replace("39,", "39 °C,"),
        "ward.csv, column 'temp', line 5: expected a finite decimal number",
    ),
]

COMMENTS = [
    good(
        "comments above",
        text(before=["# made by, the ward", "# in March"]),
        found={"comments": "#", "comment lines left out": 2},
    ),
    good(
        "comments within and below",
        text(after=["% the end"]).replace("39,", "% half\n39,"),
        found={"comments": "%", "comment lines left out": 2},
    ),
    good("comments of code", text(before=["// made by the ward"]), found={"comments": "//"}),
    good("comments of their own", text(before=["REM a"]), settings={"comment": "REM"}),
    good(
        "values that begin like comments",
        text(rows=[(row[0], "#" + row[1], *row[2:]) for row in TIDY]),
        rows=[(row[0], "#" + row[1], *row[2:]) for row in TIDY],
        found={"comments": None},
    ),
    bad(
        "a comment or a record",
        text(before=["# made by the ward"]).replace("temp,", "#temp,"),
        "ward.csv, line 2: the line begins with '#' as comments do, and has as many fields as a record.",
    ),
]

HEADERS = [
    good("no header", text(header=False), settings={"class_column": 4}, found={"header": False}),
    good("blanks in the header", text().replace("temp,ward", " temp , ward "), found={"header": True}),
    good(
        "numbers in the header",
        text().replace("temp,ward,cough,ill", "2019,2020,2021,2022"),
        settings={
            "has_header": True,
            "rename": dict(zip(("2019", "2020", "2021", "2022"), NAMES, strict=True)),
        },
    ),
    good(
        "row numbers without a name",
        "".join(f"{n if n else ''},{line}\n" for n, line in enumerate(text().splitlines())),
        settings={"drop": (1,)},
        found={"header": True},
        rows=[(str(n), *row) for n, row in enumerate(TIDY, start=1)],
    ),
    bad("a header and no rows", ",".join(NAMES) + "\n", "ward.csv: the file has no rows."),
    bad(
        "a name twice",
        text().replace("cough", "ward"),
        "ward.csv, header: columns 2 and 3 are both named 'ward'.",
    ),
    bad(
        "a name too few",
        text().replace("temp,", ""),
        "ward.csv, line 1: the header has 3 fields, and the lines below it have 4.",
    ),
]

SHAPES = [
    bad("a title", text(before=["Ward 7 in March"]), "ward.csv, line 1: the line is not part of the table"),
    bad(
        "a title filled up", text(before=["Ward 7,,,"]), "ward.csv, line 1: the line is not part of the table"
    ),
    bad(
        "totals", text(after=["Total,,8,"]), "ward.csv, line 10: the line is no case but seems to hold totals"
    ),
    bad(
        "a note below", text(after=["", "Printed by the ward"]), "ward.csv, line 11: the line is no case but"
    ),
    bad("the header again", text() + text(), "ward.csv, line 10: the line repeats the header."),
    bad(
        "another table below",
        text(after=["", "drug,dose", "a,1"]),
        "ward.csv, line 11: another table seems to begin",
    ),
    bad(
        "another table as wide",
        text(after=["", "dose,drug,route,given", "1,Süd,no,yes"]),
        "ward.csv, line 11: another table seems to begin here",
    ),
    bad(
        "two tables side by side",
        "\n".join(f"{line},,{line}x" for line in text().splitlines()).replace(
            "ill,,temp,ward,cough,illx", "ill,,a,b,c,d"
        ),
        "ward.csv, header: column 5 has no name and no values",
        settings={"has_header": True},
    ),
]


def zipped(**parts: str) -> bytes:
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return stream.getvalue()


def table_of(query: str, folder: str, name: str) -> bytes:
    """A Parquet file made by DuckDB."""
    path = f"{folder}/{name}"
    duckdb.sql(query).write_parquet(path)
    with open(path, "rb") as stream:
        return stream.read()


OPEN_DOCUMENT = "application/vnd.oasis.opendocument.spreadsheet"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
HTML = "<html><body><table><tr><td>temp</td></tr></table></body></html>"
FOREIGN = [
    bad("HTML", HTML, "ward.xls, line 1: this is an HTML page, not a table of text.", name="ward.xls"),
    bad("XML", '\n<?xml version="1.0"?><a/>', "ward.csv, line 2: this is an XML document"),
    bad("JSON", '[\n {"temp": 36.6}]', "ward.csv, line 1: this is JSON"),
    bad(
        "FHIR",
        '{"resourceType":"Patient"}\n',
        "ward.ndjson, line 1: this is JSON, not a table of text. Flatten",
        name="ward.ndjson",
    ),
    bad("a zip archive", zipped(a="b"), "ward.csv: this is a zip archive"),
    bad("a text document", zipped(word__document_xml="b"), "ward.csv: this is a text document (.docx)"),
    bad(
        "an .ods",
        zipped(mimetype="application/vnd.oasis.opendocument.spreadsheet"),
        "ward.csv: this is an OpenDocument",
    ),
    bad("PDF", b"%PDF-1.7\n", "ward.csv: this is a PDF document"),
    bad("an old spreadsheet", OLE, "ward.xls: this is an old spreadsheet (.xls)", name="ward.xls"),
    bad(
        "a password",
        OLE + "EncryptedPackage".encode("utf-16-le"),
        "ward.csv: this is a spreadsheet with a password",
    ),
    bad("SQLite", b"SQLite format 3\0", "ward.csv: this is an SQLite database"),
    bad("an xz archive", b"\xfd7zXZ\0", "ward.csv: this is an xz archive"),
    good("gzip", gzip.compress(text().encode("latin-1")), found={"packed": "gzip", "encoding": "latin-1"}),
    bad("gzip cut off", gzip.compress(text().encode())[:-9], "ward.csv: the gzip archive is damaged."),
    bad("gzip of something else", gzip.compress(b"PAR1...."), "ward.csv: this is a gzip archive of Parquet"),
    bad("Parquet cut off", b"PAR1 and no more", "ward.csv: the Parquet file is damaged."),
    good("a name with brackets and blanks", text(), name="ward [7] (1).csv"),
]

LIST = "{Köln, 'Süd', \"West\"}"
HEAD = (
    f"@relation ward\n@attribute temp numeric\n@attribute ward {LIST}\n"
    "@attribute cough {yes,no}\n@attribute ill {yes,no}\n"
)
ARFF_ROWS = text(header=False)


def arff(head: str = HEAD, rows: str = ARFF_ROWS) -> str:
    """An ARFF file."""
    return f"{head}@data\n{rows}"


ARFF = [
    good("ARFF", arff(), name="ward.arff"),
    good(
        "ARFF in capitals, tabs and remarks",
        "% a\n"
        + arff(
            HEAD.upper()
            .replace("TEMP", "temp")
            .replace("WARD {", "ward {")
            .replace("COUGH", "cough")
            .replace("ILL", "ill")
            .replace("KÖLN", "Köln")
            .replace("SÜD", "Süd")
            .replace("YES,NO", "yes,no")
            .replace("@ATTRIBUTE ", "@ATTRIBUTE\t"),
            ARFF_ROWS.replace(",", "\t,  ").replace("no\n", "no % remark\n"),
        ),
        name="ward.arff",
    ),
    good(
        "ARFF with quotes",
        arff(rows=text(header=False, rows=[(r[0], f"'{r[1]}'", f'"{r[2]}"', r[3]) for r in TIDY])),
    ),
    good("ARFF with blanks for commas", arff(rows=text(" ", header=False))),
    good(
        "ARFF: a question mark, and one in quotes",
        arff(
            HEAD.replace(LIST, "{Köln, Süd, '?'}"),
            text(header=False, rows=[("?", "'?'", *TIDY[0][2:]), *TIDY[1:]]),
        ),
        rows=[("", "?", *TIDY[0][2:]), *TIDY[1:]],
    ),
    good(
        "ARFF: escapes",
        arff(
            HEAD.replace(LIST, r"{Köln, 'Süd\'s', '50\%, \u00e4'}"),
            text(
                header=False,
                rows=[(r[0], r"'Süd\'s'" if r[1] == "Süd" else r"'50\%, \u00e4'", *r[2:]) for r in TIDY],
            ),
        ),
        rows=[(r[0], "Süd's" if r[1] == "Süd" else "50%, ä", *r[2:]) for r in TIDY],
    ),
    bad(
        "ARFF: not declared",
        arff(rows=ARFF_ROWS.replace("39,Süd", "39,Nord")),
        "ward.csv, column 'ward', line 10: a value that the attribute's list does not declare.",
    ),
    bad("ARFF: sparse", arff(rows="{0 37, 3 yes}\n"), "ward.csv, line 7: sparse rows are not read."),
    bad("ARFF: weights", arff(rows="37,Süd,no,no,{2}\n"), "ward.csv, line 7: weights of rows are not read."),
    bad(
        "ARFF: short",
        arff(rows="37,Süd,no\n"),
        "ward.csv, line 7: the line has too few fields; 4 are expected.",
    ),
    bad("ARFF: an open quote", arff(rows="37,'Süd,no,no\n"), "ward.csv, line 7: a quote that is not closed"),
    bad(
        "ARFF: an open list",
        arff(HEAD.replace('"West"}', "West")),
        "ward.csv, line 3: the list of values does not end",
    ),
    bad("ARFF: twice", arff(HEAD.replace("'Süd'", "Köln")), "ward.csv, line 3: a value is declared twice."),
    bad("ARFF: an empty field", arff(rows="37,,no,no\n"), "ward.csv, line 7: an empty field. Write ? for"),
    bad(
        "ARFF: no number",
        arff(rows="warm,Süd,no,no\n"),
        "ward.csv, column 'temp', line 7: the attribute is declared as",
    ),
    bad(
        "ARFF: relational",
        arff(HEAD.replace("numeric", "relational")),
        "ward.csv, line 2: the attribute's type is not",
    ),
    bad("ARFF: no data", HEAD, "ward.csv: there is no @data line."),
    bad("ARFF: no rows", arff(rows=""), "ward.csv: the file has no rows."),
]

CELLS: list[Sequence[Cell]] = [NAMES, *((float(row[0]), *row[1:]) for row in TIDY)]
EXCEL = [
    good("Excel", workbook({"A": CELLS}), name="ward.xlsx", found={"sheet": "A", "header": True}),
    good("Excel: under another name", workbook({"A": CELLS})),
    good("Excel: an empty sheet first", workbook({"A": [], "B": CELLS, "C": [["x"]]}), found={"sheet": "B"}),
    good("Excel: a sheet by name", workbook({"A": [["x"]], "B": CELLS}), settings={"sheet": "B"}),
    good("Excel: a sheet by position", workbook({"A": [["x"]], "B": CELLS}), settings={"sheet": 2}),
    good(
        "Excel: an empty row",
        workbook({"A": [*CELLS[:4], [], *CELLS[4:], [" "]]}),
        found={"empty rows left out": 1},
    ),
    good(
        "Excel: dates, formulas, truths",
        workbook(
            {
                "A": [
                    NAMES,
                    [("formula", "37.5"), ("date", "43891"), True, "no"],
                    [38, ("date", "43891.5"), False, "yes"],
                ]
            }
        ),
        rows=[("37.5", "2020-03-01", "true", "no"), ("38", "2020-03-01T12:00:00", "false", "yes")],
    ),
    bad(
        "Excel: no such sheet",
        workbook({"A": CELLS}),
        "ward.csv: there is no sheet 'B'; the sheets are 'A'.",
        settings={"sheet": "B"},
    ),
    bad("Excel: nothing", workbook({"A": [], "B": []}), "ward.csv: the workbook is empty."),
    bad(
        "Excel: merged cells",
        workbook({"A": [["Ward 7"], *CELLS]}, merged=["A1:D1"]),
        "ward.csv, sheet 'A', row 1: cells are merged",
    ),
    bad(
        "Excel: a title",
        workbook({"A": [["Ward 7"], *CELLS]}),
        "ward.csv, sheet 'A', row 1: the row is not part of",
    ),
    bad(
        "Excel: rows above",
        workbook({"A": CELLS}, first_row=4),
        "ward.csv, sheet 'A', row 4: rows above it are empty",
    ),
    bad(
        "Excel: a column before",
        workbook({"A": [[None, *row] for row in CELLS]}),
        "ward.csv, sheet 'A', column A: the first column is empty.",
    ),
    bad(
        "Excel: totals",
        workbook({"A": [*CELLS, ["Total", None, 8, None]]}),
        "ward.csv, sheet 'A', row 10: the line is no",
    ),
    bad(
        "Excel: another table",
        workbook({"A": [*CELLS, [], ["dose", "drug", "x", "y"], [1, "Süd", "no", "yes"]]}),
        "ward.csv, sheet 'A', row 11: another table seems to begin here",
    ),
    bad(
        "Excel: cut off",
        workbook({"A": CELLS})[:900],
        "ward.csv: the file is a damaged spreadsheet or zip archive.",
    ),
    bad("Excel: a part is no XML", zipped(xl__workbook_xml="<<"), "ward.csv: the workbook is damaged."),
]

ALL = [*ENCODINGS, *LINES, *DELIMITERS, *NUMBERS, *COMMENTS, *HEADERS, *SHAPES, *FOREIGN, *ARFF, *EXCEL]
