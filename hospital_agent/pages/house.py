"""What every page is made of: where the agent lives, and how a template becomes an answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from hospital_agent.journal import Journal
from hospital_agent.journal.reading import CheckedLog
from hospital_agent.local_api.desk import Desk
from hospital_agent.local_api.library import Library
from hospital_agent.policy import Policy, load_policy
from hospital_agent.settings import AgentSettings, load_settings
from shared.errors import InputError
from shared.web.rendering import render

if TYPE_CHECKING:
    from hospital_agent.pages.guarding import Visitor

PACKAGE: Final = "hospital_agent.pages"
ENDED_JOBS: Final = 5
"""Of a `status`, since the first page shows no more and looks every few seconds."""


@dataclass(frozen=True, slots=True)
class House:
    """The agent behind the pages. `desk`: where every question about a patient is answered, counted and noted.

    `status`: as `privet agent status --json`, of the jobs that are over the newest `ENDED_JOBS` at least. `log`: the
    chained log, checked up to where somebody has looked. `token`: None where none is set.

    Pages read settings and policy as they stand now, and open the journal for themselves: the daemon goes on meanwhile.
    """

    folder: Path
    desk: Desk
    status: Callable[[], Mapping[str, Any]]
    version: str
    token: str | None = field(default=None, repr=False)
    clock: Callable[[], float] = time.time
    log: CheckedLog = field(default_factory=CheckedLog, repr=False)

    @property
    def library(self) -> Library:
        """The finished models."""
        return self.desk.library

    def settings(self) -> AgentSettings:
        """As the files stand now. Raises: InputError: one is wrong."""
        return load_settings(self.folder)

    def policy(self) -> Policy:
        """As the file stands now. Raises: InputError: it is wrong."""
        return load_policy(self.settings().policy)

    def journal(self) -> Journal:
        """A connection for one page."""
        return Journal.open(self.folder)

    @property
    def own(self) -> str:
        """This hospital's id; empty while the settings are wrong, for pages must say so."""
        try:
            return self.settings().id
        except InputError:
            return ""


def page(
    request: Request, template: str, *, active: str = "", status_code: int = 200, **values: Any
) -> HTMLResponse:
    """A page. Args: active: the navigation's item that is shown. values: of the template."""
    house: House = request.app.state.house
    seen: Visitor = request.state.visitor
    content = render(
        PACKAGE,
        template,
        active=active,
        own=house.own,
        csrf=seen.csrf,
        may_sign_out=house.token is not None and seen.is_in,
        **values,
    )
    return HTMLResponse(content, status_code)


def changed_part(request: Request, template: str, seen: str, values: Mapping[str, Any]) -> Response:
    """A part of a page that looks again by itself: its HTML, or nothing while it is as it was `seen`.

    So a screen reader is told of changes only, and what a person has opened or marked stays as it is.
    """
    state = state_of(values)
    if state == seen:
        return Response(status_code=204)
    return page(request, template, **values, state_seen=state)


def state_of(values: Mapping[str, Any]) -> str:
    """A short name of what a part shows."""
    return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:16]
