"""Figures over the whole database for those who keep it running; none of them is of one hospital, study or job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, func, select, text

from cloud_service.store.tables import JobRow, OutMessage, table_of

_JOBS: Final = table_of(JobRow)
_STATES: Final = select(_JOBS.c.state, func.count().label("jobs")).group_by(_JOBS.c.state)
_OUTBOX: Final = select(func.count()).select_from(table_of(OutMessage))


def jobs_by_state(connection: Connection) -> Mapping[str, int]:
    """How many jobs stand in each state; states of none are left out."""
    return {row.state: row.jobs for row in connection.execute(_STATES)}


def outbox_length(connection: Connection) -> int:
    """Messages that are kept for delivery; retention clears those of old jobs."""
    return int(connection.scalar(_OUTBOX) or 0)


def now(connection: Connection) -> float:
    """The database's own clock, Unix seconds; of SQLite this machine's."""
    if connection.dialect.name == "postgresql":
        return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0.0)
    return float(connection.scalar(text("SELECT (julianday('now') - 2440587.5) * 86400.0")) or 0.0)
