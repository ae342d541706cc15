"""The list of jobs, with where each stands in words."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Query, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.pages.wording import job_line
from cloud_service.service.permissions import Permission
from shared.ids import HEX_16_PATTERN
from shared.protocol.states import CloudState

router = page_router()
_PAGE: Final = 50
_CHOICES: Final = 100
_SHOWN: Final = ("INVITING", "COLLECTING", "OPENING", "DECIDING", "COMPUTING", "DONE", "FAILED", "CANCELLED")


@router.get("/jobs")
def jobs(
    page: Annotated[Page, Depends(page_may(Permission.JOBS_READ))],
    study: Annotated[str, Query(pattern=r"^[a-z0-9-]{0,64}$")] = "",
    state: Annotated[str, Query(pattern="^[A-Z]{0,20}$")] = "",
    before: Annotated[str | None, Query(pattern=HEX_16_PATTERN)] = None,
) -> Response:
    """Jobs from the newest on, those of one study or state where one was chosen."""
    services, caller = page.services, page.caller
    if before is not None:
        services.sight.job(caller, before)
    wanted = CloudState(state) if state in set(CloudState) else None
    found = services.jobs.page(
        study=study or None, state=wanted, before=before, limit=_PAGE, hospital=caller.hospital
    )
    return page.show(
        "jobs.html",
        active="jobs",
        lines=[job_line(stored) for stored in found],
        studies=_studies(page),
        states=_SHOWN,
        study=study,
        state=state,
        following=found[-1].job.manifest.job if len(found) == _PAGE else None,
    )


def _studies(page: Page) -> list[str]:
    """Ids to choose from; none where there are too many for that, and one is typed."""
    found = page.services.study_lists.page("all", hospital=page.caller.hospital, limit=_CHOICES + 1)
    return sorted(one.id for one in found) if len(found) <= _CHOICES else []
