"""A request to start a job, known by a key of who asks: asked twice, it starts one job."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Self

from sqlalchemy import Connection

from cloud_service.service.planning import JobPlan
from cloud_service.service.refusals import ConflictError
from cloud_service.store import planning

KEY_PATTERN: Final = r"^[!-~]{1,64}$"
"""Printable, without blanks: a UUID is one."""


@dataclass(frozen=True, slots=True)
class Request:
    """`sha256`: of what is asked."""

    actor: str
    key: str
    sha256: str

    @classmethod
    def of(cls, actor: str, key: str, study: str, plan: JobPlan) -> Self:
        """The request for this job under a study."""
        return cls(actor, key, hashlib.sha256(repr((study, plan)).encode()).hexdigest())

    def job(self, connection: Connection) -> str | None:
        """The job that it has begun already. Raises: ConflictError: under this key something else was asked."""
        row = planning.request(connection, self.actor, self.key)
        if row is None:
            return None
        if row.sha256 != self.sha256:
            raise ConflictError(
                f"the key of this request belongs to job {row.job}, which was asked for with other rules; "
                "send a new key for a new job"
            )
        job: str = row.job
        return job

    def keep(self, connection: Connection, job: str, now: int) -> None:
        """Note that it has begun this job. Raises: IntegrityError: the same request was quicker elsewhere."""
        planning.add_request(connection, self.actor, self.key, self.sha256, job, now)
