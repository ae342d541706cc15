"""One job while it runs: where it stands, who is waited for and why, what it costs, and what has happened.

The page asks again whenever the job's story goes on (server-sent events), and every so often besides: so it comes
through a restart of the cloud, another replica and a proxy that holds streams back. Without script it is loaded anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import Depends, Header, Query, Response
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse

from cloud_service.api.events import RETRY_MILLISECONDS, follow
from cloud_service.pages import browser
from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Form, Page, form_may, page_may
from cloud_service.pages.job_view import JobView, view_of
from cloud_service.service.permissions import Permission
from shared.wire.base import MAX_INTEGER

router = page_router()
_EVENTS: Final = 10_000
"""More than a usual job has; of a larger one the page tells the first ones only."""
_STOP_POLLING: Final = 286
"""The status that ends htmx's polling."""
_TOGETHER_SECONDS: Final = 0.4
"""Events that come this close together are one change of the page."""


@router.get("/jobs/{job_id}")
def job(page: Annotated[Page, Depends(page_may(Permission.JOBS_READ))], job_id: str) -> Response:
    """The whole page."""
    return page.show("job.html", active="jobs", view=_view(page, job_id))


@router.get("/jobs/{job_id}/now")
def now(
    page: Annotated[Page, Depends(page_may(Permission.JOBS_READ, is_watching=True))], job_id: str
) -> Response:
    """The part that changes while the job runs."""
    view = _view(page, job_id)
    answer = page.part("job_now.html", view=view)
    if view.is_final:
        answer.status_code = _STOP_POLLING
    return answer


@router.get("/jobs/{job_id}/live")
async def live(
    page: Annotated[Page, Depends(page_may(Permission.JOBS_READ, is_watching=True))],
    job_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_INTEGER)] = 0,
    last_event_id: Annotated[int, Header(ge=0, le=MAX_INTEGER)] = 0,
) -> Response:
    """A stream that says when there is something new, not what: the page asks for that by itself."""
    stream = _changes(page, job_id, max(after, last_event_id))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _changes(page: Page, job_id: str, after: int) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MILLISECONDS)
    session = browser.session_of(page.request)
    async for found in follow(page.request, page.services, job_id, after, session):
        if not found:
            yield format_sse_event(comment="still here")
            continue
        yield format_sse_event(data_str=str(len(found)), event="changed", id=str(found[-1].id))
        await asyncio.sleep(_TOGETHER_SECONDS)


@router.get("/jobs/{job_id}/cancel")
def confirm(page: Annotated[Page, Depends(page_may(Permission.JOBS_WRITE))], job_id: str) -> Response:
    """What cancelling means, before it is done."""
    return page.show("job_cancel.html", active="jobs", view=_view(page, job_id))


@router.post("/jobs/{job_id}/cancel")
def cancel(form: Annotated[Form, Depends(form_may(Permission.JOBS_WRITE))], job_id: str) -> Response:
    """End the job without a tree."""
    form.services.jobs.cancel(job_id, actor=form.caller.name)
    return form.go(f"/jobs/{job_id}", done="job_cancelled")


def _view(page: Page, job_id: str) -> JobView:
    jobs = page.services.jobs
    stored = jobs.get(job_id)
    return view_of(stored, jobs.costs(job_id), jobs.events(job_id, 0, _EVENTS))
