"""The inbox of agents: a long poll that ends as soon as something is there."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from cloud_service.api.answers import json_answer
from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from cloud_service.service.inbox import as_json
from cloud_service.service.notifier import inbox_of
from cloud_service.service.services import Services
from cloud_service.store.outbox import InboxMessage
from shared.ids import AgentId
from shared.protocol.history import FORGOTTEN_HEADER, MAX_HEADER_BYTES, SEEN_HEADER
from shared.protocol.polling import STUDIES_HEADER
from shared.wire.base import MAX_INTEGER

router = APIRouter(tags=["agents"])
_HEADER_BYTES: Final = 512


@router.get(
    "/v1/inbox",
    summary="Fetch waiting messages",
    responses={
        200: {
            "description": "`{items: [{id, message}]}`, oldest first; empty after the waiting time",
            "content": {"application/json": {"example": {"items": []}}},
        },
        **responses(400, 401, 429, 503),
    },
    response_class=Response,
)
async def fetch(
    request: Request,
    services: Use,
    poll: Annotated[
        str, Header(alias="privet-poll", max_length=_HEADER_BYTES, description="The signed claim.")
    ],
    after: Annotated[
        int, Query(ge=0, le=MAX_INTEGER, description="Id of the last message that was dealt with.")
    ] = 0,
    wait: Annotated[
        float, Query(ge=0, le=60, description="Seconds to wait for one; the cloud may cut it.")
    ] = 0,
    seen: Annotated[
        str | None,
        Header(
            alias=SEEN_HEADER,
            max_length=MAX_HEADER_BYTES,
            description="The signed claim of what the agent has seen of its running jobs.",
        ),
    ] = None,
) -> Response:
    """Messages for the agent that signed the poll, beyond `after`."""
    agent, known = await run_in_threadpool(_begin, services, poll, after)
    lost = [] if seen is None else await run_in_threadpool(services.inbox.forgotten, agent, seen)
    loop = asyncio.get_running_loop()
    end = loop.time() + min(wait, services.settings.max_wait_seconds)
    with services.notifier.listening(inbox_of(agent)) as news:
        while True:
            news.clear()
            waiting, change = await run_in_threadpool(_look, services, agent, after)
            left = end - loop.time()
            if waiting or lost or change != known or left <= 0 or services.notifier.is_closed:
                break
            await services.notifier.wait(news, left)
    answer = await run_in_threadpool(json_answer, request, as_json(waiting))
    if lost:
        answer.headers[FORGOTTEN_HEADER] = " ".join(lost)
    answer.headers[STUDIES_HEADER] = str(change)
    return answer


def _begin(services: Services, poll: str, after: int) -> tuple[AgentId, int]:
    """Whose poll it is, and the number of the last change of studies until now."""
    return services.inbox.caller(poll, after), services.governance.change()


def _look(services: Services, agent: AgentId, after: int) -> tuple[list[InboxMessage], int]:
    """What waits, and the number of the last change of studies."""
    return services.inbox.waiting(agent, after), services.governance.change()
