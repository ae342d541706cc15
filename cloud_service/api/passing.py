"""Passing on to a job's home: what a member sends to this replica and belongs to another one.

A WebSocket becomes a WebSocket, a request a request, so that whoever has to wait at the home makes the member wait
here. A home that does not answer is doubted, and the member is asked to come again: by then it may have moved.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import structlog
from fastapi import Response, WebSocket, WebSocketDisconnect
from starlette.requests import HTTPConnection
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from cloud_service.service.leases import ElsewhereError
from cloud_service.service.relay import Relay
from cloud_service.service.tickets import Tickets
from cloud_service.settings import Settings
from cloud_service.store.leases import Holder
from shared.ids import AgentId
from shared.wire.relay import BATCH_HEADER, BATCH_TYPE, MAX_PARCEL_BYTES, RELAY_HEADER

_log = structlog.get_logger()
GOING_AWAY: Final = 1012
"""Close code: connect again."""
_REASON_BYTES: Final = 120
"""A close frame has room for 123."""
_CONNECT_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 30.0
"""Beyond the waiting that the member asked for."""
_SILENCE_SECONDS: Final = 5.0
"""Both ping interval and patience of a passed-on WebSocket."""
_PASSED_HEADERS: Final = ("content-type", "cache-control", "retry-after", BATCH_HEADER)
_NOT_HERE: Final = frozenset({401, 503})
"""The home has moved, or does not take the ticket of this replica: nothing that the member could mend."""
_MAX_QUEUE: Final = 4
_CONNECTIONS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=64)

Upstream = ClientConnection


@dataclass(frozen=True, slots=True)
class Visitor:
    """A member at the relay's door. home: the replica with its mailboxes. call: its signed header."""

    agent: AgentId
    home: Holder
    call: str = field(repr=False)


class Refusal(Exception):  # noqa: N818 - what the home said, not a fault of this replica
    """The home's answer to a handshake."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


class Passing:
    """The connections of this replica to the others. Belongs to the event loop."""

    def __init__(self, settings: Settings, relay: Relay, tickets: Tickets) -> None:
        self._relay = relay
        self._tickets = tickets
        self._tls = _trust(settings)
        self._http = httpx.AsyncClient(verify=self._tls, trust_env=False, limits=_CONNECTIONS)

    async def aclose(self) -> None:
        """End all."""
        await self._http.aclose()

    async def send(self, job: str, member: Visitor, batch: bytes) -> Response:
        """Frames of a member, as one request. Raises: ElsewhereError: ask again."""
        headers = self._headers(job, member) | {"content-type": BATCH_TYPE}
        request = self._http.build_request(
            "POST", _url(member.home, f"/v1/jobs/{job}/frames"), headers=headers, content=batch
        )
        return await self._pass(job, member.home, request, 0.0)

    async def fetch(self, job: str, member: Visitor, after: int, wait: float) -> Response:
        """Frames for a member, as one request. Raises: ElsewhereError: ask again."""
        request = self._http.build_request(
            "GET",
            _url(member.home, f"/v1/jobs/{job}/frames"),
            headers=self._headers(job, member),
            params={"after": after, "wait": wait},
        )
        return await self._pass(job, member.home, request, wait)

    async def look(self, job: str, home: Holder, path: str, headers: dict[str, str]) -> bytes | None:
        """What the home answers to a person's question about a job; None: nothing that helps."""
        ticket = self._tickets.write(home.replica, job)
        try:
            answer = await self._http.get(
                _url(home, path), headers=headers | ticket, timeout=_CONNECT_SECONDS
            )
        except (httpx.HTTPError, ElsewhereError):
            return None
        return answer.content if answer.status_code == 200 else None

    async def open(self, job: str, member: Visitor) -> Upstream:
        """A WebSocket to the home. Raises: Refusal: of the home. ElsewhereError: ask again."""
        url = _url(member.home, f"/v1/jobs/{job}/relay").replace("http", "ws", 1)
        try:
            return await connect(
                url,
                additional_headers=self._headers(job, member),
                compression=None,
                max_size=MAX_PARCEL_BYTES,
                max_queue=_MAX_QUEUE,
                open_timeout=_CONNECT_SECONDS,
                close_timeout=_CONNECT_SECONDS,
                ping_interval=_SILENCE_SECONDS,
                ping_timeout=_SILENCE_SECONDS,
                proxy=None,
                ssl=self._tls if url.startswith("wss:") else None,
            )
        except InvalidStatus as refusal:
            found = refusal.response
            if found.status_code in _NOT_HERE:
                raise self._lost(job, member.home) from None
            headers = {name: found.headers[name] for name in _PASSED_HEADERS if name in found.headers}
            raise Refusal(Response(bytes(found.body), found.status_code, headers)) from None
        except (OSError, TimeoutError, WebSocketException):
            raise self._lost(job, member.home) from None

    async def carry(self, socket: WebSocket, job: str, home: Holder, upstream: Upstream) -> None:
        """Both ways until either ends, or the home moves."""
        with self._relay.guest(job, home) as moved:
            await _first(_up(socket, upstream), _down(socket, upstream), moved)
        code, reason = upstream.close_code, upstream.close_reason or ""
        if code is None or code in (1000, 1006, 1011, GOING_AWAY):
            self._relay.doubt_home(job, home)
            code, reason = GOING_AWAY, "the job's frames move; connect again"
        await close(socket, code, reason)
        await upstream.close()

    def _headers(self, job: str, member: Visitor) -> dict[str, str]:
        if not member.home.address:
            _log.error("a replica cannot be reached: it has no address in its settings", job=job)
            raise ElsewhereError
        return {RELAY_HEADER: member.call, **self._tickets.write(member.home.replica, job, member.agent)}

    async def _pass(self, job: str, home: Holder, request: httpx.Request, wait: float) -> Response:
        request.extensions["timeout"] = httpx.Timeout(
            wait + _ANSWER_SECONDS, connect=_CONNECT_SECONDS
        ).as_dict()
        with self._relay.guest(job, home) as moved:
            answering = asyncio.ensure_future(self._http.send(request))
            try:
                await _first(answering, moved)
                answer = answering.result()
            except (httpx.HTTPError, asyncio.CancelledError):
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise
                raise self._lost(job, home) from None
        if answer.status_code in _NOT_HERE:
            raise self._lost(job, home)
        headers = {name: answer.headers[name] for name in _PASSED_HEADERS if name in answer.headers}
        return Response(answer.content, answer.status_code, headers)

    def _lost(self, job: str, home: Holder) -> ElsewhereError:
        self._relay.doubt_home(job, home)
        return ElsewhereError()


def passing_of(connection: HTTPConnection) -> Passing:
    """That of this process."""
    passing: Passing = connection.app.state.passing
    return passing


async def close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a member's WebSocket, unless the other side or another task has closed it."""
    with suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, reason[:_REASON_BYTES])


async def _first(*works: Awaitable[Any]) -> None:
    """Until one of them ends; the others are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _up(socket: WebSocket, upstream: Upstream) -> None:
    with suppress(ConnectionClosed):
        while (message := await socket.receive())["type"] != "websocket.disconnect":
            await upstream.send(message.get("bytes") or b"")


async def _down(socket: WebSocket, upstream: Upstream) -> None:
    with suppress(ConnectionClosed, WebSocketDisconnect):
        while True:
            await socket.send_bytes(await upstream.recv(decode=False))


def _url(home: Holder, path: str) -> str:
    return home.address + path


def _trust(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if settings.replica.ca_bundle is not None:
        context.load_verify_locations(cafile=settings.folder / settings.replica.ca_bundle)
    return context
