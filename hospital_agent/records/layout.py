"""How a text file is laid out: delimiter, number of columns, header or none. Guessed from its first lines.

A guess can be overridden by a setting; a wrong guess leads to an error that names the line, never to other counts.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hospital_agent.records.table import refuse_duplicate_names
from shared.errors import InputError

_DELIMITERS: Final = (",", "\t", ";", "|")
BLANKS: Final = " "
"""Stands for any run of blanks."""
_NUMBER: Final = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?([eE][-+]?[0-9]+)?|[-+]?\.[0-9]+")
_HEADER_SAMPLE_ROWS: Final = 1000
_REMEDY: Final = (
    "Give a table with at least one attribute and a class, or name its delimiter in the data settings."
)


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` are the header's, or `column 1`, ... where the file has none."""

    delimiter: str
    has_header: bool
    names: tuple[str, ...]


def find_delimiter(sample: str, where: str) -> str:
    """The delimiter under which most lines have the same number of fields, the more fields the better.

    Blanks are tried last, because texts contain them.
    Raises: InputError: no line, an ARFF file, or a single column under every delimiter.
    """
    lines = _lines(sample, where)
    best = max(_DELIMITERS, key=lambda delimiter: _evenness(csv.reader(lines, delimiter=delimiter)))
    if _evenness(csv.reader(lines, delimiter=best)) > 0:
        return best
    if _evenness(line.split() for line in lines) > 0:
        return BLANKS
    raise InputError("every line is a single field.", where=where, remedy=_REMEDY)


def find_layout(sample: str, delimiter: str, has_header: bool | None, where: str) -> Layout:
    """The columns of a file from its first lines, already in single-delimiter form.

    Raises: InputError: no line, a single column, or duplicate names in the header.
    """
    rows = [row for row in csv.reader(_lines(sample, where), delimiter=delimiter) if row][
        :_HEADER_SAMPLE_ROWS
    ]
    rows = [[cell.strip() for cell in row] for row in rows]
    header = looks_like_header(rows) if has_header is None else has_header
    width = len(rows[0]) if header else Counter(map(len, rows)).most_common(1)[0][0]
    if width < 2:
        raise InputError("the lines have a single field.", where=where, remedy=_REMEDY)
    names = [f"column {position}" for position in range(1, width + 1)]
    if header:
        names = [cell or name for cell, name in zip(rows[0], names, strict=True)]
        refuse_duplicate_names(names, f"{where}, header")
    return Layout(delimiter, header, tuple(names))


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names columns: distinct non-empty cells, no number, none found again below itself."""
    first, rest = rows[0], rows[1:]
    if not all(first) or len(set(first)) != len(first) or any(_NUMBER.fullmatch(cell) for cell in first):
        return False
    return not any(cell == row[index] for row in rest for index, cell in enumerate(first) if index < len(row))


def line_of_row(path: str, layout: Layout, row: int) -> str:
    """`line N` of the row-th record (from 0), counted as an editor counts lines. Used only for messages."""
    with open(path, encoding="utf-8", newline="") as text:
        starts = _record_starts(csv.reader(text, delimiter=layout.delimiter))
        start = next(itertools.islice(starts, row + layout.has_header, None), None)
    return "a line" if start is None else f"line {start}"


def _record_starts(reader: Any) -> Iterator[int]:
    """The line on which each record begins; a quoted field may hold line ends, and empty lines are no records."""
    end = 0
    for cells in reader:
        start, end = end + 1, reader.line_num
        if len(cells) > 1 or "".join(cells).strip():
            yield start


def _lines(sample: str, where: str) -> list[str]:
    lines = [line for line in sample.split("\n") if line.strip()]
    if not lines:
        raise InputError(
            "the file is empty.", where=where, remedy="Export the records again, or correct the path."
        )
    if any(line.lstrip().lower().startswith("@relation") for line in lines):
        raise InputError("this is an ARFF file.", where=where, remedy="Export it as CSV.")
    return lines


def _evenness(rows: Iterable[Sequence[str]]) -> float:
    """Share of lines with the commonest number of fields, times the delimiters in such a line; 0 for none."""
    widths = Counter(len(row) for row in rows)
    width, lines = max(widths.items(), key=lambda item: (item[1], item[0]))
    return (width - 1) * lines / widths.total()
