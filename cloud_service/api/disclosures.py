"""Who learned what, and logs that can be checked elsewhere: ledgers, dossiers, and the cloud's logs as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response

from cloud_service.api.answers import json_answer
from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from shared.protocol.disclosure_page import dossier_page, ledger_page

router = APIRouter(tags=["people"])
Reader = Annotated[Caller, Depends(may(Permission.LEDGER_READ))]
Auditor = Annotated[Caller, Depends(may(Permission.AUDIT_READ))]

_HTML: Final = "text/html"
LINES: Final = "application/x-ndjson"
PAGE_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    "Vary": "Accept",
    "X-Content-Type-Options": "nosniff",
}
"""Of a page of one file, with its style inside and nothing else."""
_BOTH: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "JSON, or a page of one file where `Accept` asks for text/html",
        "content": {"application/json": {}, _HTML: {}},
    }
}
_FILE: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Signed lines of JSON, for `privet audit verify`", "content": {LINES: {}}}
}


@router.get(
    "/v1/jobs/{job_id}/ledger",
    summary="Who learned what by a job",
    response_class=Response,
    responses={**_BOTH, **responses(401, 403, 404, 429, 503)},
)
def ledger(request: Request, services: Use, _caller: Reader, job_id: str) -> Response:
    """At most, by what was agreed, and in fact, by the job's log; as JSON or as a page."""
    found = services.ledgers.of_job(job_id).to_json()
    return _answer(request, found, lambda document: ledger_page(document, keeper="the cloud"))


@router.get(
    "/v1/studies/{study_id}/dossier",
    summary="Everything about a study for an ethics board",
    response_class=Response,
    responses={**_BOTH, **responses(401, 403, 404, 429, 503)},
)
def dossier(request: Request, services: Use, caller: Reader, study_id: str) -> Response:
    """Question, answers, rules, ledgers of all jobs, keys, certificates and log heads.

    No trees and no counts of records with some property; of secret jobs, how many records were shared.
    """
    return _answer(request, services.dossiers.of_study(study_id, hospital=caller.hospital), dossier_page)


@router.get(
    "/v1/jobs/{job_id}/audit",
    summary="A job's log as a file",
    response_class=Response,
    responses={**_FILE, **responses(401, 403, 404, 429, 503)},
)
def audit(services: Use, _caller: Auditor, job_id: str) -> Response:
    """The hash-chained log with the members' signed messages that are kept, signed by the cloud."""
    return _file(services.audits.of_job(job_id))


@router.get(
    "/v1/audit",
    summary="The log of administrative acts as a file",
    response_class=Response,
    responses={**_FILE, **responses(401, 403, 429, 503)},
)
def acts(services: Use, _caller: Auditor) -> Response:
    """Who did what to what over the whole cloud, hash-chained and signed by the cloud."""
    return _file(services.audits.of_acts())


@router.get(
    "/v1/audit/people",
    summary="The people's log as a file",
    response_class=Response,
    responses={**_FILE, **responses(401, 403, 429, 503)},
)
def people(services: Use, _caller: Auditor) -> Response:
    """Sign-ins, refused ones too, and changes of accounts and tokens, hash-chained and signed by the cloud."""
    return _file(services.audits.of_people())


def _answer(
    request: Request, document: Mapping[str, Any], page: Callable[[Mapping[str, Any]], str]
) -> Response:
    if _prefers_page(request.headers.get("accept", "")):
        return Response(page(document), media_type=_HTML, headers=PAGE_HEADERS)
    answer = json_answer(request, json.dumps(document, ensure_ascii=False).encode())
    answer.headers["Vary"] = "Accept, Accept-Encoding"
    return answer


def _prefers_page(accept: str) -> bool:
    """Whether HTML is named before JSON, as browsers do."""
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    return _HTML in kinds and "application/json" not in kinds[: kinds.index(_HTML)]


def _file(lines: Iterable[bytes]) -> Response:
    return Response(b"".join(lines), media_type=LINES, headers={"Cache-Control": "no-store"})
