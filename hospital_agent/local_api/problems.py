"""How the local API answers errors: problem documents (RFC 9457), which never hold what was sent."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from shared.errors import InputError

PROBLEM_TYPE: Final = "application/problem+json"
_SHAPE: Final = 'Send {"record": {"attribute": "value"}}, or {"records": [...]} for several.'


class Problem(BaseModel):
    """How errors are answered. `where` and `remedy` stand where there is more to say."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str = ""
    remedy: str = ""


class RefusedError(Exception):
    """A request that is answered by a problem of this status and code. `headers`: that go with it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        remedy: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.remedy, self.headers = remedy, headers or {}


def problem(status: int, code: str, detail: str, **more: str) -> Response:
    """The answer. `more`: `where` and `remedy`; empty ones are left out."""
    document = {
        "type": f"urn:privet:problem:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": _writable(detail),
        "code": code,
    }
    filled = {name: _writable(text) for name, text in more.items() if text}
    return JSONResponse(document | filled, status, media_type=PROBLEM_TYPE)


def _writable(text: str) -> str:
    """The text without halves of characters, which JSON may hold and UTF-8 may not."""
    return text.encode("utf-8", "replace").decode()


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's description: which problems it answers with."""
    content = {PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}
    return {status: {"description": "Problem", "content": content} for status in statuses}


def add_problems(app: FastAPI) -> None:
    """Let the application answer errors so."""

    @app.exception_handler(InputError)
    def input_refused(_request: Request, error: InputError) -> Response:
        return problem(422, "input_refused", str(error), where=error.where, remedy=error.remedy)

    @app.exception_handler(RefusedError)
    def refused(_request: Request, error: RefusedError) -> Response:
        answer = problem(error.status, error.code, error.detail, remedy=error.remedy)
        answer.headers.update(error.headers)
        return answer

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        remedy = _SHAPE if first["type"] == "extra_forbidden" else ""
        return problem(422, "malformed", f"{place}: {first['msg']}", where=place, remedy=remedy)

    @app.exception_handler(HTTPException)
    def other(_request: Request, error: HTTPException) -> Response:
        code = "not_found" if error.status_code == 404 else "refused"
        answer = problem(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer
