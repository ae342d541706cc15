"""Around every request: an id, one line in the log, and headers that cost nothing."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_service.api.problems import CODE_KEY
from cloud_service.service.logs import request_named
from cloud_service.service.meters import count_request
from cloud_service.service.telemetry import TRACES
from shared.ids import HEX_16_PATTERN
from shared.protocol.tracing import REQUEST_HEADER, TRACE_HEADER, is_request_id, is_traceparent
from shared.rng import random_bytes

_log = structlog.get_logger()
_HEADERS: Final = ((b"x-content-type-options", b"nosniff"),)
_PAGE_HEADERS: Final = (
    *_HEADERS,
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
)
_QUIET: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_FREQUENT: Final = frozenset({"/v1/jobs/{job_id}/frames", "/assets/{path:path}"})
"""Frames, some hundred a second while a job computes, and what pages load besides: in the log only when refused."""


@dataclass(frozen=True, slots=True)
class Served:
    """One request: its name, what is known of it for the log, and what its span will say."""

    request: str
    particulars: dict[str, Any]
    seen: dict[str, Any]


class Traffic:
    """ASGI middleware without a buffer, so that streams pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        names = Headers(scope=scope)
        asked = names.get(REQUEST_HEADER, "")
        request = asked if is_request_id(asked) else random_bytes(8).hex()
        with request_named(request) as particulars:
            if scope["type"] != "http":
                await self._app(scope, receive, send)
                return
            seen: dict[str, Any] = {}
            parent = names.get(TRACE_HEADER, "")
            with TRACES.span("request", seen, parent=parent if is_traceparent(parent) else ""):
                await self._serve(scope, receive, send, Served(request, particulars, seen))

    async def _serve(self, scope: Scope, receive: Receive, send: Send, served: Served) -> None:
        began = time.monotonic()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                name = (REQUEST_HEADER.encode(), served.request.encode())
                message["headers"] = [*message.get("headers", ()), name, *_extra(message)]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            _write(scope, status, began, served)


def _extra(message: Message) -> tuple[tuple[bytes, bytes], ...]:
    """What only a page needs is left out elsewhere: agents get some sixty short answers a job."""
    given = {name.lower(): value for name, value in message.get("headers", ())}
    if b"content-security-policy" in given:  # a page that says itself what it may load
        return ()
    is_page = given.get(b"content-type", b"").startswith(b"text/html")
    return _PAGE_HEADERS if is_page else _HEADERS


def _write(scope: Scope, status: int, began: float, served: Served) -> None:
    # The route's template, not the path that was asked for: paths may hold what nobody should log.
    route: Any = scope.get("route")
    template = getattr(route, "path", "unknown")
    seconds = time.monotonic() - began
    code = scope.get(CODE_KEY)
    method = count_request(template, scope["method"], status, seconds, code)
    served.seen.update({"http.request.method": method, "http.route": template, "privet.code": code})
    served.seen["http.response.status_code"] = status
    if template not in _QUIET and not (template in _FREQUENT and status < 400):
        _log.info(
            "request",
            **(served.particulars | _particulars(scope)),
            request=served.request,
            method=scope["method"],
            route=template,
            status=status,
            milliseconds=round(seconds * 1000, 1),
        )


def _particulars(scope: Scope) -> dict[str, str]:
    """The job that a known route names, and the code of a refusal."""
    found: dict[str, str] = {}
    job = scope.get("path_params", {}).get("job_id", "")
    if re.fullmatch(HEX_16_PATTERN, job):
        found["job"] = job
    if CODE_KEY in scope:
        found["code"] = scope[CODE_KEY]
    return found
