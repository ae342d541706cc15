"""Sign in with the agent's token, once; and sign out."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from hospital_agent.pages.guarding import SIGN_IN, Fields, set_cookie, visitor
from hospital_agent.pages.house import House, page
from hospital_agent.pages.sessions import Doorkeeper

_INSIDE: Final = "/house/"


def add(pages: FastAPI, house: House, door: Doorkeeper) -> None:
    """The form, and what it posts to."""

    @pages.get(SIGN_IN)
    def form(request: Request, next: str = "/") -> Response:  # noqa: A002 - the query's word
        """Ask for the token."""
        if visitor(request).is_in:
            return RedirectResponse(_inside(next), 303)
        return page(request, "sign_in.html", next=_inside(next))

    @pages.post(SIGN_IN)
    def sign_in(request: Request, fields: Fields) -> Response:
        """Begin a session."""
        cookie = door.sign_in(
            fields.get("token", "").strip(), "" if request.client is None else request.client.host
        )
        answer = RedirectResponse(_inside(fields.get("next", "/")), 303)
        set_cookie(request, answer, cookie)
        return answer

    @pages.post("/house/sign-out")
    def sign_out(request: Request) -> Response:
        """End the session."""
        door.sign_out(visitor(request).cookie)
        return RedirectResponse(SIGN_IN, 303)


def _inside(path: str) -> str:
    """A path of these pages, whatever was asked for."""
    return path if path.startswith(_INSIDE) and "\\" not in path else "/"
