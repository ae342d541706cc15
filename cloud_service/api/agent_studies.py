"""Study documents for the agents of the hospitals that they invite, and what those answer."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Request, Response

from cloud_service.api.answers import json_answer
from cloud_service.api.body import read_body
from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from cloud_service.service.shared_asking import ask_shared
from shared.protocol.polling import STUDIES_HEADER
from shared.wire.asking import Asked, SignedAsk
from shared.wire.base import WireModel
from shared.wire.consent import SignedConsent
from shared.wire.study import MAX_ANSWER_BYTES, SignedAnswer, SignedStudy, StudyLines

router = APIRouter(tags=["agents"])
_MAX_CONSENT_BYTES: Final = 2**14
_MAX_ASK_BYTES: Final = 2**12
_HEADER_BYTES: Final = 512

Call = Annotated[
    str, Header(alias=STUDIES_HEADER, max_length=_HEADER_BYTES, description="The signed claim of the agent.")
]


def _content(model: type[WireModel]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": model.model_json_schema()}}}


async def answer_body(request: Request) -> SignedAnswer:
    """The signed body; strict, so it is parsed from its bytes."""
    raw = await read_body(request, MAX_ANSWER_BYTES)
    return SignedAnswer.parse(raw, what="answer", max_bytes=MAX_ANSWER_BYTES)


async def consent_body(request: Request) -> SignedConsent:
    """The signed body; strict, so it is parsed from its bytes."""
    raw = await read_body(request, _MAX_CONSENT_BYTES)
    return SignedConsent.parse(raw, what="consent", max_bytes=_MAX_CONSENT_BYTES)


async def ask_body(request: Request) -> SignedAsk:
    """The signed body; strict, so it is parsed from its bytes."""
    raw = await read_body(request, _MAX_ASK_BYTES)
    return SignedAsk.parse(raw, what="ask", max_bytes=_MAX_ASK_BYTES)


@router.get(
    "/v1/agent/studies",
    summary="List the studies that invite an agent",
    responses={
        200: {"description": "Ids, hashes, closings", **_content(StudyLines)},
        **responses(400, 401, 429, 503),
    },
    response_class=Response,
)
def lines(request: Request, services: Use, call: Call) -> Response:
    """Id, hash and closing of each, and the number of the last change, which the inbox tells too."""
    agent = services.governance.caller(call, None)
    return json_answer(request, services.governance.lines(agent).canonical())


@router.get(
    "/v1/agent/studies/{study}",
    summary="Fetch a study's document",
    responses={
        200: {"description": "The signed document", **_content(SignedStudy)},
        **responses(400, 401, 409, 429, 503),
    },
    response_class=Response,
)
def document(request: Request, services: Use, call: Call, study: str) -> Response:
    """The document under the cloud's signature, for a hospital that it invites."""
    agent = services.governance.caller(call, study)
    return json_answer(request, services.governance.signed(agent, study).canonical())


@router.post(
    "/v1/agent/studies/{study}/answer",
    status_code=204,
    summary="Approve, decline or withdraw from a study",
    openapi_extra={"requestBody": {"required": True, **_content(SignedAnswer)}},
    responses=responses(400, 401, 409, 413, 429, 503),
)
def answer(services: Use, study: str, signed: Annotated[SignedAnswer, Depends(answer_body)]) -> Response:
    """A hospital's signed answer; the last one counts. A withdrawal ends the jobs that it takes part in."""
    services.governance.take_answer(study, signed)
    return Response(status_code=204)


@router.post(
    "/v1/agent/studies/{study}/consent",
    status_code=204,
    summary="Consent to a difference of one hospital",
    openapi_extra={"requestBody": {"required": True, **_content(SignedConsent)}},
    responses=responses(400, 401, 409, 413, 429, 503),
)
def consent(services: Use, study: str, signed: Annotated[SignedConsent, Depends(consent_body)]) -> Response:
    """The signed consent of the hospital by which alone two rosters differ (rule A4); it travels in later jobs."""
    services.governance.take_consent(study, signed)
    return Response(status_code=204)


@router.post(
    "/v1/agent/studies/{study}/ask",
    status_code=201,
    summary="Ask a tree that stays shared",
    openapi_extra={"requestBody": {"required": True, **_content(SignedAsk)}},
    responses={
        201: {"description": "The job that answers", **_content(Asked)},
        **responses(400, 401, 403, 404, 409, 413, 422, 429, 503),
    },
    response_class=Response,
)
def ask(services: Use, study: str, signed: Annotated[SignedAsk, Depends(ask_body)]) -> Response:
    """Start the job of purpose `predict` by which a hospital asks a shared tree; the same question starts one job.

    Only where the operator allows it. Nothing of the records is in the request: they go out as shares, in the job.
    """
    parts = (services.governance, services.studies, services.jobs, services.results)
    job = ask_shared(*parts, study, signed)
    return Response(Asked(job=job).canonical(), status_code=201, media_type="application/json")
