"""Columns that know too much: the class itself under another name, or another column once more.

Counts are of rows, compared with what the most frequent value alone would give, so that a column with one frequent
value does not look like a twin of every other such column.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

import numpy as np

from hospital_agent.records.profile.crossing import Codes, Crossing
from hospital_agent.records.profile.facts import ColumnFacts
from hospital_agent.records.profile.finding import Finding, Weight, drop, finding
from shared.tree.schema import MAX_CLASSES

_TELLS: Final = 0.98
"""Of the rows that the most frequent class leaves over, so many must be told by the column."""
_TWIN: Final = 0.98
_FEWEST_ROWS: Final = 20
_FEW_VALUES: Final = 30
_ROWS_A_VALUE: Final = 5
"""A column with fewer rows a value tells everything by chance."""
_MOST_CELLS: Final = 1 << 25
"""Of a column's texts by classes; beyond that a column has nearly a value for each row and is not compared."""


def leaking(facts: Sequence[ColumnFacts], target: ColumnFacts, rows: Crossing) -> list[Finding]:
    """Columns of which one value means one class nearly always; of numbers, where one cut parts two classes."""
    found = []
    for column in facts:
        share = _told(column, target, rows)
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


def twins(facts: Sequence[ColumnFacts], rows: Crossing) -> list[Finding]:
    """Columns that say what an earlier one says: value for value, or in another unit."""
    found: list[Finding] = []
    steps = [_steps(column) for column in facts]
    for later, column in enumerate(facts):
        earlier = zip(facts[:later], steps, strict=False)
        twin = next((one for one, its in earlier if _are_twins(one, column, its, steps[later], rows)), None)
        if twin is not None:
            found.append(
                finding(
                    "same-as",
                    Weight.LOOK,
                    (column.name,),
                    advice=(drop(column.name),),
                    other=repr(twin.name),
                )
            )
    return found


def _told(column: ColumnFacts, target: ColumnFacts, crossing: Crossing) -> float | None:
    """Of the rows beside the most frequent class, the share that the column tells right; None where it cannot say."""
    rows, base = target.rows, max(target.counts)
    if rows < _FEWEST_ROWS or base == rows or column.different < 2 or target.different > MAX_CLASSES:
        return None
    if not (column.is_whole and target.is_whole) or len(column.values) * len(target.values) > _MOST_CELLS:
        return None
    by_value = column.different * _ROWS_A_VALUE <= rows
    if not by_value and not column.is_number:
        return None
    table = crossing.table(column, target)
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


def _steps(column: ColumnFacts) -> list[int]:
    """Rows of each different number, ascending; nothing where a field is none, or not all texts are known."""
    return [count for _, count in column.measured()] if column.has_numbers_only and column.is_whole else []


def _are_twins(
    a: ColumnFacts, b: ColumnFacts, steps_a: list[int], steps_b: list[int], rows: Crossing
) -> bool:
    # Columns that rise together have as many rows at each step, which most pairs have not.
    may_rise = a.different > 2 and bool(steps_a) and steps_a in (steps_b, steps_b[::-1])
    if may_rise and rows.rise_together(a, b):
        return True
    if not (2 <= a.different <= _FEW_VALUES and a.different == b.different and a.rows >= _FEWEST_ROWS):
        return False
    if not _might_agree(a, b):
        return False
    table = rows.table(a, b)
    return min(_agreement(table), _agreement(table.T)) >= _TWIN


def _might_agree(a: ColumnFacts, b: ColumnFacts) -> bool:
    """Whether their values are about as frequent, without which no table of the two can reach `_TWIN`.

    Where each tells the other but for a share of the rows, values taken by frequency differ in few times that share.
    """
    pairs = zip_longest(sorted(a.counts, reverse=True), sorted(b.counts, reverse=True), fillvalue=0)
    return sum(abs(one - other) for one, other in pairs) <= 6 * (1 - _TWIN) * a.rows


def _agreement(table: Codes) -> float:
    """Goodman and Kruskal's lambda: how much better the column's value is guessed when the row's is known."""
    base, rows = int(table.sum(axis=0).max()), int(table.sum())
    return 0.0 if rows == base else (int(table.max(axis=1).sum()) - base) / (rows - base)
