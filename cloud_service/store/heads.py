"""The last claim of each hospital about its own log, job by job: what a later claim must not contradict."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from cloud_service.store.tables import AgentHead, AuditRecord, table_of

_HEADS: Final = table_of(AgentHead)
_AUDIT: Final = table_of(AuditRecord)
_H, _A = _HEADS.c, _AUDIT.c
_MINE: Final = (_H.job == bindparam("key_job")) & (_H.agent == bindparam("key_agent"))
_KNOWN: Final = select(_H.job, _H.number, _H.head).where(
    _H.agent == bindparam("agent"), or_(_H.job == bindparam("job"), _H.number == bindparam("number"))
)
_IN_CHAIN: Final = select(_A.number).where(_A.job == bindparam("job"), _A.hash == bindparam("hash")).limit(1)


def is_contradicted(connection: Connection, job: str, agent: str, number: int, head: str) -> bool:
    """Whether the hospital has claimed another head for the same record, in any job, or a later record in this job."""
    rows = connection.execute(_KNOWN, {"agent": agent, "job": job, "number": number}).all()
    return any(
        row.head != head if row.number == number else row.job == job and row.number > number for row in rows
    )


def keep(connection: Connection, job: str, agent: str, number: int, head: str) -> None:
    """Its newest claim in this job."""
    key = {"key_job": job, "key_agent": agent}
    changed = connection.execute(update(_HEADS).where(_MINE).values(number=number, head=head), key)
    if not changed.rowcount:
        connection.execute(insert(_HEADS), {"job": job, "agent": agent, "number": number, "head": head})


def is_of_job(connection: Connection, job: str, head: str) -> bool:
    """Whether the job's log once had this head."""
    return connection.scalar(_IN_CHAIN, {"job": job, "hash": head}) is not None
