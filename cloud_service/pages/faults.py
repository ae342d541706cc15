"""Errors as pages: what happened, and what to do next.

Whoever is not signed in is led to the page to sign in, and from there back to where they wanted to be. A script that
asks for data gets the problem document that programs get.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from structlog.contextvars import get_contextvars

from cloud_service.api import problems
from cloud_service.api.problems import Parts
from cloud_service.pages.browser import safe_path
from cloud_service.pages.frame import Page, landing, page_of
from cloud_service.pages.wording import sentence
from cloud_service.service.refusals import ForbiddenError
from shared.errors import PrivetError
from shared.texts import has_text, text

_SCRIPTED: Final = "hx-request"
_MINUTE: Final = 60
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose errors people read."""

    def get_route_handler(self) -> Handler:
        """The framework's handler, with the errors of a page."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except (PrivetError, RequestValidationError, HTTPException) as error:
                return shown(request, error)
            except Exception as error:  # noted for the log, and told with the request's id
                return shown(request, error)

        return handle


def page_router() -> APIRouter:
    """Routes of pages: not in the described API, with errors that people read."""
    return APIRouter(include_in_schema=False, route_class=PageRoute)


def install(app: FastAPI) -> None:
    """Let a browser that asks for a page which is not there get one that says so."""

    def handle(request: Request, error: Exception) -> Response:
        is_for_programs = request.url.path.startswith("/v1/") or not _wants_page(request)
        return problems.answer(request, error) if is_for_programs else shown(request, error)

    app.add_exception_handler(HTTPException, handle)


def shown(request: Request, error: Exception) -> Response:
    """An error as who asked can use it."""
    found = problems.noted(request, error)
    if not _wants_page(request):
        return problems.problem(found.status, found.code, found.detail, found.headers)
    if found.status == 401:
        return _to_sign_in(request)
    return fault_page(page_of(request), found, detail=_not_permitted(error))


def fault_page(page: Page, found: Parts, *, detail: str | None = None) -> Response:
    """A page about what went wrong, and when to try again where that is known. Args: detail: in place of its own."""
    known = (
        f"cloud.fault.{found.code}" if has_text(f"cloud.fault.{found.code}.title") else "cloud.fault.other"
    )
    wait = (found.headers or {}).get("Retry-After", "")
    answer = page.show(
        "fault.html",
        status=found.status,
        detail=sentence(found.detail) if detail is None else detail,
        name=known,
        found=found,
        wait=_wait(int(wait)) if wait else "",
        request_id=_request(),
    )
    if wait:
        answer.headers["Retry-After"] = wait
    return answer


def _not_permitted(error: Exception) -> str | None:
    """What a role does not open, in words; programs are told the permission's name."""
    if not isinstance(error, ForbiddenError) or not error.permission:
        return None
    what = text(f"cloud.permission.{error.permission.replace(':', '_')}")
    roles = ", ".join(text(f"cloud.role.{role}") for role in error.roles)
    return text("cloud.fault.forbidden.roles", what=what, roles=roles)


def _wait(seconds: int) -> str:
    if seconds > _MINUTE:
        return text("cloud.fault.minutes", n=-(-seconds // _MINUTE))
    return text("cloud.fault.seconds", n=seconds)


def _to_sign_in(request: Request) -> Response:
    if _SCRIPTED in request.headers:  # a part of a page: the whole page is to be loaded anew, which leads on
        return Response(status_code=401, headers={"HX-Refresh": "true"})
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    is_page = request.method == "GET"
    if is_page and request.headers.get("sec-fetch-site") == "cross-site":
        # A link on another site: the browser has kept the cookie back. It comes along when we ask ourselves.
        return landing(request, safe_path(wanted))
    following = f"?next={quote(safe_path(wanted), safe='')}" if is_page else "?ended=1"
    return RedirectResponse("/sign-in" + following, 303, headers={"Cache-Control": "no-store"})


def _wants_page(request: Request) -> bool:
    return _SCRIPTED in request.headers or "text/html" in request.headers.get("accept", "")


def _request() -> str:
    """The id by which the log knows the request that is being served."""
    return str(get_contextvars().get("request", ""))
