"""How much of the cloud each hospital uses."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BindParameter, Connection, bindparam, func, select

from cloud_service.store.tables import JobMember, JobRow, MessageIn, StoredContribution, table_of
from shared.protocol.states import TERMINAL_CLOUD_STATES

_JOBS, _MEMBERS = table_of(JobRow), table_of(JobMember)
_IN, _KEPT = table_of(MessageIn), table_of(StoredContribution)
_AGENT: Final[BindParameter[str]] = bindparam("agent")
_MESSAGES: Final = (
    select(func.coalesce(func.sum(func.length(_IN.c.raw)), 0))
    .select_from(_MEMBERS)
    .join(_JOBS, _JOBS.c.id == _MEMBERS.c.job)
    .join(_IN, (_IN.c.job == _MEMBERS.c.job) & (_IN.c.sender == _MEMBERS.c.agent))
    .where(_MEMBERS.c.agent == _AGENT, _JOBS.c.cleared.is_(None))
)
_CONTRIBUTIONS: Final = (
    select(func.coalesce(func.sum(func.length(_KEPT.c.raw)), 0))
    .select_from(_MEMBERS)
    .join(_KEPT, (_KEPT.c.job == _MEMBERS.c.job) & (_KEPT.c.agent == _MEMBERS.c.agent))
    .where(_MEMBERS.c.agent == _AGENT)
)
_RUNNING: Final = (
    select(_MEMBERS.c.agent, func.count().label("jobs"))
    .join(_JOBS, _JOBS.c.id == _MEMBERS.c.job)
    .where(
        _JOBS.c.state.not_in([state.value for state in TERMINAL_CLOUD_STATES]),
        _MEMBERS.c.declined.is_(None),
    )
    .group_by(_MEMBERS.c.agent)
)


def kept_bytes(connection: Connection, agent: str) -> int:
    """Bytes of a hospital's messages that are kept, in all jobs that retention has not cleared."""
    total = 0
    for query in (_MESSAGES, _CONTRIBUTIONS):
        total += int(connection.scalar(query, {"agent": agent}) or 0)
    return total


def running_jobs(connection: Connection) -> dict[str, int]:
    """How many jobs that run each hospital is invited to and has not declined."""
    return {row.agent: row.jobs for row in connection.execute(_RUNNING)}
