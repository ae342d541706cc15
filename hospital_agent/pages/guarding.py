"""Who is let in, and what makes a form's post believable; sessions themselves are kept in `sessions`.

Without a token (setting `local.token`) only this machine is answered, under a name of its own: a page of another site
can make a browser here ask, but not under a loopback name that it does not have. With a token, a browser shows it once
and has a session from then on. A post must come from a page of this program (`Sec-Fetch-Site`, `Origin`) and carry
what only such a page has been given: a keyed hash of the browser's cookie.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Annotated, Final

from fastapi import Depends, FastAPI, Request
from starlette.datastructures import URL, FormData
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import RedirectResponse, Response

from hospital_agent.local_api.guards import names_this_machine
from hospital_agent.pages.house import House, page
from hospital_agent.pages.problems import PageProblem, problem_page
from hospital_agent.pages.sessions import Doorkeeper
from machine.browsers import hand_cookie
from shared.rng import random_token
from shared.tree.schema import MAX_ATTRIBUTES
from shared.web.rendering import ASSETS_PATH, HEADERS

CSRF_FIELD: Final = "csrf"
SIGN_IN: Final = "/house/sign-in"
MAX_FORM_BYTES: Final = 2**20
_MAX_FIELDS: Final = 2 * MAX_ATTRIBUTES + 8
_FORM_SECONDS: Final = 30
_COOKIE_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_OVER_TLS: Final = "__Host-"
_NAME_DIGITS: Final = 12
_READING: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Visitor:
    """The browser that asks. `csrf`: for the forms it is given."""

    cookie: str = field(repr=False)
    csrf: str = field(repr=False)
    is_in: bool


def add_guards(app: FastAPI, door: Doorkeeper) -> None:
    """Put the doorkeeper before every page."""

    @app.middleware("http")
    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        cookie, is_new = _cookie(request)
        request.state.visitor = Visitor(
            cookie, door.csrf(cookie), door.is_in(cookie, by_itself="hx-request" in request.headers)
        )
        response = _refusal(request, door) or await call_next(request)
        if not request.url.path.startswith(f"{ASSETS_PATH}/"):
            response.headers.update(HEADERS)
            said = response.headers.get("set-cookie", "")
            if is_new and not _is_led_here(request) and cookie_name(request) not in said:
                set_cookie(request, response, cookie)
        return response


def cookie_name(request: Request) -> str:
    """Of this agent alone: cookies know no ports, so that two hospitals' pages on one machine share a browser's.

    Behind a proxy that says it speaks TLS (`X-Forwarded-Proto`), of this very host name and over TLS alone.
    """
    house: House = request.app.state.house
    own = hashlib.sha256(str(house.folder.resolve()).encode()).hexdigest()[:_NAME_DIGITS]
    return f"{_OVER_TLS if request.url.scheme == 'https' else ''}privet_house_{own}"


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """For the time the browser is open."""
    hand_cookie(response, cookie_name(request), cookie, is_https=request.url.scheme == "https")


async def checked(request: Request) -> None:
    """Before every endpoint: a post carries what only a page of ours was given. Its fields go to `fields_of`."""
    if request.method in _READING:
        return
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            form = await request.form(max_files=0, max_fields=_MAX_FIELDS, max_part_size=MAX_FORM_BYTES)
    except TimeoutError:
        raise PageProblem(408, "malformed") from None
    given = form.get(CSRF_FIELD)
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), visitor(request).csrf.encode()):
        raise PageProblem(403, "stale_form")
    request.state.form = form


def visitor(request: Request) -> Visitor:
    """The browser that asks."""
    found: Visitor = request.state.visitor
    return found


def _fields(request: Request) -> dict[str, str]:
    form: FormData = request.state.form
    return {name: value for name, value in form.items() if isinstance(value, str)}


Fields = Annotated[dict[str, str], Depends(_fields)]
"""The fields of a post, as texts."""


def _refusal(request: Request, door: Doorkeeper) -> Response | None:
    """Why this request is not answered, if it is not."""
    path = request.url.path
    if door.token is None and not names_this_machine(f"//{request.headers.get('host', '')}"):
        return problem_page(request, 403, "foreign_host")
    if request.method not in _READING:
        if not _is_own_page(request):
            return problem_page(request, 403, "foreign_page")
        length = request.headers.get("content-length", "")
        if not (length.isdigit() and int(length) <= MAX_FORM_BYTES):
            return problem_page(request, 413, "too_large")
    if _is_led_here(request):
        return page(request, "lead_on.html", place=str(request.url.replace(scheme="", netloc="")))
    if visitor(request).is_in or path == SIGN_IN or path.startswith(f"{ASSETS_PATH}/"):
        return None
    place = URL(SIGN_IN)
    if request.method in _READING and path != "/":
        place = place.include_query_params(next=path)
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": SIGN_IN})
    return RedirectResponse(str(place), 303)


def _is_own_page(request: Request) -> bool:
    """Whether a browser says, as far as it says anything, that a page of ours posts.

    A page without referrers posts with the origin `null`; then `Sec-Fetch-Site` must vouch for it.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None or (origin == "null" and site == "same-origin"):
        return True
    return URL(origin).netloc == request.headers.get("host", "") if origin != "null" else False


def _is_led_here(request: Request) -> bool:
    """Whether another site led the browser here, which then keeps strict cookies back: a new one would end its session.

    It gets a page that leads on by itself; from there the cookie comes along.
    """
    return (
        request.headers.get("sec-fetch-site") == "cross-site" and cookie_name(request) not in request.cookies
    )


def _cookie(request: Request) -> tuple[str, bool]:
    """The browser's cookie, or a new one; and whether it is new."""
    given = request.cookies.get(cookie_name(request), "")
    return (given, False) if _COOKIE_FORM.fullmatch(given) else (random_token(), True)
