"""Errors as clinical systems know them: a FHIR OperationOutcome, which never holds what was sent."""

from __future__ import annotations

from typing import Any, Final

from fastapi.responses import JSONResponse, Response

FHIR_JSON: Final = "application/fhir+json"
_CODES: Final = {
    400: "invalid",
    401: "login",
    403: "forbidden",
    404: "not-found",
    408: "timeout",
    412: "required",
    413: "too-long",
    422: "processing",
    429: "throttled",
    503: "transient",
}
"""Issue types of FHIR by status."""


class ClinicalError(Exception):
    """A question of a clinical system that is answered by an OperationOutcome."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


def outcome(status: int, detail: str, **headers: str) -> Response:
    """The answer."""
    return JSONResponse(outcome_document(status, detail), status, headers=headers, media_type=FHIR_JSON)


def outcomes(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's description: which of them it answers with."""
    schema = {
        "type": "object",
        "required": ["resourceType", "issue"],
        "properties": {
            "resourceType": {"const": "OperationOutcome"},
            "issue": {"type": "array", "minItems": 1},
        },
    }
    content = {FHIR_JSON: {"schema": schema}}
    return {status: {"description": "OperationOutcome", "content": content} for status in statuses}


def outcome_document(status: int, detail: str) -> dict[str, Any]:
    """An OperationOutcome with one issue."""
    code = _CODES.get(status, "exception")
    return {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": "error", "code": code, "diagnostics": detail}],
    }
