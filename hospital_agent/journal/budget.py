"""The privacy budget in the journal: what each noisy round has told of the records, written before it is sent.

A line is never changed or removed, not even when its job is forgotten, so what is spent only grows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from shared.secure_tree.privacy import cost

_COLUMNS: Final = "records_identity, job, study, round, attempt, cells, sigma_squared, spent"


@dataclass(frozen=True, slots=True)
class Spending:
    """One contribution with noise. `cells`: what one record changes in it. `time`: Unix seconds."""

    records_identity: str
    job: str
    study: str
    round: int
    attempt: int
    cells: int
    sigma_squared: int
    time: int

    @property
    def rho(self) -> Fraction:
        """Its cost in zCDP."""
        return cost(self.sigma_squared, self.cells)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of one journal; writing joins the transaction that is open there."""

    connection: sqlite3.Connection = field(repr=False)

    def spend(self, spending: Spending) -> None:
        """Write a line; the same contribution is not charged twice."""
        values = (
            spending.records_identity,
            spending.job,
            spending.study,
            spending.round,
            spending.attempt,
            spending.cells,
            spending.sigma_squared,
            spending.time,
        )
        marks = ", ".join("?" for _ in values)
        self.connection.execute(
            f"INSERT OR IGNORE INTO privacy_spendings ({_COLUMNS}) VALUES ({marks})",  # noqa: S608 - constants only
            values,
        )

    def lines(self, records_identity: str | None = None) -> list[Spending]:
        """All lines in the order of spending, or those over the same records."""
        rows: Sequence[Sequence[object]] = self.connection.execute(
            f"SELECT {_COLUMNS} FROM privacy_spendings "  # noqa: S608 - constants only
            "WHERE ?1 IS NULL OR records_identity = ?1 ORDER BY rowid",
            (records_identity,),
        ).fetchall()
        return [Spending(*row) for row in rows]  # type: ignore[arg-type]

    def jobs_without_noise(self, records_identity: str) -> list[str]:
        """Jobs over these records whose results were seen and are in no budget."""
        rows = self.connection.execute(
            "SELECT DISTINCT job FROM seen_rosters WHERE records_identity = ? "
            "AND job NOT IN (SELECT job FROM privacy_spendings) ORDER BY job",
            (records_identity,),
        )
        return [job for (job,) in rows]


def total(lines: Iterable[Spending]) -> Fraction:
    """rho of all of them together."""
    return sum((line.rho for line in lines), Fraction(0))
