"""Pages that say what went wrong and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hospital_agent.local_api import RefusedError
from hospital_agent.models.shelf import UnknownModelError
from hospital_agent.pages.house import page
from shared.errors import InputError, TemporaryError, kind_and_place
from shared.texts import text

if TYPE_CHECKING:
    from hospital_agent.pages.house import House

_BY_STATUS = {404: "not_found", 405: "not_found", 400: "malformed", 413: "too_large"}


@dataclass(frozen=True, slots=True)
class Link:
    """Where the next step is taken, and how the way there is called."""

    href: str
    words: str


class PageProblem(Exception):  # noqa: N818 - what a page says, not a fault of the program
    """Something to say on a page of its own, `house.problem.KEY` of the texts. `link`: to the next step."""

    def __init__(self, status: int, key: str, link: Link | None = None) -> None:
        super().__init__(key)
        self.status = status
        self.key = key
        self.link = link


def problem_page(request: Request, status: int, key: str, link: Link | None = None) -> Response:
    """The page of a problem whose words are among the texts."""
    what, next_step = text(f"house.problem.{key}.what"), text(f"house.problem.{key}.next")
    return _page(request, status, what, next_step, key, link)


def add(pages: FastAPI, house: House) -> None:
    """Answer what endpoints raise."""
    pages.state.house = house

    @pages.exception_handler(PageProblem)
    def told(request: Request, problem: PageProblem) -> Response:
        return problem_page(request, problem.status, problem.key, problem.link)

    @pages.exception_handler(InputError)
    def refused(request: Request, error: InputError) -> Response:
        what = str(error).removesuffix(f". {error.remedy}") if error.remedy else str(error)
        status, key = (404, "not_found") if isinstance(error, UnknownModelError) else (422, "refused")
        return _page(request, status, what, error.remedy or text("house.problem.refused.next"), key)

    @pages.exception_handler(RefusedError)
    def not_now(request: Request, error: RefusedError) -> Response:
        answer = _page(
            request, error.status, error.detail, error.remedy or text("house.problem.later.next"), "later"
        )
        answer.headers.update(error.headers)
        return answer

    @pages.exception_handler(TemporaryError)
    def later(request: Request, error: TemporaryError) -> Response:
        return _page(request, 503, str(error), text("house.problem.later.next"), "later")

    @pages.exception_handler(RequestValidationError)
    def malformed(request: Request, _error: RequestValidationError) -> Response:
        return problem_page(request, 400, "malformed")

    @pages.exception_handler(HTTPException)
    def other(request: Request, error: HTTPException) -> Response:
        answer = problem_page(request, error.status_code, _BY_STATUS.get(error.status_code, "malformed"))
        answer.headers.update(error.headers or {})
        return answer

    @pages.exception_handler(Exception)
    def unexpected(request: Request, error: Exception) -> Response:
        what = text("house.problem.unexpected.what", kind=kind_and_place(error))
        return _page(request, 500, what, text("house.problem.unexpected.next"), "unexpected")


def _page(
    request: Request, status: int, what: str, next_step: str, key: str, link: Link | None = None
) -> Response:
    title = text(f"house.problem.{key}.title")
    return page(
        request,
        "problem.html",
        status_code=status,
        title=title,
        what=what,
        next_step=next_step,
        link=link,
    )
