"""What is known of one column, worked out once: how often each text occurs, which texts are numbers, and its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.profile.suspects import is_missing_word
from hospital_agent.records.table import Column, DecimalMark
from shared.tree.numbers import UnknownValueError, parse_number

Kind = Literal["empty", "integer", "decimal", "date", "category", "text"]
Numbers = tuple[Decimal | None, ...]
"""Each different text as a number, None where it is none."""

_DATE: Final = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?|\d{1,2}-[A-Za-z]{3}-\d{2,4}"
)
_MOSTLY: Final = 0.8
"""A column is of the kind of four rows in five."""
_TEXT_CHARACTERS: Final = 25
_TEXT_BLANKS: Final = 3


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column. `counts[i]`: rows with `values[i]`; `numbers[i]`: that text as a number, or None.

    `comma`: its numbers are written and read 37,5. `kind`: by four rows in five, without empty and suspected fields.
    Of a column of very many texts in a database only the most frequent ones are here: `more` is then the number of
    different ones that are not, and `unseen` that of their rows.
    """

    column: Column
    counts: tuple[int, ...] = field(repr=False)
    numbers: Numbers = field(repr=False)
    kind: Kind
    comma: bool
    more: int = field(default=0, repr=False)
    unseen: int = field(default=0, repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def values(self) -> tuple[str, ...]:
        """Its different texts, sorted; the first may be the empty one."""
        return self.column.values

    @property
    def codes(self) -> NDArray[np.int64]:
        """The index of each row's text."""
        return self.column.codes.astype(np.int64)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.counts) + self.unseen

    @property
    def is_whole(self) -> bool:
        """Whether all of its texts are here."""
        return not self.more

    @property
    def has_numbers_only(self) -> bool:
        """Whether it is a column of numbers, and every field is one."""
        return self.is_number and None not in self.numbers

    @property
    def missing(self) -> int:
        """Rows whose field is empty."""
        return self.counts[0] if self.values and self.values[0] == "" else 0

    @property
    def different(self) -> int:
        """Number of different texts, the empty one left out."""
        return sum(value != "" for value in self.values) + self.more

    @property
    def is_number(self) -> bool:
        """Whether it is a column of numbers."""
        return self.kind in ("integer", "decimal")

    def measured(self) -> list[tuple[Decimal, int]]:
        """Its different numbers in ascending order, each with its rows; texts that are suspected as codes stay in."""
        found: dict[Decimal, int] = {}
        for number, count in zip(self.numbers, self.counts, strict=True):
            if number is not None:
                found[number] = found.get(number, 0) + count
        return sorted(found.items())

    def ranks(self) -> NDArray[np.int64]:
        """For each text the place of its number among the column's. Every text must be a number."""
        ordered = {number: place for place, (number, _) in enumerate(self.measured())}
        return np.array([ordered[number] for number in self.numbers if number is not None], dtype=np.int64)


def facts_of(column: Column) -> ColumnFacts:
    """All that is known of a column by itself."""
    return facts_by(column, tuple(np.bincount(column.codes, minlength=len(column.values)).tolist()))


def facts_by(column: Column, counts: tuple[int, ...], more: int = 0, unseen: int = 0) -> ColumnFacts:
    """The same by the number of rows of each text. Args: more, unseen: as of `ColumnFacts`."""
    numbers = _numbers(column)
    comma = column.decimal_mark is DecimalMark.COMMA
    kind = _kind(column.values, counts, numbers)
    return ColumnFacts(column, counts, numbers, kind, comma, more, unseen)


def _numbers(column: Column) -> Numbers:
    """As a job reads them; where the mark is unclear and a job reads none, as most of them can be read."""
    mark = column.decimal_mark
    if mark is DecimalMark.POINT:
        return _with_point(column)
    commas = tuple(None if "." in text else _number(text.replace(",", ".", 1)) for text in column.values)
    if mark is DecimalMark.COMMA:
        return commas
    return max(_with_point(column), commas, key=lambda numbers: sum(n is not None for n in numbers))


def _with_point(column: Column) -> Numbers:
    return tuple(_number(text) for text in column.values)


def _number(text: str) -> Decimal | None:
    try:
        return parse_number("", text)
    except UnknownValueError:
        return None


def _kind(values: tuple[str, ...], counts: tuple[int, ...], numbers: Numbers) -> Kind:
    told = [
        (text, count, number)
        for text, count, number in zip(values, counts, numbers, strict=True)
        if text and not is_missing_word(text)
    ]
    total = sum(count for _, count, _ in told)
    if total == 0:
        return "empty"
    found = [(number, count) for _, count, number in told if number is not None]
    if sum(count for _, count in found) >= _MOSTLY * total:
        whole = all(number == number.to_integral_value() for number, _ in found)
        return "integer" if whole else "decimal"
    if sum(count for text, count, _ in told if _DATE.fullmatch(text)) >= _MOSTLY * total:
        return "date"
    if sum(count for text, count, _ in told if _is_prose(text)) >= total / 2:
        return "text"
    return "category"


def _is_prose(text: str) -> bool:
    return len(text) >= _TEXT_CHARACTERS and text.count(" ") >= _TEXT_BLANKS
