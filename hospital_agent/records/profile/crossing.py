"""How columns go together over the rows: what needs all rows at once, asked of memory here or of an engine.

The rules put the same questions to both (`in_engine`), so that a finding does not depend on where the records are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.profile.facts import ColumnFacts

Codes = NDArray[np.int64]
_KEY_BOUND: Final = 1 << 62


class Crossing(Protocol):
    """The rows of a table, asked about columns whose texts are all known (`ColumnFacts.is_whole`)."""

    def table(self, a: ColumnFacts, b: ColumnFacts) -> Codes:
        """Rows with each pair of texts, shape (texts of a, texts of b)."""
        ...

    def rise_together(self, a: ColumnFacts, b: ColumnFacts) -> bool:
        """Whether one column of numbers rises, or falls, exactly with the other; neither has a field without one."""
        ...

    def repeats(self, columns: Sequence[ColumnFacts]) -> int:
        """Rows beyond the first of those that are the same in all columns."""
        ...

    def contradicting(self, attributes: Sequence[ColumnFacts], target: ColumnFacts) -> int:
        """Rows that have a twin with the same attributes and another class."""
        ...

    def repeated(self, column: ColumnFacts) -> int:
        """Rows whose text of the column, not the empty one, another row has too."""
        ...


class InMemory:
    """Implements `Crossing` by the codes of each row."""

    def table(self, a: ColumnFacts, b: ColumnFacts) -> Codes:
        """As `Crossing`."""
        sizes = len(a.values), len(b.values)
        cells = np.bincount(a.codes * sizes[1] + b.codes, minlength=sizes[0] * sizes[1])
        return cells.reshape(sizes).astype(np.int64)

    def rise_together(self, a: ColumnFacts, b: ColumnFacts) -> bool:
        """As `Crossing`."""
        ranks_a, ranks_b = a.ranks()[a.codes], b.ranks()[b.codes]
        return np.array_equal(ranks_a, ranks_b) or np.array_equal(ranks_a, ranks_b.max(initial=0) - ranks_b)

    def repeats(self, columns: Sequence[ColumnFacts]) -> int:
        """As `Crossing`."""
        return columns[0].rows - len(np.unique(row_keys(columns)))

    def contradicting(self, attributes: Sequence[ColumnFacts], target: ColumnFacts) -> int:
        """As `Crossing`."""
        _, alike = np.unique(row_keys(attributes), return_inverse=True)
        labels = len(target.values)
        classes = np.bincount(np.unique(alike * labels + target.codes) // labels)
        return int((classes[alike] > 1).sum())

    def repeated(self, column: ColumnFacts) -> int:
        """As `Crossing`."""
        pairs = zip(column.values, column.counts, strict=True)
        return sum(count for value, count in pairs if value and count > 1)


def row_keys(facts: Sequence[ColumnFacts]) -> Codes:
    """A number a row, equal exactly where all columns are.

    Codes are digits of one number; where it would not fit 62 bits, the numbers so far become their ranks, which
    are fewer than rows. Sorting is what costs, so it is done as seldom as can be.
    """
    keys: Codes = np.zeros(facts[0].rows, dtype=np.int64)
    bound = 1
    for column in facts:
        size = len(column.values)
        if bound * size >= _KEY_BOUND:
            _, keys = np.unique(keys, return_inverse=True)
            bound = facts[0].rows
        keys = keys * size + column.codes
        bound *= size
    return keys
