"""Messages and stories of jobs that ended long ago are deleted by any replica, and noted as an act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from cloud_service.service import acts
from cloud_service.service.each_job import for_each_job
from cloud_service.service.refusals import ConflictError, UnknownThingError
from cloud_service.store import retention
from cloud_service.store.database import Database
from shared.ids import JobId

_log = structlog.get_logger()
RETENTION_SECONDS: Final = 60.0
_DAY_SECONDS: Final = 86_400
_JOBS_A_TURN: Final = 10


@dataclass(frozen=True, slots=True)
class Retention:
    """`days` after its end a job's messages go; 0 keeps them for ever."""

    database: Database
    days: int
    clock: Callable[[], int]

    def keep(self) -> int:
        """One turn; the number of jobs that were cleared."""
        if self.days == 0:
            return 0
        with self.database.read() as connection:
            found = retention.due(connection, self.clock() - self.days * _DAY_SECONDS, _JOBS_A_TURN)
        cleared = for_each_job(found, lambda job: self.clear(job, acts.PROGRAM))
        if cleared:
            self.database.forget_deleted()
            self.database.give_back_space()
        return cleared

    def clear(self, job: JobId, actor: str) -> bool:
        """Delete the messages and events of a job that is over; whether this call ended it.

        Raises: UnknownThingError. ConflictError: the job is not over.
        """
        with self.database.read() as connection:
            over = retention.is_over(connection, job)
        if over is None:
            raise UnknownThingError("there is no such job")
        if not over:
            raise ConflictError("the job is not over; cancel it first, or wait for its end")
        more = True
        while more:
            with self.database.write() as connection:
                more = retention.clear_batch(connection, job)
        now = self.clock()
        with self.database.write() as connection:
            done = retention.mark_cleared(connection, job, now)
            if done:
                acts.record(connection, actor=actor, act="messages_deleted", subject=job, now=now)
        if done:
            _log.info("messages deleted", job=job)
        return done
