"""The pages as an application of their own, and how requests find it.

It stands in front of the local API, with guards of its own: a program shows a bearer token with each request, a
browser signs in once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from fastapi import Depends, FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from hospital_agent.pages import (
    asked,
    consenting,
    forgetting,
    home,
    jobs,
    messages,
    model_acts,
    models,
    names,
    own_records,
    problems,
    published,
    rules,
    signing_in,
    studies,
    trying,
)
from hospital_agent.pages.guarding import add_guards, checked
from hospital_agent.pages.house import House
from hospital_agent.pages.sessions import Doorkeeper
from machine.browsers import Assets
from shared.web.rendering import ASSETS_PATH

PREFIX: Final = "/house"
_SUBJECTS: Final = (
    home, consenting, studies, forgetting, published, jobs, messages, models, model_acts, names, trying, asked,
    own_records, rules
)  # fmt: skip
"""In this order: an address that is spelled out goes before one that leaves a word open."""


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
    pages.mount(ASSETS_PATH, Assets())
    return pages
