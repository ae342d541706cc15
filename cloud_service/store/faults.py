"""What went wrong last between the cloud and each hospital, as the messages of the newest jobs tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, select

from cloud_service.store.tables import JobEvent, JobRow, MessageIn, table_of

_MESSAGES: Final = table_of(MessageIn)
_EVENTS: Final = table_of(JobEvent)
_JOBS: Final = table_of(JobRow)
_M, _E, _J = _MESSAGES.c, _EVENTS.c, _JOBS.c
_GAVE_UP: Final = "aborted_by"
NEWEST_JOBS: Final = 100
"""Older jobs are not looked at: a fault of then is no news, and retention clears their messages."""

# Both tables are looked up by job, so that what is read does not grow with all jobs that there ever were.
_NEWEST: Final = select(_J.id).order_by(_J.created.desc(), _J.id.desc()).limit(bindparam("jobs"))
_REFUSED: Final = select(_M.sender, _M.refused, _M.received, _M.job).where(
    _M.job.in_(_NEWEST), _M.refused.is_not(None)
)
_GIVEN_UP: Final = select(_E.data, _E.time, _E.job).where(_E.job.in_(_NEWEST), _E.kind == _GAVE_UP)


@dataclass(frozen=True, slots=True)
class Fault:
    """`code`: of a refusal by the cloud, or with which the hospital gave a job up. `time`: Unix seconds."""

    code: str
    time: int
    job: str
    is_given_up: bool


def latest(connection: Connection, jobs: int = NEWEST_JOBS) -> Mapping[str, Fault]:
    """By hospital, its newest fault in the newest jobs."""
    found: dict[str, Fault] = {}
    bound = {"jobs": jobs}
    told = [(row.sender, _refusal(row)) for row in connection.execute(_REFUSED, bound)]
    told += [_end(row) for row in connection.execute(_GIVEN_UP, bound)]
    for agent, fault in sorted(told, key=lambda one: one[1].time):
        found[agent] = fault
    return found


def _refusal(row: Row[*tuple[Any, ...]]) -> Fault:
    return Fault(row.refused, row.received, row.job, is_given_up=False)


def _end(row: Row[*tuple[Any, ...]]) -> tuple[str, Fault]:
    data = json.loads(row.data)
    return str(data["hospital"]), Fault(str(data["code"]), row.time, row.job, is_given_up=True)
