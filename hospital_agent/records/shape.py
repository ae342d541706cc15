"""What is not one table of cases: a title above it, another table or totals below it, its header once more.

Each is refused with the line and what to do. `shape` looks at a text's lines and at the table made of them; ragged
lines are found by the parser.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from hospital_agent.records.layout import Layout, SampleRow, header_reason, is_number, split_line
from hospital_agent.records.table import Column, Table
from shared.errors import InputError

_TOTALS: Final = frozenset(
    {"total", "totals", "subtotal", "sum", "sums", "average", "mean"}
    | {"summe", "gesamt", "gesamtsumme", "insgesamt", "mittelwert"}
    | {"totale", "somme", "somma", "suma", "razem", "totaal", "totalt", "всего", "итого", "итог"}
)
"""First words of lines that add up the cases above them."""
_MOST_GAPS: Final = 100
"""Empty lines after which the next line is looked at."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Empty lines, and lines that end in blanks. `after`: place and fields of what follows empty lines in the table."""

    empty: int
    trailing_blanks: int
    after: tuple[tuple[str, Sequence[str]], ...]


def refuse_title(layout: Layout, rows: Sequence[SampleRow], where: str, word: str = "line") -> None:
    """Raises InputError where the first lines are no part of the table. Args: word: what the source calls a line."""
    width = len(layout.names)
    line, first = rows[0]
    below = [fields for _, fields in rows[1:]]
    short = bool(below) and len(first) < width and not (layout.trailing and len(first) == width - 1)
    padded = width > 2 and len(below) > 1 and header_reason(below) is None
    if sum(map(bool, first)) == 1 and (short or padded):
        raise InputError(
            f"the {word} is not part of the table, whose {word}s have {width} fields; it seems to be a title.",
            where=f"{where}, {word} {line}",
            remedy=f"Remove the {word}s above the table.",
        )
    if short and layout.has_header:
        raise InputError(
            f"the header has {len(first)} fields, and the {word}s below it have {width}.",
            where=f"{where}, {word} {line}",
            remedy="Give every column a name, also that of row numbers; or remove what stands above the table.",
        )


def ragged_line(path: str, line: int, layout: Layout) -> tuple[str, str] | None:
    """(what, remedy) of a line of another width that is no slip: a second table, or words below the table."""
    with open(path, encoding="utf-8", newline="") as text:
        lines = list(itertools.islice(text, max(line - 2, 0), line))
        is_last = not any(later.strip() for later in text)
    fields = [
        field
        for field in split_line(lines[-1].rstrip("\r\n"), layout.delimiter, layout.quote)
        if field.strip()
    ]
    is_note = len(fields) == 1 and not is_number(fields[0])
    if is_last and fields and (is_note or _is_totals(fields[0])):
        return _below(len(layout.names))
    if len(lines) == 2 and not lines[0].strip() and not any(map(is_number, fields)):
        return (
            f"another table seems to begin here; the lines above have {len(layout.names)} fields.",
            "Give each table a file of its own.",
        )
    return None


def refuse_shape(table: Table, layout: Layout, gaps: Gaps) -> None:
    """Raises InputError where a row of a table is none: a header again, a second table's header, a line of totals."""
    if table.row_count == 0:
        return
    if layout.has_header:
        _refuse_header_again(table, layout)
        _refuse_unnamed_gap(table, layout)
    for place, fields in gaps.after:
        _refuse_second_table(table, place, fields)
    _refuse_totals(table)


def gaps_of(path: str, layout: Layout) -> Gaps:
    """The empty lines of a text, and those that end in blanks."""
    empty = trailing = 0
    after: list[tuple[str, Sequence[str]]] = []
    pending = started = in_quotes = False
    ends = (" ",) if layout.delimiter == "\t" else (" ", "\t")
    with open(path, encoding="utf-8", newline="") as text:
        for number, line in enumerate(text, start=1):
            bare = line.rstrip("\r\n")
            if not in_quotes and not bare.strip():
                empty += 1
                pending = started
                continue
            trailing += bare.endswith(ends)
            if pending and len(after) < _MOST_GAPS:
                after.append((f"line {number}", split_line(bare, layout.delimiter, layout.quote)))
            started, pending = True, False
            if layout.quote and line.count(layout.quote) % 2:
                in_quotes = not in_quotes
    return Gaps(empty, trailing, tuple(after))


def _refuse_header_again(table: Table, layout: Layout) -> None:
    again = np.ones(table.row_count, dtype=bool)
    for column, name in zip(table.columns, layout.names, strict=False):
        if name not in column.values:
            return
        again &= column.codes == column.values.index(name)
    if again.any():
        raise InputError(
            "the line repeats the header.",
            where=f"{table.where}, {table.locate(int(np.flatnonzero(again)[0]))}",
            remedy="Remove it; tables that were put under one another need one header.",
        )


def _refuse_unnamed_gap(table: Table, layout: Layout) -> None:
    """A column without name and values between others parts two tables that stand side by side."""
    for column in table.columns[1:-1]:
        if column.values == ("",) and column.name == f"column {column.position}":
            raise InputError(
                f"column {column.position} has no name and no values, as between two tables side by side.",
                where=f"{table.where}, header",
                remedy="Give each table a file of its own, or remove the empty column.",
            )


def _refuse_second_table(table: Table, place: str, found: Sequence[str]) -> None:
    """A line after an empty one whose fields are all names, above or below columns of numbers."""
    fields = [field.strip() for field in found]
    if len(fields) != len(table.columns) or not all(fields) or any(map(is_number, fields)):
        return
    alone = [_occurs_once(column, field) for column, field in zip(table.columns, fields, strict=True)]
    numbers = [_numbers_but(column, field) for column, field in zip(table.columns, fields, strict=True)]
    if all(alone) and any(numbers):
        raise InputError(
            "another table seems to begin here, after an empty line.",
            where=f"{table.where}, {place}",
            remedy="Give each table a file of its own, or remove the empty line and the second header.",
        )


def _refuse_totals(table: Table) -> None:
    last = table.row_count - 1
    texts = [column.values[int(column.codes[last])] for column in table.columns]
    first = next((index for index, text in enumerate(texts) if text), None)
    if first is not None and _is_totals(texts[first]) and _occurs_once(table.columns[first], texts[first]):
        what, remedy = _below(len(table.columns))
        raise InputError(what, where=f"{table.where}, {table.locate(last)}", remedy=remedy)


def _below(width: int) -> tuple[str, str]:
    return (
        f"the line is no case but seems to hold totals or a note; cases have {width} fields.",
        "Remove the lines below the table.",
    )


def _is_totals(text: str) -> bool:
    words = text.strip().strip("\"'").replace(",", " ").replace(";", " ").split()
    return bool(words) and words[0].rstrip(":").casefold() in _TOTALS


def _occurs_once(column: Column, text: str) -> bool:
    if text not in column.values:
        return False
    return int(np.count_nonzero(column.codes == column.values.index(text))) == 1


def _numbers_but(column: Column, text: str) -> bool:
    others = [value for value in column.values if value not in (text, "")]
    return bool(others) and all(map(is_number, others))
