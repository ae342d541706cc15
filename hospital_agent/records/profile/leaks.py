"""Columns that know too much: the class itself under another name, or another column once more.

Counts are of rows, compared with what the most frequent value alone would give, so that a column with one frequent
value does not look like a twin of every other such column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Finding, Weight, drop, finding
from shared.tree.schema import MAX_CLASSES

Codes = NDArray[np.int64]
_TELLS: Final = 0.98
"""Of the rows that the most frequent class leaves over, so many must be told by the column."""
_TWIN: Final = 0.98
_FEWEST_ROWS: Final = 20
_FEW_VALUES: Final = 30
_ROWS_A_VALUE: Final = 5
"""A column with fewer rows a value tells everything by chance."""


def leaking(facts: Sequence[ColumnFacts], target: ColumnFacts) -> list[Finding]:
    """Columns of which one value means one class nearly always; of numbers, where one cut parts two classes."""
    found = []
    for column in facts:
        share = _told(column, target)
        if share is not None and share >= _TELLS:
            found.append(
                finding(
                    "gives-class-away",
                    Weight.LOOK,
                    (column.name,),
                    advice=(drop(column.name),),
                    class_name=repr(target.name),
                )
            )
    return found


def twins(facts: Sequence[ColumnFacts]) -> list[Finding]:
    """Columns that say what an earlier one says: value for value, or in another unit."""
    found: list[Finding] = []
    ranks = [_ranks(column) for column in facts]
    for later, column in enumerate(facts):
        for earlier in range(later):
            if _are_twins(facts[earlier], column, ranks[earlier], ranks[later]):
                found.append(
                    finding(
                        "same-as",
                        Weight.LOOK,
                        (column.name,),
                        advice=(drop(column.name),),
                        other=repr(facts[earlier].name),
                    )
                )
                break
    return found


def _told(column: ColumnFacts, target: ColumnFacts) -> float | None:
    """Of the rows beside the most frequent class, the share that the column tells right; None where it cannot say."""
    rows, base = target.rows, max(target.counts)
    if rows < _FEWEST_ROWS or base == rows or column.different < 2 or target.different > MAX_CLASSES:
        return None
    by_value = column.different * _ROWS_A_VALUE <= rows
    if not by_value and not column.is_number:
        return None
    table = _table(column.codes, target.codes, len(column.values), len(target.values))
    right = int(table.max(axis=1).sum()) if by_value else 0
    if column.is_number:
        right = max(right if column.different <= _FEW_VALUES else 0, _best_cut(column, table))
    return (right - base) / (rows - base)


def _best_cut(column: ColumnFacts, table: Codes) -> int:
    """Rows told right by the best single cut of a column of numbers."""
    known = [index for index, number in enumerate(column.numbers) if number is not None]
    known.sort(key=lambda index: column.numbers[index] or 0)
    left = np.cumsum(table[known], axis=0)
    if len(left) == 0:
        return 0
    return int((left.max(axis=1) + (left[-1] - left).max(axis=1)).max())


def _are_twins(a: ColumnFacts, b: ColumnFacts, ranks_a: Codes | None, ranks_b: Codes | None) -> bool:
    if ranks_a is not None and ranks_b is not None and a.different > 2 and _same_order(ranks_a, ranks_b):
        return True
    if not (2 <= a.different <= _FEW_VALUES and a.different == b.different and a.rows >= _FEWEST_ROWS):
        return False
    table = _table(a.codes, b.codes, len(a.values), len(b.values))
    return min(_agreement(table), _agreement(table.T)) >= _TWIN


def _same_order(a: Codes, b: Codes) -> bool:
    """Whether one column of numbers rises or falls exactly with the other."""
    return np.array_equal(a, b) or np.array_equal(a, b.max(initial=0) - b)


def _agreement(table: Codes) -> float:
    """Goodman and Kruskal's lambda: how much better the column's value is guessed when the row's is known."""
    base, rows = int(table.sum(axis=0).max()), int(table.sum())
    return 0.0 if rows == base else (int(table.max(axis=1).sum()) - base) / (rows - base)


def _ranks(column: ColumnFacts) -> Codes | None:
    """Each row's place among the column's numbers; None where one of its fields is none."""
    numbers = column.numbers
    if not column.is_number or any(number is None for number in numbers):
        return None
    order = {number: place for place, number in enumerate(sorted({n for n in numbers if n is not None}))}
    table: Any = np.array([order[number] for number in numbers if number is not None], dtype=np.int64)
    taken: Codes = table[column.codes]
    return taken


def _table(rows: Codes, columns: Codes, row_values: int, column_values: int) -> Codes:
    cells = np.bincount(rows * column_values + columns, minlength=row_values * column_values)
    return cells.reshape(row_values, column_values).astype(np.int64)
