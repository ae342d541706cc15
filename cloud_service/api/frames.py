"""The relay's doors: a WebSocket, and long polls for networks whose proxies let no WebSocket through.

Bytes in, bytes out: no JSON, no database for a frame. `shared.wire.relay` says how frames are addressed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Depends, Header, Query, Request, Response, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from cloud_service.api.body import read_bytes
from cloud_service.api.caller import Use, may
from cloud_service.api.problems import CODE_KEY, of_peer_error, problem, responses
from cloud_service.service.mailboxes import Mailbox
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.rates import RateLimitedError
from cloud_service.service.services import Services
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.wire.base import MAX_INTEGER
from shared.wire.relay import (
    BATCH_HEADER,
    BATCH_TYPE,
    CLOSE_CODES,
    MAX_BATCH_BYTES,
    RELAY_HEADER,
    REPLACED,
    pack,
    unpack,
)

router = APIRouter(tags=["agents"])
_log = structlog.get_logger()
_HEADER_BYTES: Final = 512
_CLOSE_OF: Final = {code: number for number, code in CLOSE_CODES.items()}
_MALFORMED: Final = 4400
_GOING_AWAY: Final = 1012
_REASON_BYTES: Final = 120
"""A close frame has room for 123."""
Call = Annotated[
    str,
    Header(alias=RELAY_HEADER, max_length=_HEADER_BYTES, description="The signed call: agent, job, time."),
]


async def caller(services: Use, job_id: str, call: Call) -> AgentId:
    """The member that signed the call. Only the first one of a job asks the database."""
    if services.relay.is_known(job_id):
        return services.relay.admit(call, job_id)
    return await run_in_threadpool(services.relay.admit, call, job_id)


Member = Annotated[AgentId, Depends(caller)]


@router.post(
    "/v1/jobs/{job_id}/frames",
    status_code=204,
    summary="Pass sealed frames to other members",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {BATCH_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    responses=responses(400, 401, 409, 413, 429, 503),
)
async def send(request: Request, services: Use, agent: Member, job_id: str) -> Response:
    """A batch: `u32 length || u8 length || receiver || frame`, again and again. Waits while there is no room."""
    for parcel in unpack(await read_bytes(request, BATCH_TYPE, MAX_BATCH_BYTES)):
        await services.relay.pass_on(job_id, agent, parcel)
    return Response(status_code=204)


@router.get(
    "/v1/jobs/{job_id}/frames",
    summary="Fetch sealed frames from other members",
    responses={
        200: {
            "description": "A batch as in the request of the same path, with the senders' ids; empty after the wait",
            "content": {BATCH_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        **responses(400, 401, 409, 429, 503),
    },
    response_class=Response,
)
async def fetch(
    services: Use,
    agent: Member,
    job_id: str,
    after: Annotated[
        int, Query(ge=0, le=MAX_INTEGER, description="The last batch that came; others come again.")
    ] = 0,
    wait: Annotated[float, Query(ge=0, le=60, description="Seconds to wait; the cloud may cut it.")] = 0,
) -> Response:
    """Frames for the agent that signed the call. The header `privet-batch` numbers the answer."""
    mailbox = services.relay.mailbox(job_id, agent)
    loop = asyncio.get_running_loop()
    end = loop.time() + min(wait, services.settings.max_wait_seconds)
    with services.notifier.listening(_reading(job_id, agent)) as news:
        mailbox.attach(news)
        number, parcels = mailbox.take_batch(after, MAX_BATCH_BYTES)
        while not parcels and (left := end - loop.time()) > 0 and not services.notifier.is_closed:
            news.clear()
            await services.notifier.wait(news, left)
            if mailbox.is_closed or not mailbox.is_reader(news):
                break
            number, parcels = mailbox.take_batch(after, MAX_BATCH_BYTES)
    # The mailbox keeps its reader: it is back in a moment, and until then senders wait rather than lose.
    services.relay.mailbox(job_id, agent)  # `late` when the job ended meanwhile
    headers = {BATCH_HEADER: str(number), "Cache-Control": "no-store"}
    return Response(pack(parcels), media_type=BATCH_TYPE, headers=headers)


@router.get("/v1/jobs/{job_id}/relay", summary="Where the WebSocket is", responses=responses(426))
async def no_websocket(request: Request, job_id: str) -> Response:
    """What a client hears whose proxy took the upgrade out of its request: use `/frames` instead."""
    request.scope[CODE_KEY] = "upgrade_required"
    detail = f"open a WebSocket, or use /v1/jobs/{job_id[:32]}/frames"
    return problem(426, "upgrade_required", detail, {"Upgrade": "websocket", "Connection": "Upgrade"})


@router.websocket("/v1/jobs/{job_id}/relay")
async def relay(socket: WebSocket, services: Use, job_id: str) -> None:
    """One message, one parcel, both ways, without compression. An empty message greets: this way works."""
    try:
        agent = await caller(services, job_id, socket.headers.get(RELAY_HEADER, "")[:_HEADER_BYTES])
        mailbox = services.relay.mailbox(job_id, agent)
    except (PeerError, RateLimitedError) as error:
        await _deny(socket, error)
        return
    await socket.accept()
    _log.info("relay opened", job=job_id, agent=agent)
    try:
        await _carry(socket, services, job_id, agent, mailbox)
    finally:
        _log.info("relay closed", job=job_id, agent=agent)


class PairOut(BaseModel):
    """Sealed frames from one member to another. `lost`: dropped here, and sent again by the agents.

    `latest`: Unix seconds.
    """

    sender: str
    receiver: str
    frames: int
    bytes: int
    lost: int
    latest: int


class TrafficOut(BaseModel):
    """What members passed to one another through this process of the cloud."""

    pairs: list[PairOut]


@router.get(
    "/v1/jobs/{job_id}/traffic",
    tags=["people"],
    summary="How much members of a job passed to one another",
    responses=responses(401, 403, 404, 429, 503),
)
def traffic(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.JOBS_READ))], job_id: str
) -> TrafficOut:
    """Sizes and times of sealed frames, while the job runs and a few minutes after; content is sealed end to end."""
    services.jobs.get(job_id)
    pairs = [
        PairOut(
            sender=sender,
            receiver=receiver,
            frames=pair.frames,
            bytes=pair.bytes,
            lost=pair.lost,
            latest=pair.latest,
        )
        for (sender, receiver), pair in sorted(services.relay.figures(job_id).items())
    ]
    return TrafficOut(pairs=pairs)


async def _deny(socket: WebSocket, error: PeerError | RateLimitedError) -> None:
    if isinstance(error, PeerError):
        await socket.send_denial_response(of_peer_error(error))
    else:
        wait = {"Retry-After": str(max(1, round(error.retry_after_seconds or 1.0)))}
        await socket.send_denial_response(problem(429, error.code.value, str(error), wait))


async def _carry(socket: WebSocket, services: Services, job: str, agent: AgentId, mailbox: Mailbox) -> None:
    """Both ways until either ends."""
    with services.notifier.listening(_reading(job, agent)) as news:
        mailbox.attach(news)
        out = asyncio.create_task(_hand_out(socket, services, mailbox, news))
        try:
            await _take_in(socket, services, job, agent)
        finally:
            mailbox.detach(news)
            out.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect):
                await out


async def _take_in(socket: WebSocket, services: Services, job: str, agent: AgentId) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        parcel = message.get("bytes")
        try:
            if not parcel:
                raise PeerError(ErrorCode.MALFORMED, "a message is one parcel of bytes")
            await services.relay.pass_on(job, agent, parcel)
        except PeerError as error:
            await _close(socket, _CLOSE_OF.get(error.code, _MALFORMED), str(error))
            return


async def _hand_out(socket: WebSocket, services: Services, mailbox: Mailbox, news: asyncio.Event) -> None:
    await socket.send_bytes(b"")
    while True:
        news.clear()
        if mailbox.is_closed:
            return await _close(socket, _CLOSE_OF[ErrorCode.LATE], "the job is over; read the inbox")
        if services.notifier.is_closed:
            return await _close(socket, _GOING_AWAY, "the cloud restarts; connect again")
        if not mailbox.is_reader(news):
            return await _close(socket, REPLACED, "a newer connection of this agent took over")
        parcels = mailbox.take(MAX_BATCH_BYTES)
        for parcel in parcels:
            await socket.send_bytes(parcel)
        if not parcels:
            await news.wait()


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with suppress(RuntimeError, WebSocketDisconnect):  # closed already, by the other side or the other task
        await socket.close(code, reason[:_REASON_BYTES])


def _reading(job: str, agent: AgentId) -> str:
    return f"frames {job} {agent}"
