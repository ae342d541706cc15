"""The relay's doors: a WebSocket, and long polls for networks whose proxies let no WebSocket through.

Bytes in, bytes out: no JSON, no database for a frame. `shared.wire.relay` says how frames are addressed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Final

import structlog
from fastapi import APIRouter, Depends, Header, Query, Request, Response, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from cloud_service.api.body import read_bytes
from cloud_service.api.caller import Use, may
from cloud_service.api.passing import (
    GOING_AWAY,
    Refusal,
    Upstream,
    Visitor,
    close,
    passing_of,
)
from cloud_service.api.problems import CODE_KEY, of_error, problem, responses
from cloud_service.service.leases import ElsewhereError
from cloud_service.service.mailboxes import Mailbox
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.services import Services
from cloud_service.service.tickets import TICKET_HEADER
from shared.errors import ErrorCode, PeerError, TemporaryError
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
_WHO_ASKS: Final = ("authorization", "cookie")
_CLOSE_OF: Final = {code: number for number, code in CLOSE_CODES.items()}
_MALFORMED: Final = 4400
Call = Annotated[
    str,
    Header(alias=RELAY_HEADER, max_length=_HEADER_BYTES, description="The signed call: agent, job, time."),
]
Ticket = Annotated[str, Header(alias=TICKET_HEADER, max_length=_HEADER_BYTES, include_in_schema=False)]


async def caller(services: Use, job_id: str, call: Call, ticket: Ticket = "") -> Visitor:
    """The member that signed the call, and where its frames are. Only the first one of a job asks the database.

    A ticket says that another replica has admitted the member: then its frames are here, or nobody gets any.
    """
    relay = services.relay
    if ticket:
        agent = services.tickets.read(ticket, job_id)
        await _ask(relay.is_known(job_id), relay.let_in, agent, job_id)
        return Visitor(agent, services.leases.me, call)
    agent = await _ask(relay.is_known(job_id), relay.admit, call, job_id)
    home = relay.known_home(job_id)
    if home is None:
        home = await run_in_threadpool(relay.find_home, job_id)
    return Visitor(agent, home, call)


async def _ask(is_quick: bool, question: Callable[..., AgentId], *arguments: str) -> AgentId:
    return question(*arguments) if is_quick else await run_in_threadpool(question, *arguments)


Member = Annotated[Visitor, Depends(caller)]


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
async def send(request: Request, services: Use, member: Member, job_id: str) -> Response:
    """A batch: `u32 length || u8 length || receiver || frame`, again and again. Waits while there is no room."""
    batch = await read_bytes(request, BATCH_TYPE, MAX_BATCH_BYTES)
    if not services.relay.is_here(member.home):
        return await passing_of(request).send(job_id, member, batch)
    for parcel in unpack(batch):
        await services.relay.pass_on(job_id, member.agent, parcel)
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
    request: Request,
    services: Use,
    member: Member,
    job_id: str,
    after: Annotated[
        int, Query(ge=0, le=MAX_INTEGER, description="The last batch that came; others come again.")
    ] = 0,
    wait: Annotated[float, Query(ge=0, le=60, description="Seconds to wait; the cloud may cut it.")] = 0,
) -> Response:
    """Frames for the agent that signed the call. The header `privet-batch` numbers the answer."""
    if not services.relay.is_here(member.home):
        return await passing_of(request).fetch(job_id, member, after, wait)
    agent = member.agent
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
    services.relay.mailbox(job_id, agent)  # `late` when the job ended meanwhile, a refusal when it moved
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
        headers = (socket.headers.get(name, "")[:_HEADER_BYTES] for name in (RELAY_HEADER, TICKET_HEADER))
        member = await caller(services, job_id, *headers)
        if services.relay.is_here(member.home):
            way: Mailbox | Upstream = services.relay.mailbox(job_id, member.agent)
        else:
            way = await passing_of(socket).open(job_id, member)
    except Refusal as refusal:
        await socket.send_denial_response(refusal.answer)
        return
    except (PeerError, TemporaryError) as error:
        await socket.send_denial_response(of_error(error))
        return
    await socket.accept()
    _log.info("relay opened", job=job_id, agent=member.agent)
    try:
        if isinstance(way, Mailbox):
            await _carry(socket, services, job_id, member.agent, way)
        else:
            await passing_of(socket).carry(socket, job_id, member.home, way)
    finally:
        _log.info("relay closed", job=job_id, agent=member.agent)


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
    """What members passed to one another through the replica that has their mailboxes."""

    pairs: list[PairOut]


@router.get(
    "/v1/jobs/{job_id}/traffic",
    tags=["people"],
    summary="How much members of a job passed to one another",
    responses=responses(401, 403, 404, 429, 503),
)
async def traffic(
    request: Request,
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.JOBS_READ))],
    job_id: str,
    ticket: Ticket = "",
) -> TrafficOut:
    """Sizes and times of sealed frames, while the job runs and a few minutes after; content is sealed end to end."""
    await run_in_threadpool(services.jobs.get, job_id)
    home = None if ticket else await run_in_threadpool(services.relay.seen_home, job_id)
    if home is not None and not services.relay.is_here(home):
        known = {name: value for name in _WHO_ASKS if (value := request.headers.get(name))}
        found = await passing_of(request).look(job_id, home, request.url.path, known)
        if found is not None:
            return TrafficOut.model_validate_json(found)
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
            await close(socket, _CLOSE_OF.get(error.code, _MALFORMED), str(error))
            return
        except ElsewhereError as error:
            await close(socket, GOING_AWAY, str(error))
            return


async def _hand_out(socket: WebSocket, services: Services, mailbox: Mailbox, news: asyncio.Event) -> None:
    await socket.send_bytes(b"")
    while True:
        news.clear()
        if mailbox.has_moved:
            return await close(socket, GOING_AWAY, "the job's frames move; connect again")
        if mailbox.is_closed:
            return await close(socket, _CLOSE_OF[ErrorCode.LATE], "the job is over; read the inbox")
        if services.notifier.is_closed:
            return await close(socket, GOING_AWAY, "the cloud restarts; connect again")
        if not mailbox.is_reader(news):
            return await close(socket, REPLACED, "a newer connection of this agent took over")
        parcels = mailbox.take(MAX_BATCH_BYTES)
        for parcel in parcels:
            await socket.send_bytes(parcel)
        if not parcels:
            await news.wait()


def _reading(job: str, agent: AgentId) -> str:
    return f"frames {job} {agent}"
