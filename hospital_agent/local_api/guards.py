"""Who is let in, and how much a request may bring: one gate before everything the local API answers.

Where a token is set, every path but `/healthz` needs it as a bearer token. Without one, only requests that name this
machine as their host, and no other as their origin, are answered: a page in a browser here can be made to ask, under a
name of its own that leads to this machine. Rooms above may give paths a door of their own.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from fastapi.responses import Response
from starlette.datastructures import URL
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hospital_agent.local_api.bodies import RETRY_SECONDS, NoRoomError, Room
from hospital_agent.local_api.problems import problem
from shared.hosts import is_loopback

MAX_BODY_BYTES: Final = 16 * 2**20
BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive."""
LOOPBACK: Final = "this machine"
"""The name of a caller that needs no token."""
_OPEN: Final = "/healthz"
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODILESS: Final = frozenset({"DELETE"})

Door = Callable[[HTTPConnection], Response | str]
"""Decides about a request: the caller's name lets it in, a response is the refusal."""


@dataclass(slots=True)
class Gate:
    """Which door stands before which path. `token`: of the paths that have no door of their own."""

    token: str | None = field(repr=False)
    own_doors: dict[str, Door] = field(default_factory=dict, repr=False)

    def own_door(self, prefix: str, door: Door) -> None:
        """Let `door` alone decide about all paths under `prefix`, such as `/cds-services`; the longest prefix wins."""
        self.own_doors[prefix.rstrip("/")] = door

    def decide(self, connection: HTTPConnection) -> Response | str:
        """The caller's name, or the refusal."""
        path = connection.scope["path"]
        if self.own_doors:
            found = [p for p in self.own_doors if path == p or path.startswith(f"{p}/")]
            if found:
                return self.own_doors[max(found, key=len)](connection)
        return self.usual(connection)

    def usual(self, connection: HTTPConnection) -> Response | str:
        """The door of all other paths: the token, or this machine's own programs."""
        if self.token is not None:
            if connection.scope["path"] == _OPEN or knows(connection, self.token):
                return "token"
            return problem(401, "unauthorised", "A bearer token is needed (setting local.token).")
        if not from_here(connection):
            return problem(
                403, "foreign_origin", "Only programs of this machine are answered; set local.token."
            )
        return LOOPBACK


def knows(connection: HTTPConnection, token: str) -> bool:
    """Whether the request brings the token."""
    given = connection.headers.get("authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(given.encode(), token.encode())


def from_here(connection: HTTPConnection) -> bool:
    """Whether Host, and Origin if a browser sent one, name this machine; a link on another site may lead here.

    A picture or a script of another site brings no Origin. It could not read an answer, but would learn whether there
    is one, and so which studies this hospital takes part in.
    """
    site, dest = connection.headers.get("sec-fetch-site"), connection.headers.get("sec-fetch-dest")
    if site == "cross-site" and dest != "document":
        return False
    named = [f"//{connection.headers.get('host', '')}", *connection.headers.getlist("origin")]
    return all(map(names_this_machine, named))


@lru_cache(maxsize=1024)
def names_this_machine(url: str) -> bool:
    """Whether the host of an address is this machine by a loopback name; of a bare host, write `//` before it."""
    try:
        return is_loopback(URL(url).hostname or "")
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Guard:
    """The gate as a layer around the application; the caller's name is left in `request.state.caller`."""

    app: ASGIApp
    gate: Gate
    room: Room = field(default_factory=Room, repr=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        decided = self.gate.decide(connection)
        if not isinstance(decided, str):
            await decided(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = decided
        if scope["method"] not in _WITH_BODY:
            await self.app(scope, receive, send)
            return
        refusal = _too_large(connection)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        try:
            with self.room.holding(int(connection.headers.get("content-length") or 0)):
                await self.app(scope, _in_time(receive), send)
        except NoRoomError:
            await _no_room()(scope, receive, send)


def _too_large(connection: HTTPConnection) -> Response | None:
    length = connection.headers.get("content-length", "")
    if not length and connection.scope["method"] in _BODILESS:
        return None
    if length.isdigit() and int(length) <= MAX_BODY_BYTES:
        return None
    return problem(413, "too_large", f"A body of stated length up to {MAX_BODY_BYTES} bytes is needed.")


def _no_room() -> Response:
    refusal = problem(
        503,
        "busy",
        "Other large requests are being answered.",
        remedy="Ask again in a few seconds, or for fewer records at a time.",
    )
    refusal.headers["retry-after"] = str(RETRY_SECONDS)
    return refusal


def _in_time(receive: Receive) -> Receive:
    """The body, as long as all of it comes in time: to who waits longer, the caller has left."""
    ends: float | None = None
    complete = False

    async def timed() -> Message:
        nonlocal ends, complete
        if complete:
            return await receive()
        loop = asyncio.get_running_loop()
        ends = loop.time() + BODY_SECONDS if ends is None else ends
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        complete = not message.get("more_body", False)
        return message

    return timed
