"""`/metrics` for Prometheus: with an operator's token here, or without one at an inner port of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response

from cloud_service.api.caller import may
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from cloud_service.settings import Settings
from shared.errors import InputError

router = APIRouter(tags=["health"])
MEDIA_TYPE: Final = "text/plain; version=1.0.0; charset=utf-8"
_ANSWER_SECONDS: Final = 10


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    responses={
        200: {"description": "Prometheus' text format", "content": {"text/plain": {}}},
        **responses(401, 403, 429),
    },
    response_class=Response,
)
def metrics(
    request: Request, _caller: Annotated[Caller, Depends(may(Permission.OPERATIONS_READ))]
) -> Response:
    """Counts and times of this process, without a name of a study, job or hospital. Needs `operations:read`."""
    return Response(request.app.state.vitals.page(), media_type=MEDIA_TYPE)


@contextmanager
def inner_port(settings: Settings, page: Callable[[], bytes]) -> Iterator[int | None]:
    """Serve `/metrics` at `metrics_port` while the context lasts; gives the port, None where none is set.

    Raises: InputError: the address cannot be had.
    """
    if settings.metrics_port is None:
        yield None
        return
    try:
        server = ThreadingHTTPServer((settings.metrics_host, settings.metrics_port), _handler(page))
    except OSError as error:
        raise InputError(
            f"the address for metrics cannot be had ({error.strerror or 'unknown'})",
            where=f"settings metrics_host and metrics_port, {settings.metrics_host} port {settings.metrics_port}",
            remedy="Choose another, or stop the program that has it.",
            number="C017",
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def _handler(page: Callable[[], bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _ANSWER_SECONDS
        server_version = sys_version = "privet"

        def do_GET(self) -> None:
            """Answer one scrape."""
            if self.path != "/metrics":
                self.send_error(404)
                return
            body = page()
            self.send_response(200)
            self.send_header("content-type", MEDIA_TYPE)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_parts: object) -> None:
            """Scrapes are not worth a line."""

    return Handler
