"""ARFF files: the declared attributes, with their lists of values as declared, and the rows below `@data`.

Written out here since no kept library keeps the order of declared lists, escapes in quotes and the place of a fault.
The format is that of Weka 3.8 (its wiki page "ARFF (stable version)"), of which sparse rows, weights of rows and
relational attributes are refused. A missing value is an unquoted `?`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hospital_agent.records.dictionary import column_of_texts
from hospital_agent.records.layout import is_number
from hospital_agent.records.reading import Finding, ReadingReport
from hospital_agent.records.source import DataSettings
from hospital_agent.records.table import Column, Table, refuse_duplicate_names
from hospital_agent.records.text_file import Encoding
from hospital_agent.records.text_table import Opening
from shared.errors import InputError
from shared.texts import text

_QUOTED: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE: Final = re.compile(
    rf"@attribute\s+(?P<name>{_QUOTED}|[^\s{{}},'\"]+)\s*(?P<kind>.*)", re.IGNORECASE
)
_FIELD: Final = re.compile(rf"\s*(?P<text>{_QUOTED}|[^,'\"]*?)\s*(?P<end>,|$)")
_REMARK: Final = re.compile(rf"^((?:{_QUOTED}|[^'\"%]|(?<!\s)%)*)\s%.*$")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}
_NUMBERS: Final = ("numeric", "real", "integer")
_TEXTS: Final = ("string", "date")


@dataclass(frozen=True, slots=True)
class _Attribute:
    """`values`: the declared list, None where any text is allowed. `line`: where it is declared."""

    name: str
    is_number: bool
    values: tuple[str, ...] | None
    line: int


@dataclass(slots=True)
class _Rows:
    """The rows column by column, the line of each, and the comments seen."""

    columns: list[list[str]]
    lines: list[int] = field(default_factory=list)
    comments: int = 0


def is_arff(sample: str) -> bool:
    """Whether a text begins as ARFF files do, comments apart."""
    lines = (line.strip() for line in sample.lstrip("\ufeff").split("\n"))
    first = next((line for line in lines if line and not line.startswith("%")), "")
    return first.lower().startswith(("@relation", "@attribute"))


def read_arff(opening: Opening, encoding: Encoding, settings: DataSettings, where: str) -> Table:
    """The rows as texts, each nominal column with its declared values.

    Raises: InputError: naming the line, for what is not declared, not closed, or not read (sparse rows, weights).
    """
    with opening() as path:
        try:
            with path.open(encoding=encoding.name, newline=None) as text:
                attributes, rows = _parse(enumerate(text, start=1), where)
        except UnicodeError:
            raise InputError(
                f"the bytes are not {encoding.name} text.",
                where=where,
                remedy="Name the right encoding in the data settings, or save the file as UTF-8.",
            ) from None
    refuse_duplicate_names([attribute.name for attribute in attributes], where)
    columns = tuple(
        column_of_texts(attribute.name, position, texts, settings.missing_codes, attribute.values)
        for position, (attribute, texts) in enumerate(zip(attributes, rows.columns, strict=True), start=1)
    )
    lines = np.array(rows.lines, dtype=np.int64)
    for attribute, column in zip(attributes, columns, strict=True):
        _refuse_undeclared(attribute, column, lines, where)
    report = ReadingReport(
        where, "ARFF", len(lines), len(columns), tuple(_findings(encoding, attributes, rows))
    )
    return Table(where, columns, len(lines), True, lambda row: f"line {lines[row]}", report)


def _parse(lines: Iterator[tuple[int, str]], where: str) -> tuple[list[_Attribute], _Rows]:
    attributes: list[_Attribute] = []
    comments = 0
    for number, line in lines:
        text = line.strip().lstrip("\ufeff")
        if not text or text.startswith("%"):
            comments += bool(text)
            continue
        keyword = text.split(None, 1)[0].lower()
        if keyword == "@data":
            rows = _Rows([[] for _ in attributes], comments=comments)
            _read_rows(lines, attributes, rows, where)
            return attributes, rows
        if keyword == "@attribute":
            attributes.append(_attribute(_without_remark(text), number, where))
        elif keyword != "@relation":
            raise _fault(
                "expected @relation, @attribute or @data", number, where, "Correct the head of the file."
            )
    raise InputError("there is no @data line.", where=where, remedy="Export the file again; it is cut off.")


def _attribute(text: str, number: int, where: str) -> _Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise _fault(
            "expected @attribute, a name and a type", number, where, "Put names with blanks in quotes."
        )
    name, kind = _unquoted(match["name"]), match["kind"].strip()
    if kind.startswith("{"):
        return _Attribute(name, False, _values(kind, number, where), number)
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word in _NUMBERS:
        return _Attribute(name, True, None, number)
    if word in _TEXTS:
        return _Attribute(name, False, None, number)
    raise _fault(
        "the attribute's type is not one of numeric, real, integer, string, date and a list in braces",
        number,
        where,
        "Export the data without relational attributes." if word == "relational" else "Correct the type.",
    )


def _values(kind: str, number: int, where: str) -> tuple[str, ...]:
    """The declared list, in its order."""
    remedy = "Write {a, b, c}, with quotes around values that hold blanks, commas or braces."
    if not kind.endswith("}"):
        raise _fault("the list of values does not end in } on its line", number, where, remedy)
    fields = _fields(kind[1:-1])
    if (
        fields is None
        or not all(fields)
        or any(not _is_quoted(text) and len(text.split()) > 1 for text in fields)
    ):
        raise _fault("the list of values cannot be read", number, where, remedy)
    values = tuple(_unquoted(text).strip() for text in fields)
    if len(set(values)) != len(values):
        raise _fault("a value is declared twice", number, where, "Take the repeat out of the list.")
    return values


def _read_rows(
    lines: Iterable[tuple[int, str]], attributes: Sequence[_Attribute], rows: _Rows, where: str
) -> None:
    width = len(attributes)
    for number, line in lines:
        text = line.strip()
        if not text or text.startswith("%"):
            rows.comments += bool(text)
            continue
        fields = _row(text, width, number, where)
        for column, field_text in zip(rows.columns, fields, strict=True):
            column.append(field_text)
        rows.lines.append(number)


def _row(text: str, width: int, number: int, where: str) -> Sequence[str]:
    """The fields of a row, missing ones empty."""
    if text.startswith("{"):
        raise _fault("sparse rows are not read", number, where, "Export the data with all values of a row.")
    if "%" in text:
        text = _without_remark(text)
    if "'" in text or '"' in text:
        raw = _fields(text)
        if raw is None:
            raise _fault(
                "a quote that is not closed, or text beside one", number, where, "Correct that line."
            )
    else:
        raw = text.split(",")
        if len(raw) == 1 and width > 1:
            raw = text.split()
        raw = [part.strip() for part in raw]
    if len(raw) == width + 1 and raw[-1].startswith("{"):
        raise _fault("weights of rows are not read", number, where, "Export the data without weights.")
    if len(raw) != width:
        few_or_many = "few" if len(raw) < width else "many"
        raise _fault(
            f"the line has too {few_or_many} fields; {width} are expected",
            number,
            where,
            "Correct that line.",
        )
    if "" in raw:
        raise _fault("an empty field", number, where, "Write ? for a missing value.")
    return ["" if part == "?" else _unquoted(part) for part in raw]


def _fields(text: str) -> list[str] | None:
    """The parts between commas, quotes left on; None where a quote is not closed or has text beside it."""
    found: list[str] = []
    place = 0
    while True:
        match = _FIELD.match(text, place)
        if match is None:
            return None
        found.append(match["text"])
        if match["end"] == "":
            return found
        place = match.end()


def _without_remark(text: str) -> str:
    """A line without the comment at its end, which begins with a blank and a percent sign."""
    match = _REMARK.match(text)
    return match[1].strip() if match else text


def _is_quoted(text: str) -> bool:
    return text[:1] in ("'", '"')


def _unquoted(text: str) -> str:
    if not _is_quoted(text):
        return text
    return _ESCAPE.sub(_unescaped, text[1:-1]) if "\\" in text else text[1:-1]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


def _refuse_undeclared(attribute: _Attribute, column: Column, lines: np.ndarray, where: str) -> None:
    if attribute.values is not None:
        allowed = {*attribute.values, ""}
        wrong = [code for code, text in enumerate(column.values) if text not in allowed]
        what = "a value that the attribute's list does not declare"
        remedy = f"Correct it, or add it to the list in line {attribute.line}."
    elif attribute.is_number:
        wrong = [code for code, text in enumerate(column.values) if text and not is_number(text)]
        what = "the attribute is declared as numeric, and the field is no number"
        remedy = f"Correct it, or declare the attribute otherwise in line {attribute.line}."
    else:
        return
    if wrong:
        row = int(np.flatnonzero(np.isin(column.codes, wrong))[0])
        raise InputError(
            f"{what}.", where=f"{where}, column {column.name!r}, line {lines[row]}", remedy=remedy
        )


def _findings(encoding: Encoding, attributes: Sequence[_Attribute], rows: _Rows) -> Iterator[Finding]:
    yield Finding("encoding", encoding.name, encoding.why, "encoding")
    lists = sum(attribute.values is not None for attribute in attributes)
    yield Finding("declared lists of values", lists, text("reading.as_declared"))
    if rows.comments:
        yield Finding("comment lines left out", rows.comments, text("reading.percent_lines"))


def _fault(what: str, number: int, where: str, remedy: str) -> InputError:
    return InputError(f"{what}.", where=f"{where}, line {number}", remedy=remedy)
