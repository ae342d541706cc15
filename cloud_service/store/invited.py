"""What a hospital was invited to."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, bindparam, select

from cloud_service.store import governance
from cloud_service.store.tables import JobMember, JobRow, table_of

_JOBS: Final = table_of(JobRow)
_MEMBERS: Final = table_of(JobMember)
_J, _M = _JOBS.c, _MEMBERS.c

_TO_JOB: Final = select(_M.job).where(_M.job == bindparam("job"), _M.agent == bindparam("agent"))
_STUDIES: Final = (
    select(_J.study).join(_MEMBERS, _M.job == _J.id).where(_M.agent == bindparam("agent")).distinct()
)


def to_job(connection: Connection, agent: str, job_id: str) -> bool:
    """Whether the job invites the hospital."""
    return connection.scalar(_TO_JOB, {"job": job_id, "agent": agent}) is not None


def studies(connection: Connection, agent: str) -> frozenset[str]:
    """Studies whose document, or a job under which, invites the hospital."""
    of_jobs = connection.scalars(_STUDIES, {"agent": agent})
    return governance.studies_of(connection, agent).union(of_jobs)
