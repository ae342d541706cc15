"""The pages as an application of their own, and how requests find it.

It stands in front of the local API, with guards of its own: a program shows a bearer token with each request, a
browser signs in once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fastapi import Depends, FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

import shared.web
from hospital_agent.pages import (
    home,
    jobs,
    model_acts,
    models,
    names,
    own_records,
    problems,
    rules,
    signing_in,
    studies,
    trying,
)
from hospital_agent.pages.guarding import add_guards, checked
from hospital_agent.pages.house import House
from hospital_agent.pages.sessions import Doorkeeper
from shared.web.rendering import ASSETS_PATH

PREFIX: Final = "/house"
_KEPT: Final = "public, max-age=31536000, immutable"
_SUBJECTS: Final = (home, studies, jobs, models, model_acts, names, trying, own_records, rules)


@dataclass(frozen=True, slots=True)
class Front:
    """Sends a request for a page to the pages, and every other one on."""

    app: ASGIApp
    pages: ASGIApp = field(repr=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        chosen = self.pages if scope["type"] == "http" and is_page(scope["path"]) else self.app
        await chosen(scope, receive, send)


def is_page(path: str) -> bool:
    """Whether the pages answer it."""
    return path == "/" or path == PREFIX or path.startswith((f"{PREFIX}/", f"{ASSETS_PATH}/"))


def install(app: FastAPI, house: House) -> None:
    """Put the pages in front of the local API."""
    app.add_middleware(Front, pages=create_pages(house))


def create_pages(house: House) -> FastAPI:
    """The application of the pages."""
    pages = FastAPI(
        title="Privet", docs_url=None, redoc_url=None, openapi_url=None, dependencies=[Depends(checked)]
    )
    door = Doorkeeper(house.token)
    add_guards(pages, door)
    problems.add(pages, house)
    signing_in.add(pages, house, door)
    for subject in _SUBJECTS:
        subject.add(pages, house)
    pages.mount(ASSETS_PATH, Assets(directory=Path(str(shared.web.__file__)).parent / "static"))
    return pages


class Assets(StaticFiles):
    """Style sheets and scripts; they may be kept, since their address changes with their content."""

    def file_response(self, *args: Any, **named: Any) -> Response:
        """A file, to be kept."""
        response = super().file_response(*args, **named)
        response.headers["Cache-Control"] = _KEPT
        return response
