"""Lists of jobs that go on: which wait for somebody, and how many there are, worked out where the rows are."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, literal, or_, select

from cloud_service.store.jobs import StoredJob, stored_all
from cloud_service.store.tables import JobMember, JobRow, table_of
from shared.protocol.states import TERMINAL_CLOUD_STATES, CloudState

_JOBS: Final = table_of(JobRow)
_MEMBERS: Final = table_of(JobMember)
_J, _M = _JOBS.c, _MEMBERS.c
_OVER: Final = [state.value for state in TERMINAL_CLOUD_STATES]
# The roster is a JSON list of ids of [a-z0-9-], so a quoted id is found exactly.
_IN_ROSTER: Final = _J.roster.contains(literal('"').concat(_M.agent).concat('"'))


def _lacks(*words: ColumnElement[Any]) -> ColumnElement[bool]:
    silent = [word.is_(None) for word in words]
    return select(_M.agent).where(_M.job == _J.id, *silent).correlate(_JOBS).exists()


def _lacks_of_roster(word: ColumnElement[Any]) -> ColumnElement[bool]:
    return select(_M.agent).where(_M.job == _J.id, word.is_(None), _IN_ROSTER).correlate(_JOBS).exists()


_WAITS: Final = or_(
    and_(_J.state == CloudState.INVITING.value, _lacks(_M.accept, _M.declined)),
    and_(_J.state == CloudState.COLLECTING.value, _lacks_of_roster(_M.contributed)),
    and_(_J.state == CloudState.OPENING.value, _lacks_of_roster(_M.partial)),
    and_(
        _J.state.in_([CloudState.DECIDING.value, CloudState.COMPUTING.value]), _lacks_of_roster(_M.decision)
    ),
)
"""Whether `shared.protocol.job.Job.waiting_for` names anybody."""


def living(connection: Connection, *, is_waiting: bool, limit: int, hospital: str | None) -> list[StoredJob]:
    """Jobs that are not over, the newest first. Args: is_waiting: those that wait for a hospital, or the others."""
    query = _of(select(_JOBS), hospital).where(_J.state.not_in(_OVER), _WAITS if is_waiting else ~_WAITS)
    rows = connection.execute(query.order_by(_J.created.desc(), _J.id.desc()).limit(limit)).all()
    return stored_all(connection, rows)


def count_living(connection: Connection, hospital: str | None) -> tuple[int, int]:
    """How many wait for a hospital, and how many go on without one."""
    waiting = func.coalesce(func.sum(case((_WAITS, 1), else_=0)), 0)
    query = _of(select(waiting, func.count()), hospital).select_from(_JOBS).where(_J.state.not_in(_OVER))
    waits, all_of_them = connection.execute(query).one()
    return int(waits), int(all_of_them) - int(waits)


def finished(connection: Connection, *, limit: int, hospital: str | None) -> list[StoredJob]:
    """Jobs that are over, from the one that ended last on."""
    query = _of(select(_JOBS), hospital).where(_J.finished.is_not(None))
    rows = connection.execute(query.order_by(_J.finished.desc(), _J.id.desc()).limit(limit)).all()
    return stored_all(connection, rows)


def _of(query: Select[Any], hospital: str | None) -> Select[Any]:
    return query if hospital is None else query.where(_J.id.in_(select(_M.job).where(_M.agent == hospital)))
