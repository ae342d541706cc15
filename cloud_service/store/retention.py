"""Deleting what a finished job no longer needs: its messages and its story, in batches that hold no lock for long.

What stays: the job, its members' signed answers and decisions, its log, ledger, costs, evidence, hashes and trees.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, delete, exists, select, update

from cloud_service.store.tables import Delivery, JobEvent, JobRow, MessageIn, OutMessage, table_of
from shared.ids import JobId
from shared.protocol.states import TERMINAL_CLOUD_STATES

BATCH: Final = 500
"""Rows of one kind that one transaction deletes."""

_JOBS, _IN, _OUT = table_of(JobRow), table_of(MessageIn), table_of(OutMessage)
_DELIVERIES, _EVENTS = table_of(Delivery), table_of(JobEvent)
_OVER: Final = _JOBS.c.state.in_([state.value for state in TERMINAL_CLOUD_STATES]) & _JOBS.c.cleared.is_(None)
_DUE: Final = (
    select(_JOBS.c.id)
    .where(_OVER, _JOBS.c.finished < bindparam("before"))
    .order_by(_JOBS.c.finished)
    .limit(bindparam("count"))
)
_OF_STUDY: Final = select(_JOBS.c.id, _JOBS.c.state, _JOBS.c.cleared).where(
    _JOBS.c.study == bindparam("study")
)
_OUT_IDS: Final = select(_OUT.c.id).where(_OUT.c.job == bindparam("key_job")).order_by(_OUT.c.id).limit(BATCH)
_IN_IDS: Final = select(_IN.c.id).where(_IN.c.job == bindparam("key_job")).order_by(_IN.c.id).limit(BATCH)
_EVENT_IDS: Final = (
    select(_EVENTS.c.id).where(_EVENTS.c.job == bindparam("key_job")).order_by(_EVENTS.c.id).limit(BATCH)
)
_STATEMENTS: Final = (
    delete(_DELIVERIES).where(_DELIVERIES.c.message.in_(_OUT_IDS.scalar_subquery())),
    delete(_OUT).where(
        _OUT.c.id.in_(_OUT_IDS.scalar_subquery()),
        ~exists().where(_DELIVERIES.c.message == _OUT.c.id).correlate(_OUT),
    ),
    delete(_IN).where(_IN.c.id.in_(_IN_IDS.scalar_subquery())),
    delete(_EVENTS).where(_EVENTS.c.id.in_(_EVENT_IDS.scalar_subquery())),
)


def due(connection: Connection, before: int, count: int) -> list[JobId]:
    """Jobs that ended before that time (Unix seconds) and still have their messages, the oldest first."""
    return [JobId(job) for job in connection.scalars(_DUE, {"before": before, "count": count})]


def jobs_of(connection: Connection, study: str) -> list[JobId]:
    """All jobs of a study whose messages are still here."""
    rows = connection.execute(_OF_STUDY, {"study": study})
    return [JobId(row.id) for row in rows if row.cleared is None]


def clear_batch(connection: Connection, job: str) -> bool:
    """Delete some of a job's messages and events; whether there may be more."""
    return sum(connection.execute(statement, {"key_job": job}).rowcount for statement in _STATEMENTS) > 0


def mark_cleared(connection: Connection, job: str, now: int) -> bool:
    """Note that a finished job has no more messages; whether this call did it."""
    query = update(_JOBS).where(_JOBS.c.id == job, _OVER).values(cleared=now)
    return connection.execute(query).rowcount > 0


def is_over(connection: Connection, job: str) -> bool | None:
    """Whether a job is over; None: there is no such job."""
    state = connection.scalar(select(_JOBS.c.state).where(_JOBS.c.id == job))
    return None if state is None else state in {known.value for known in TERMINAL_CLOUD_STATES}
