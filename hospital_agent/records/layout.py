"""How a text file is laid out: comments, quote, delimiter, columns, header or none. Found out from its first lines.

A finding can be overridden by a setting; a wrong one leads to an error that names the line, never to other counts.
What is no table of cases at all is refused by `shape`.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hospital_agent.records.reading import Finding
from hospital_agent.records.table import refuse_duplicate_names
from shared.errors import InputError
from shared.texts import text

BLANKS: Final = " "
"""Stands for any run of blanks."""
_DELIMITERS: Final = (",", "\t", ";", "|")
_NAMED: Final = {"tab": "\t", "\\t": "\t", "blank": BLANKS, "comma": ",", "semicolon": ";"}
_SHOWN: Final = {"\t": "tab", BLANKS: "blanks"}
_COMMENTS: Final = ("#", "%", "//")
_NUMBER: Final = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?|[-+]?[.,][0-9]+")
_COMMA_NUMBER: Final = re.compile(r"[-+]?[0-9]+,[0-9]+")
_SINGLE_QUOTED: Final = re.compile(r"(?:^|[,;|\t])[ ]*'(?:[^']|'')*'[ ]*(?=[,;|\t]|$)")
_SINGLE_OPEN: Final = re.compile(r"(?:^|[,;|\t])[ ]*'")
_HEADER_SAMPLE_ROWS: Final = 1000
_REMEDY: Final = (
    "Give a table with at least one attribute and a class, or name its delimiter in the data settings."
)
_TWICE: Final = (
    "Rename or remove one of them. If the first line is a record and names no columns, set header = false in [data] "
    "(privet data: --set header=false, privet demo: --no-header)."
)

Line = tuple[int, str]
"""Number of a line, as an editor counts, and its text."""
SampleRow = tuple[int, list[str]]
"""Number of the line on which a record begins, and its fields without blanks around them."""


@dataclass(frozen=True, slots=True)
class Delimiters:
    """What parts records into fields. `comment`, `quote`: empty for none."""

    delimiter: str
    quote: str
    comment: str
    comment_is_certain: bool
    width: int
    findings: tuple[Finding, ...]

    def fields(self, line: str) -> list[str]:
        """The fields of one line; of a record that goes on in the next line, those that begin here."""
        if self.delimiter == BLANKS:
            line = " ".join(line.split())
        return split_line(line, self.delimiter, self.quote)

    def is_record(self, line: str) -> bool:
        """Whether a line has as many fields as most."""
        return len(self.fields(line)) == self.width


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` are the header's, or `column 1`, ... where the file has none. `trailing`: every line that was looked at
    ends in a delimiter, so that the last column may be none. `short_header`: only the header does not.
    """

    delimiter: str
    quote: str
    has_header: bool
    names: tuple[str, ...]
    trailing: bool
    short_header: bool
    why: str


def find_delimiters(
    sample: str, where: str, *, delimiter: str | None, quote: str | None, comment: str | None
) -> Delimiters:
    """What parts the fields of a sample. Args: delimiter, quote, comment: the settings.

    Raises: InputError: no line, a single field under every delimiter, a setting that cannot be.
    """
    lines = numbered_lines(sample, where)
    quote_finding = _find_quote([text for _, text in _without_comments(lines, comment)], quote)
    mark = str(quote_finding.found or "")
    lines = list(_whole(lines, mark))
    plain = _without_comments(lines, comment)
    texts = [text for _, text in plain]
    delimiter_finding = _find_delimiter(texts, mark, _named(delimiter, where), where)
    parting = str(delimiter_finding.found)
    found = Delimiters(parting, mark, "", True, 0, ())
    width = Counter(len(found.fields(text)) for text in texts).most_common(1)[0][0]
    comment_finding = _find_comment(lines, plain, replace(found, width=width), comment, where)
    shown = Finding("delimiter", _SHOWN.get(parting, parting), delimiter_finding.why, "delimiter")
    findings = (shown, quote_finding, comment_finding)
    return Delimiters(parting, mark, str(comment_finding.found or ""), comment is not None, width, findings)


def find_layout(
    sample: str, delimiter: str, quote: str, has_header: bool | None, where: str
) -> tuple[Layout, list[SampleRow]]:
    """The columns of a file from its first lines, which are free of comments and runs of blanks; and those lines.

    Raises: InputError: no line, a single column, duplicate names in the header.
    """
    rows = sample_rows(numbered_lines(sample, where), delimiter, quote)
    cells = [fields for _, fields in rows]
    width = Counter(map(len, cells)).most_common(1)[0][0]
    if width < 2:
        raise InputError("the lines have a single field.", where=where, remedy=_REMEDY)
    trailing = len(rows) > 1 and all(len(row) == width and not row[-1] for row in cells[1:])
    trailing = trailing and (len(cells[0]) == width - 1 or not cells[0][-1])
    header, why = find_header(cells, has_header, trailing=trailing)
    names = [f"column {position}" for position in range(1, width + 1)]
    if header:
        first = cells[0] + [""] * (width - len(cells[0]))
        names = [cell or name for cell, name in zip(first, names, strict=False)]
        refuse_duplicate_names(names, f"{where}, header", _TWICE)
    short = header and len(cells[0]) < width
    return Layout(delimiter, quote, header, tuple(names), trailing, short, why), rows


def find_header(
    rows: Sequence[Sequence[str]], declared: bool | None, *, trailing: bool = False
) -> tuple[bool, str]:
    """Whether the first row names the columns, and why. Args: trailing: its last field is empty, as in all rows."""
    if declared is not None:
        return declared, text("reading.setting")
    first = rows[0][:-1] if trailing and not rows[0][-1] else rows[0]
    reason = header_reason([first, *rows[1:]])
    if reason is None:
        return True, text("reading.names")
    if len(set(first)) != len(first) and all(first) and _heads_numbers(first, rows[1:]):
        return True, text("reading.names_above_numbers")
    return False, reason


def header_reason(rows: Sequence[Sequence[str]]) -> str | None:
    """Why the first row does not name columns; None where it does: distinct cells, no number, none found again below
    itself but in a repeat of the whole row. The first cell may be empty, as above row numbers.
    """
    first, rest = rows[0], [row for row in rows[1:] if row != rows[0]]
    if not all(first[1:]) or (not first[0] and not _is_numbering([row[0] for row in rest if row])):
        return text("reading.empty_name")
    if any(_NUMBER.fullmatch(cell) for cell in first):
        return text("reading.number_name")
    if len(set(first)) != len(first):
        return text("reading.repeated_name")
    if any(cell == row[index] for row in rest for index, cell in enumerate(first) if index < len(row)):
        return text("reading.value_name")
    return None


def is_number(text: str) -> bool:
    """Whether a field reads as a number, with a point or a comma."""
    return _NUMBER.fullmatch(text) is not None


def split_line(line: str, delimiter: str, quote: str) -> list[str]:
    """The fields of one line by itself."""
    return next(_rows(_reader([line], delimiter, quote)), [])


def numbered_lines(sample: str, where: str) -> list[Line]:
    """The lines that are not empty. Raises: InputError: there is none."""
    lines = [(number, line) for number, line in enumerate(sample.split("\n"), start=1) if line.strip()]
    if not lines:
        raise InputError(
            "the file is empty.", where=where, remedy="Export the records again, or correct the path."
        )
    return lines


def sample_rows(lines: Sequence[Line], delimiter: str, quote: str) -> list[SampleRow]:
    """The first records of a sample."""
    reader = _reader((text for _, text in lines), delimiter, quote)
    rows: list[SampleRow] = []
    start = 0
    try:
        for cells in reader:
            if cells:
                rows.append((lines[start][0], [cell.strip() for cell in cells]))
            start = reader.line_num
            if len(rows) == _HEADER_SAMPLE_ROWS:
                break
    except csv.Error:  # a field without end; DuckDB will name its line
        pass
    return rows or [(lines[0][0], [lines[0][1]])]


def line_of_row(path: str, layout: Layout, row: int) -> str:
    """`line N` of the row-th record (from 0), counted as an editor counts lines. Used only for messages."""
    with open(path, encoding="utf-8", newline="") as text:
        starts = _record_starts(text, layout)
        start = next(itertools.islice(starts, row + layout.has_header, None), None)
    return "a line" if start is None else f"line {start}"


def ragged_start(path: str, layout: Layout) -> int | None:
    """The line on which the first record of another width begins, or the one whose quote is not closed."""
    with open(path, encoding="utf-8", newline="") as text:
        records = _records(text, layout)
        if layout.short_header:
            next(records, None)
        last = (0, 1)
        for start, lines, width in records:
            if width != len(layout.names):
                return start
            last = (start, lines)
    return last[0] if last[1] > 1 else None


def _record_starts(text: Iterable[str], layout: Layout) -> Iterator[int]:
    return (start for start, _, _ in _records(text, layout))


def _records(text: Iterable[str], layout: Layout) -> Iterator[tuple[int, int, int]]:
    """(first line, lines, fields) of each record; a quoted field may hold line ends, and empty lines are no records."""
    reader = _reader(text, layout.delimiter, layout.quote)
    end = 0
    for cells in _rows(reader):
        start, end = end + 1, reader.line_num
        if len(cells) > 1 or "".join(cells).strip():
            yield start, end - start + 1, len(cells)


def _reader(lines: Iterable[str], delimiter: str, quote: str) -> Any:
    if not quote:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote)


def _named(delimiter: str | None, where: str) -> str | None:
    found = _NAMED.get(delimiter, delimiter) if delimiter else None
    if found is not None and (len(found) != 1 or found in "\r\n\0"):
        raise InputError(
            f"the delimiter {delimiter!r} is not one character.",
            where=where,
            remedy="Name one character, tab for a tab, or a blank for runs of blanks.",
        )
    return found


def _without_comments(lines: Sequence[Line], declared: str | None) -> Sequence[Line]:
    """The lines that are no comments for certain; all of them where every line begins like one."""
    if declared == "":
        return lines
    marks = (declared,) if declared else _COMMENTS
    return [line for line in lines if not line[1].lstrip().startswith(marks)] or lines


def _whole(lines: Sequence[Line], quote: str) -> Iterator[Line]:
    """The lines, those between which a quote is open put together."""
    is_open, start, held = False, 0, ""
    for index, (number, line) in enumerate(lines):
        turns = _is_odd(line, quote)
        if is_open:
            held += "\n" + line
        else:
            start, held = number, line
            turns = turns and not _is_odd_comment(lines, index, quote)
        is_open ^= turns
        if not is_open:
            yield start, held
    if is_open:
        yield start, held


def _is_odd(text: str, quote: str) -> bool:
    return bool(quote) and text.count(quote) % 2 == 1


def _is_odd_comment(lines: Sequence[Line], index: int, quote: str) -> bool:
    """Whether a line with an odd mark is a comment that just holds one: the next line closes no quote."""
    following = lines[index + 1][1] if index + 1 < len(lines) else ""
    return lines[index][1].lstrip().startswith(_COMMENTS) and not _is_odd(following, quote)


def _find_quote(texts: Sequence[str], declared: str | None) -> Finding:
    if declared is not None:
        return Finding("quote", declared or None, text("reading.setting"), "quote")
    if any('"' in text for text in texts):
        return Finding("quote", '"', text("reading.quote_occurs"), "quote")
    wrapped = sum(len(_SINGLE_QUOTED.findall(text)) for text in texts)
    if wrapped and wrapped == sum(len(_SINGLE_OPEN.findall(text)) for text in texts):
        return Finding("quote", "'", text("reading.single_quotes"), "quote")
    return Finding("quote", '"', text("reading.no_quotes"), "quote")


def _find_delimiter(texts: Sequence[str], quote: str, declared: str | None, where: str) -> Finding:
    """The delimiter under which most lines have the same number of fields, the more fields the better.

    Blanks are tried last, because texts contain them. Where another delimiter parts every line alike and leaves commas
    only within numbers such as 37,5, these are decimal commas.
    """
    if declared is not None:
        return Finding("delimiter", declared, text("reading.setting"), "delimiter")
    for delimiter in _DELIMITERS[1:]:
        if _leaves_decimal_commas(texts, delimiter, quote):
            why = text("reading.decimal_commas")
            return Finding("delimiter", delimiter, why, "delimiter")
    score, best = max(
        ((_evenness(_reader(texts, delimiter, quote)), delimiter) for delimiter in _DELIMITERS),
        key=lambda item: item[0],
    )
    if score > 0:
        return Finding("delimiter", best, text("reading.parts_most"), "delimiter")
    if _evenness(iter(text.split() for text in texts)) > 0:
        return Finding("delimiter", BLANKS, text("reading.blanks"), "delimiter")
    raise InputError("every line is a single field.", where=where, remedy=_REMEDY)


def _leaves_decimal_commas(texts: Sequence[str], delimiter: str, quote: str) -> bool:
    rows = list(_rows(_reader(texts, delimiter, quote)))
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    with_comma = [cell.strip() for row in rows for cell in row if "," in cell]
    return bool(with_comma) and all(_COMMA_NUMBER.fullmatch(cell) for cell in with_comma)


def _find_comment(
    lines: Sequence[Line], plain: Sequence[Line], found: Delimiters, declared: str | None, where: str
) -> Finding:
    """Comments are lines that begin with a mark and have not the fields of a record.

    Raises: InputError: some lines that begin so have a record's fields, others not.
    """
    if declared is not None:
        return Finding("comments", declared or None, text("reading.setting"), "comment")
    none = Finding("comments", None, "", "comment")
    doubtful = sorted(set(lines) - set(plain))
    alike = [line for line in doubtful if found.is_record(line[1])]
    if len(alike) == len(doubtful):
        return none
    if alike:
        mark = next(mark for mark in _COMMENTS if alike[0][1].lstrip().startswith(mark))
        raise InputError(
            f"the line begins with {mark!r} as comments do, and has as many fields as a record.",
            where=f"{where}, line {alike[0][0]}",
            remedy=f"Set comment to {mark!r} to leave such lines out, or to nothing to keep them all.",
        )
    marks = Counter(
        next(mark for mark in _COMMENTS if text.lstrip().startswith(mark)) for _, text in doubtful
    )
    return Finding("comments", marks.most_common(1)[0][0], text("reading.comments"), "comment")


def _heads_numbers(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether a row without numbers stands above some column of nothing but numbers."""
    if any(map(is_number, first)) or not rest:
        return False
    return any(
        all(index < len(row) and is_number(row[index]) for row in rest) for index, _ in enumerate(first)
    )


def _is_numbering(cells: Sequence[str]) -> bool:
    return bool(cells) and all(cells) and len(set(cells)) == len(cells)


def _rows(reader: Any) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error:  # a field without end; DuckDB will name its line
        return


def _evenness(reader: Any) -> float:
    """Share of lines with the commonest number of fields, times the delimiters in such a line; 0 for none."""
    widths = Counter(len(row) for row in _rows(reader))
    if not widths:
        return 0.0
    width, lines = max(widths.items(), key=lambda item: (item[1], item[0]))
    return (width - 1) * lines / widths.total()
