"""Errors as RFC 9457 problem documents. The only place that knows HTTP statuses.

A problem never repeats what was sent: its detail names the field and the rule, or ids and rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from cloud_service.service.logs import about
from cloud_service.service.provider import ProviderError
from cloud_service.service.rates import RateLimitedError
from cloud_service.service.refusals import (
    ConflictError,
    ForbiddenError,
    NotPublishedError,
    NotSignedInError,
    UnknownThingError,
)
from cloud_service.store.database import AuditUnavailableError, kind_of
from shared.errors import ErrorCode, InputError, PeerError, TemporaryError

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:privet:problem:"
CODE_KEY: Final = "privet.code"
"""Where a request's scope says with which code it was refused, for the log."""
_log = structlog.get_logger()

STATUS: Final[Mapping[ErrorCode, int]] = {
    ErrorCode.MALFORMED: 400,
    ErrorCode.BAD_SIGNATURE: 401,
    ErrorCode.UNKNOWN_AGENT: 401,
    ErrorCode.POLICY_PROFILE: 403,
    ErrorCode.POLICY_MIN_HOSPITALS: 403,
    ErrorCode.POLICY_DIFFERENCE: 403,
    ErrorCode.REPLAY_CONFLICT: 409,
    ErrorCode.LATE: 409,
    ErrorCode.WRONG_ROUND: 409,
    ErrorCode.ROSTER_MISMATCH: 409,
    ErrorCode.TOO_LARGE: 413,
    ErrorCode.CONTRIBUTION_REJECTED: 422,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.AUDIT_UNAVAILABLE: 503,
}

TITLES: Final[Mapping[str, str]] = {
    "malformed": "The request is not well formed",
    "bad_signature": "The signature does not verify",
    "unknown_agent": "The sender is not a member",
    "policy_profile": "The profile is not allowed",
    "policy_min_hospitals": "Too few hospitals",
    "policy_difference": "The roster differs by one hospital",
    "replay_conflict": "Another message was taken in its place",
    "late": "Too late",
    "wrong_round": "Another round is open",
    "roster_mismatch": "Not in the roster",
    "too_large": "Too large",
    "contribution_rejected": "The contribution is rejected",
    "rate_limited": "Too many requests",
    "audit_unavailable": "Nothing can be recorded now",
    "invalid_input": "The input breaks a rule",
    "not_signed_in": "Not signed in",
    "provider_unavailable": "The identity provider cannot be used now",
    "forbidden": "Not allowed to this role",
    "not_published": "Not published",
    "not_found": "Not found",
    "conflict": "It contradicts what is there",
    "method_not_allowed": "The method is not allowed here",
    "upgrade_required": "A WebSocket is needed here",
    "internal": "An error of ours",
}


class Problem(BaseModel):
    """An RFC 9457 problem document with a code that programs can rely on."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": f"{TYPE_PREFIX}late",
                "title": TITLES["late"],
                "status": 409,
                "detail": "round 3 attempt 1 is DECIDING; this came for round 2 attempt 1",
                "code": "late",
            }
        }
    )

    type: str = Field(description="`urn:privet:problem:` and the code")
    title: str
    status: int
    detail: str
    code: str


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The response."""
    content = Problem(type=TYPE_PREFIX + code, title=TITLES[code], status=status, detail=detail, code=code)
    return JSONResponse(content.model_dump(), status, headers=headers, media_type=MEDIA_TYPE)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's description: which problems it answers with."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": "Problem", "model": Problem, "content": content} for status in statuses}


@dataclass(frozen=True, slots=True)
class Parts:
    """What is wrong, before it is put into a form: a problem document, or a page for people."""

    status: int
    code: str
    detail: str
    headers: Mapping[str, str] | None = None


def install(app: FastAPI) -> None:
    """Let every error of the application end here."""
    for kind in (PeerError, InputError, TemporaryError, RequestValidationError, HTTPException, *_PEOPLE):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(Exception, _unexpected)


def answer(request: Request, error: Exception) -> Response:
    """An error as its problem document."""
    found = noted(request, error)
    return problem(found.status, found.code, found.detail, found.headers)


def noted(request: Request, error: Exception) -> Parts:
    """What an error means to who asked, noted for the log."""
    found = _parts(request, error)
    request.scope[CODE_KEY] = found.code
    if isinstance(error, TemporaryError):
        about(error=kind_of(error))
    if found.code == "internal":
        _log.error("unexpected error", error=type(error).__name__)
    return found


def of_error(error: PeerError | TemporaryError) -> Response:
    """The same document where no handler of errors stands: in a WebSocket's handshake."""
    found = _peer(error) if isinstance(error, PeerError) else _temporary(error)
    return problem(found.status, found.code, found.detail, found.headers)


def _parts(request: Request, error: Exception) -> Parts:
    if isinstance(error, PeerError):
        return _peer(error)
    if isinstance(error, InputError):
        return Parts(422, "invalid_input", str(error))
    if isinstance(error, TemporaryError):
        return _temporary(error)
    if isinstance(error, RequestValidationError):
        return Parts(422, "invalid_input", _describe(error.errors()))
    if isinstance(error, HTTPException):
        return _http(request, error)
    if type(error) in _PEOPLE:
        return _people(error)
    return Parts(500, "internal", "an error of ours; it was logged")


def _peer(error: PeerError) -> Parts:
    return Parts(STATUS[error.code], error.code.value, str(error))


def _temporary(error: TemporaryError) -> Parts:
    headers = {"Retry-After": str(max(1, round(error.retry_after_seconds or 1.0)))}
    if isinstance(error, ProviderError):
        return Parts(503, "provider_unavailable", str(error), headers)
    if isinstance(error, RateLimitedError | AuditUnavailableError):
        return Parts(STATUS[error.code], error.code.value, str(error), headers)
    return Parts(503, "audit_unavailable", "try later", headers)


_PEOPLE: Final[Mapping[type[Exception], tuple[int, str]]] = {
    UnknownThingError: (404, "not_found"),
    ConflictError: (409, "conflict"),
    NotPublishedError: (403, "not_published"),
    NotSignedInError: (401, "not_signed_in"),
    ForbiddenError: (403, "forbidden"),
}


def _people(error: Exception) -> Parts:
    status, code = _PEOPLE[type(error)]
    return Parts(status, code, str(error), {"WWW-Authenticate": "Bearer"} if status == 401 else None)


def _describe(faults: Sequence[Any]) -> str:
    """Place and rule of the first faults. Not their `input`, nor names that the caller made up."""
    return "; ".join(f"{_place(fault['loc'])}: {fault['msg']}" for fault in faults[:3])


def _place(location: Sequence[Any]) -> str:
    parts = [str(part) for part in location if str(part).isidentifier() or isinstance(part, int)]
    return ".".join(part[:40] for part in parts[:8]) or "request"


_HTTP_CODES: Final = {404: "not_found", 405: "method_not_allowed"}


def _http(request: Request, error: HTTPException) -> Parts:
    code = _HTTP_CODES.get(error.status_code, "malformed")
    status = error.status_code if error.status_code in _HTTP_CODES else 400
    headers = _allowed(request) or error.headers if status == 405 else error.headers
    return Parts(status, code, TITLES[code], headers)


def _allowed(request: Request) -> Mapping[str, str]:
    """The header `Allow` with all methods of a path; the framework names those of one function only."""
    path = getattr(request.scope.get("route"), "path", "")
    methods = request.app.openapi()["paths"].get(path, {})
    return {"Allow": ", ".join(sorted(map(str.upper, methods)))} if methods else {}


def _unexpected(request: Request, error: Exception) -> Response:
    return answer(request, error)
