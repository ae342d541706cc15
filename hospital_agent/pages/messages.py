"""What left this house and what came in, over all jobs and studies: every message by itself, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import FastAPI, Query, Request
from starlette.responses import Response

from hospital_agent.daemon.casework import manifest_of
from hospital_agent.journal import Journal
from hospital_agent.journal.reading import Record, Way, asked_by_round
from hospital_agent.pages.house import House, page
from hospital_agent.pages.leaving import Step, steps_of
from shared.wire.base import MAX_INTEGER
from shared.wire.manifest import Manifest

SHOWN: Final = 50
"""At once."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What the words about a job's messages need. `manifest`: None where the job is forgotten."""

    manifest: Manifest | None
    cells: Mapping[int, int]


def add(pages: FastAPI, house: House) -> None:
    """`/house/messages`."""

    @pages.get("/house/messages")
    def listed(
        request: Request,
        before: Annotated[int | None, Query(ge=0, le=MAX_INTEGER)] = None,
        way: Way | None = None,
        job: Annotated[str, Query(max_length=64)] = "",
    ) -> Response:
        """One page of them."""
        with house.journal() as journal:
            records = house.log.messages(journal, before=before, way=way, job=job, most=SHOWN + 1)
            steps = _steps(house, journal, records[:SHOWN])
        return page(
            request,
            "messages.html",
            active="messages",
            steps=steps,
            way=way,
            job=job,
            is_first=before is None,
            older=steps[-1].number if len(records) > SHOWN else None,
        )


def _steps(house: House, journal: Journal, records: list[Record]) -> list[Step]:
    jobs = {job: _job(house, journal, job) for job in _jobs(records)}
    none = _Job(None, {})
    known = [(record, jobs.get(str(record.get("job")), none)) for record in records]
    return [step for record, job in known for step in steps_of([record], job.manifest, job.cells)]


def _jobs(records: Iterable[Record]) -> set[str]:
    return {str(record["job"]) for record in records if "job" in record}


def _job(house: House, journal: Journal, job: str) -> _Job:
    entry = journal.job(job)
    manifest = None if entry is None else manifest_of(entry)
    return _Job(manifest, asked_by_round(house.log.of_job(journal, job)))
