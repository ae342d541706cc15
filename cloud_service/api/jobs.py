"""Jobs: start, look, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query

from cloud_service.api.caller import Use, may
from cloud_service.api.job_models import JobList, JobOut, job_of, summary_of
from cloud_service.api.job_requests import JobIn
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.requests import KEY_PATTERN
from shared.ids import HEX_16_PATTERN, ID_PATTERN
from shared.protocol.states import CloudState

router = APIRouter(tags=["people"])


@router.post(
    "/v1/studies/{study_id}/jobs",
    status_code=201,
    summary="Start a job",
    responses=responses(400, 401, 403, 404, 409, 422, 429, 503),
)
def start(
    services: Use,
    caller: Annotated[Caller, Depends(may(Permission.JOBS_WRITE))],
    study_id: str,
    plan: JobIn,
    idempotency_key: Annotated[
        str | None,
        Header(
            pattern=KEY_PATTERN, description="Of your choice: the same request again starts no second job"
        ),
    ] = None,
) -> JobOut:
    """Invite hospitals to grow one tree under a study. Their agents decide by their own policies."""
    begun = services.jobs.start(
        services.studies.get(study_id), plan.plan(), actor=caller.name, key=idempotency_key
    )
    return job_of(begun.stored, begun.costs)


@router.get("/v1/jobs", summary="List jobs", responses=responses(401, 403, 404, 422, 429, 503))
def jobs(
    services: Use,
    caller: Annotated[Caller, Depends(may(Permission.JOBS_READ))],
    study: Annotated[str | None, Query(pattern=ID_PATTERN)] = None,
    state: CloudState | None = None,
    before: Annotated[
        str | None, Query(pattern=HEX_16_PATTERN, description="`next` of the page before")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> JobList:
    """Jobs from the newest on."""
    if before is not None:
        services.sight.job(caller, before)
    found = services.jobs.page(study=study, state=state, before=before, limit=limit, hospital=caller.hospital)
    following = found[-1].job.manifest.job if len(found) == limit else None
    return JobList(jobs=[summary_of(stored) for stored in found], next=following)


@router.get("/v1/jobs/{job_id}", summary="One job", responses=responses(401, 403, 404, 429, 503))
def job(services: Use, _caller: Annotated[Caller, Depends(may(Permission.JOBS_READ))], job_id: str) -> JobOut:
    """State, round, who is waited for, since when and until when, and what it has cost."""
    return job_of(services.jobs.get(job_id), services.jobs.costs(job_id))


@router.post(
    "/v1/jobs/{job_id}/cancel", summary="Cancel a job", responses=responses(401, 403, 404, 409, 429, 503)
)
def cancel(
    services: Use, caller: Annotated[Caller, Depends(may(Permission.JOBS_WRITE))], job_id: str
) -> JobOut:
    """End a job without a tree; every agent is told."""
    cancelled = services.jobs.cancel(job_id, actor=caller.name)
    return job_of(cancelled.stored, cancelled.costs)
