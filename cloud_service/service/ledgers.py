"""Who learned what by a job, at the cloud: the forecast from its manifest, the fact from its log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from cloud_service.service.quality import document_of
from cloud_service.service.refusals import UnknownThingError
from cloud_service.store import jobs, journal
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.protocol.disclosure import Ledger, forecast
from shared.protocol.disclosure_facts import course_of, fact
from shared.protocol.quality import published_kind


@dataclass(frozen=True, slots=True)
class JobLedger:
    """Both ledgers of a job. `state`: where it stands. `costs`: messages and bytes by kind. Times: Unix seconds."""

    state: str
    forecast: Ledger
    fact: Ledger
    log_head: str
    log_records: int
    created: int
    finished: int | None
    costs: tuple[journal.Cost, ...]

    def to_json(self) -> dict[str, Any]:
        """The machine-readable document."""
        return {
            "state": self.state,
            "created": self.created,
            "finished": self.finished,
            "forecast": self.forecast.to_json(),
            "fact": self.fact.to_json(),
            "log": {"head": self.log_head, "records": self.log_records},
            "bytes": {
                cost.kind: {"messages": cost.count, "bytes": cost.amount}
                for cost in self.costs
                if not cost.kind.startswith("cpu:")
            },
        }


@dataclass(frozen=True, slots=True)
class Ledgers:
    """Read only."""

    database: Database

    def of_job(self, job_id: str) -> JobLedger:
        """The ledgers of a job as it stands. Raises: UnknownThingError."""
        with self.database.read() as connection:
            stored = jobs.load(connection, job_id)
            if stored is None:
                raise UnknownThingError("there is no such job")
            return ledger_of(connection, stored)


def ledger_of(connection: Connection, stored: StoredJob) -> JobLedger:
    """The ledgers of a job, in an open transaction."""
    job = stored.job
    course = course_of([json.loads(entry.record) for entry in journal.audit(connection, job.manifest.job)])
    course.roster = tuple(map(str, job.roster))
    bodies = {str(a): m.accept.envelope.body for a, m in job.members.items() if m.accept is not None}
    course.records = {
        agent: int(body["records"])
        for agent, body in bodies.items()
        if agent in course.roster and body.get("records") is not None
    }
    return JobLedger(
        state=job.state.value,
        forecast=forecast(job.manifest, published_kind(document_of(connection, job.manifest), job.manifest)),
        fact=fact(job.manifest, course),
        log_head=job.head,
        log_records=stored.audited,
        created=stored.created,
        finished=stored.finished,
        costs=tuple(journal.costs(connection, job.manifest.job)),
    )
