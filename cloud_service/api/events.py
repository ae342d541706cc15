"""A job's story as it happens: server-sent events for browsers, pages of JSON for everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.sse import format_sse_event
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from cloud_service.api.answers import json_answer
from cloud_service.api.caller import Credentials, Use, may
from cloud_service.api.job_models import EventList, event_of
from cloud_service.api.problems import responses
from cloud_service.service.notifier import story_of
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.services import Services
from cloud_service.store.journal import Event
from shared.wire.base import MAX_INTEGER

router = APIRouter(tags=["people"])
_PAGE: Final = 200
_KEEP_ALIVE_SECONDS: Final = 15.0
RETRY_MILLISECONDS: Final = 2000
"""After which a browser that lost its stream comes again."""
_STREAM: Final = "text/event-stream"


@router.get(
    "/v1/jobs/{job_id}/events",
    summary="Watch a job",
    response_model=EventList,
    responses={
        200: {
            "description": f"A page of events, or with `Accept: {_STREAM}` a stream that stays open",
            "content": {_STREAM: {"schema": {"type": "string"}}},
        },
        **responses(401, 403, 404, 422, 429, 503),
    },
)
async def events(
    request: Request,
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.JOBS_READ))],
    credentials: Credentials,
    job_id: str,
    after: Annotated[int, Query(ge=0, le=MAX_INTEGER, description="Id of the last event seen.")] = 0,
    wait: Annotated[float, Query(ge=0, le=60, description="Of a page: seconds to wait for news.")] = 0,
    last_event_id: Annotated[int, Header(ge=0, le=MAX_INTEGER)] = 0,
) -> Response:
    """Who accepted, contributed and decided, and which round is open; ids, rounds and sizes only."""
    start = max(after, last_event_id)
    # Asked once before the answer begins, so that an unknown job is a problem document in either form.
    await run_in_threadpool(services.jobs.events, job_id, start, 1)
    if _STREAM in request.headers.get("accept", ""):
        bearer = "" if credentials is None else credentials.credentials
        stream = _stream(request, services, job_id, start, bearer)
        return StreamingResponse(stream, media_type=_STREAM, headers={"Cache-Control": "no-store"})
    return json_answer(request, await _page(services, job_id, start, wait))


async def _page(services: Services, job_id: str, after: int, wait: float) -> bytes:
    loop = asyncio.get_running_loop()
    end = loop.time() + min(wait, services.settings.max_wait_seconds)
    with services.notifier.listening(story_of(job_id)) as news:
        while True:
            news.clear()
            found = await run_in_threadpool(services.jobs.events, job_id, after, _PAGE)
            left = end - loop.time()
            if found or left <= 0 or services.notifier.is_closed:
                return EventList(events=[event_of(event) for event in found]).model_dump_json().encode()
            await services.notifier.wait(news, left)


async def _stream(
    request: Request, services: Services, job_id: str, after: int, bearer: str
) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MILLISECONDS)
    async for found in follow(request, services, job_id, after, bearer):
        for event in found:
            data = event_of(event).model_dump_json()
            yield format_sse_event(data_str=data, event=event.kind, id=str(event.id))
        if not found:
            yield format_sse_event(comment="still here")


async def follow(
    request: Request, services: Services, job_id: str, after: int, bearer: str
) -> AsyncIterator[list[Event]]:
    """A job's events as they happen, some at a time, and an empty list where nothing has happened for a while.

    Until the job's watcher goes, is let in no more, or the cloud stops. Args: bearer: the watcher's token or session.
    """
    loop = asyncio.get_running_loop()
    let_in_at = loop.time()
    with services.notifier.listening(story_of(job_id)) as news:
        while not services.notifier.is_closed and not await request.is_disconnected():
            news.clear()
            if loop.time() - let_in_at >= _KEEP_ALIVE_SECONDS:
                if not await run_in_threadpool(services.access.is_let_in, bearer):
                    return
                let_in_at = loop.time()
            found = await run_in_threadpool(services.jobs.events, job_id, after, _PAGE)
            if found:
                after = found[-1].id
                yield found
                continue
            await services.notifier.wait(news, _KEEP_ALIVE_SECONDS)
            if not news.is_set():
                yield []
