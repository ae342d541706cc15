"""Contingency tables: how many records of a node have value v of one attribute and class c.

Cells are Python integers of any size. A table's `repr` shows its shape only: counts appear in no log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, repr=False)
class ContingencyTable:
    """Counts `rows[v][c]`, shape values x classes."""

    rows: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, rows: Iterable[Iterable[int]]) -> ContingencyTable:
        """A table from any nesting of integers, row by row."""
        return cls(tuple(tuple(row) for row in rows))

    @classmethod
    def from_cells(cls, cells: Sequence[int], classes: int) -> ContingencyTable:
        """A table from cells in row-major order, `classes` to a row; their number is a multiple of it."""
        source: Iterator[int] = iter(cells)
        return cls(tuple(zip(*([source] * classes), strict=True)))

    def __repr__(self) -> str:
        return f"ContingencyTable({len(self.rows)} values x {len(self.rows[0]) if self.rows else 0} classes)"

    @property
    def row_totals(self) -> tuple[int, ...]:
        """Records per value."""
        return tuple(map(sum, self.rows))

    @property
    def class_totals(self) -> tuple[int, ...]:
        """Records per class."""
        return tuple(map(sum, zip(*self.rows, strict=True)))

    @property
    def total(self) -> int:
        """Records of the node."""
        return sum(map(sum, self.rows))

    def plus(self, other: ContingencyTable) -> ContingencyTable:
        """Cell by cell sum of two tables of equal shape."""
        return ContingencyTable(
            tuple(
                tuple(a + b for a, b in zip(mine, theirs, strict=True))
                for mine, theirs in zip(self.rows, other.rows, strict=True)
            )
        )

    def weighed(self, weights: Sequence[int]) -> ContingencyTable:
        """Each record of class c counted `weights[c]` times."""
        return ContingencyTable(
            tuple(
                tuple(cell * weight for cell, weight in zip(row, weights, strict=True)) for row in self.rows
            )
        )

    def minus(self, other: ContingencyTable) -> ContingencyTable:
        """Cell by cell difference of two tables of equal shape; cells may come out negative."""
        return ContingencyTable(
            tuple(
                tuple(a - b for a, b in zip(mine, theirs, strict=True))
                for mine, theirs in zip(self.rows, other.rows, strict=True)
            )
        )
