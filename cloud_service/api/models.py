"""Published trees as models: the same question, answer and card as at a hospital's own agent."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from cloud_service.api.answers import json_answer
from cloud_service.api.body import read_body
from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.asking import answer_text, published_card
from cloud_service.service.permissions import Caller, Permission
from shared.errors import ErrorCode, InputError, PeerError
from shared.protocol.model_card import card_markdown
from shared.wire.predicting import PredictionAnswer, Question

router = APIRouter(tags=["people"])
MAX_QUESTION_BYTES: Final = 2**22
_MARKDOWN: Final = "text/markdown"
_CARD: Final = {"application/json": {}, _MARKDOWN: {"schema": {"type": "string"}}}


async def question_body(request: Request) -> Question:
    """The body, its numbers with all their digits, because a threshold may be one digit away."""
    raw = await read_body(request, MAX_QUESTION_BYTES)
    try:
        document = json.loads(raw, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise PeerError(ErrorCode.MALFORMED, "the body is not JSON") from None
    try:
        return Question.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(
            first["msg"], where=place or "body", remedy="Give one record, or several as records."
        ) from None


@router.post(
    "/v1/models/{job_id}/predict",
    summary="Ask a published tree",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Question.model_json_schema()}},
        }
    },
    responses={
        200: {"description": "One prediction a record, in their order", "model": PredictionAnswer},
        **responses(400, 401, 403, 404, 413, 422, 429, 503),
    },
    response_class=Response,
)
def predict(
    request: Request,
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.TREES_READ))],
    job_id: str,
    asked: Annotated[Question, Depends(question_body)],
) -> Response:
    """Class, path in words and what was missing of each record. For patients ask the hospital's own agent instead.

    The model is the job that the path names; only where the study publishes its tree, and without counts.
    """
    if asked.model not in (None, job_id):
        raise InputError("the path and the body name two models", where="model", remedy="Leave it out.")
    records = asked.records if asked.records is not None else [asked.record or {}]
    return json_answer(request, answer_text(services.results, job_id, records).encode())


@router.get(
    "/v1/models/{job_id}/card",
    summary="Model card of a published tree",
    response_model=None,
    responses={
        200: {
            "description": "The card",
            "content": {"application/json": {}, _MARKDOWN: {"schema": {"type": "string"}}},
        },
        **responses(401, 403, 404, 429, 503),
    },
)
def model_card(
    request: Request,
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.TREES_READ))],
    job_id: str,
) -> Response | dict[str, Any]:
    """Origin, rules and limits; as Markdown where `Accept` asks for it. The intended use is for hospitals to say."""
    found = published_card(services.results, job_id)
    if _MARKDOWN in request.headers.get("accept", ""):
        return Response(card_markdown(found), media_type=_MARKDOWN)
    return json_answer(request, json.dumps(found, ensure_ascii=False).encode())
