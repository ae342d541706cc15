"""A table in memory as dictionary codes: for each column its distinct texts, and one small integer a row.

Checking a value against a schema then costs one look-up a distinct text, not one a row. Nothing here prints a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.reading import ReadingReport
from hospital_agent.records.source import ColumnReference
from shared.errors import InputError


class DecimalMark(StrEnum):
    """What parts the whole of a column's numbers from their fraction."""

    POINT = "point"
    COMMA = "comma"
    UNCLEAR = "unclear"
    """It cannot be told, as with 1,234 and nothing else: no number may be read off such a column."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `values[codes[row]]` is the row's text, blanks around it removed, empty where it is missing.

    `values` is sorted and every one of them occurs. `position` counts from 1 as in the source. `declared` is the list
    of values that the source itself gives for the column, in its order, whether they occur or not; None where the
    source gives none (only ARFF files do). It never holds the empty field.
    """

    name: str
    position: int
    values: tuple[str, ...] = field(repr=False)
    codes: NDArray[Any] = field(repr=False)
    declared: tuple[str, ...] | None = field(default=None, repr=False)
    decimal_mark: DecimalMark = DecimalMark.POINT

    def take(self, rows: slice) -> Column:
        """The same column with some of the rows, and only the values that still occur."""
        kept, codes = np.unique(self.codes[rows], return_inverse=True)
        values = tuple(self.values[code] for code in kept)
        return replace(self, values=values, codes=codes.astype(self.codes.dtype))

    def texts(self) -> list[str]:
        """Every row's text."""
        return [self.values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length. `where` names the source in messages, `locate` a row in it ("line 17")."""

    where: str
    columns: tuple[Column, ...]
    row_count: int
    has_header: bool
    locate: Callable[[int], str] = field(repr=False, compare=False)
    reading: ReadingReport | None = field(default=None, repr=False, compare=False)
    """How a file was read; None for other sources."""

    def find(self, reference: ColumnReference, setting: str) -> Column:
        """The column that a setting means. Raises: InputError: there is none."""
        named = [column for column in self.columns if column.name == reference]
        if named:
            return named[0]
        position = int(reference) if isinstance(reference, int) or reference.isdecimal() else 0
        if 1 <= position <= len(self.columns):
            return self.columns[position - 1]
        raise InputError(
            f"there is no column {reference!r}; the columns are {_listing(self)}.",
            where=self.where,
            remedy=f"Name one of them with {setting}, or give a position from 1 to {len(self.columns)}.",
        )

    def deal(self, hands: int) -> list[Table]:
        """The rows dealt round robin to `hands` tables."""
        return [self._every(hands, start) for start in range(hands)]

    def _every(self, step: int, start: int) -> Table:
        rows = slice(start, None, step)
        columns = tuple(column.take(rows) for column in self.columns)
        count = len(range(start, self.row_count, step))
        return replace(
            self, columns=columns, row_count=count, locate=lambda row: self.locate(row * step + start)
        )

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Row by row, as texts."""
        return zip(*(column.texts() for column in self.columns), strict=True)


def refuse_duplicate_names(
    names: list[str], where: str, remedy: str = "Rename or remove one of them."
) -> None:
    """Raises InputError naming the first repeated column name and the positions that bear it."""
    seen = sorted((name, position) for position, name in enumerate(names, start=1))
    for (name, first), (following, second) in pairwise(seen):
        if name == following:
            raise InputError(
                f"columns {first} and {second} are both named {name!r}.",
                where=where,
                remedy=remedy,
            )


def _listing(table: Table, most: int = 20) -> str:
    """The column names, shortened. Without a header they are invented, so that no record shows here."""
    names = [repr(column.name) for column in table.columns]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
