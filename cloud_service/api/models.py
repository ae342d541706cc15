"""Published trees as models: the same question, answer and card as at a hospital's own agent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from cloud_service.api.answers import json_answer
from cloud_service.api.body import read_body, read_bytes
from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.api.quality import card_lines
from cloud_service.service.asking import Published, published_card
from cloud_service.service.permissions import Caller, Permission
from shared.errors import ErrorCode, InputError, PeerError
from shared.protocol.csv_records import BODY, CSV_TYPE, charset_of, read_records, wants_csv, write_answers
from shared.protocol.model_card import card_markdown
from shared.tree.prediction import Value
from shared.wire.exact_json import RepeatedNameError, read_exact
from shared.wire.predicting import EXAMPLE_CSV, MAX_RECORDS, PredictionAnswer, Question

router = APIRouter(tags=["people"])
MAX_QUESTION_BYTES: Final = 2**22
_DELIMITERS: Final = (",", ";", "\t")
_MARKDOWN: Final = "text/markdown"
_CARD: Final = {"application/json": {}, _MARKDOWN: {"schema": {"type": "string"}}}


async def question_body(request: Request) -> Question | str:
    """The body: JSON, its numbers with all their digits, because a threshold may be one digit away; or a CSV's text."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() == CSV_TYPE:
        return _decoded(await read_bytes(request, CSV_TYPE, MAX_QUESTION_BYTES), charset_of(parameters))
    raw = await read_body(request, MAX_QUESTION_BYTES)
    try:
        document = read_exact(raw)
    except RepeatedNameError as error:
        raise PeerError(ErrorCode.MALFORMED, f"the body: {error}") from None
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


def _decoded(raw: bytes, charset: str | None) -> str:
    if charset is None or charset.lower() in ("utf-8", "utf8", "us-ascii"):
        with suppress(UnicodeDecodeError):
            return raw.decode().removeprefix("\ufeff")
    raise InputError(
        "not UTF-8", where=BODY, remedy="Save the CSV as UTF-8; the hospitals' agents read others."
    )


@router.post(
    "/v1/models/{job_id}/predict",
    summary="Ask a published tree",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": Question.model_json_schema()},
                CSV_TYPE: {"schema": {"type": "string"}, "example": EXAMPLE_CSV},
            },
        }
    },
    responses={
        200: {
            "description": "One prediction a record, in their order",
            "model": PredictionAnswer,
            "content": {CSV_TYPE: {"schema": {"type": "string"}}},
        },
        **responses(400, 401, 403, 404, 413, 422, 429, 503),
    },
    response_class=Response,
)
def predict(
    request: Request,
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.TREES_READ))],
    job_id: str,
    asked: Annotated[Question | str, Depends(question_body)],
) -> Response:
    """Class, path in words and what was missing of each record. For patients ask the hospital's own agent instead.

    The model is the job that the path names; only where the study publishes its tree, and without counts. Records come
    as JSON or as CSV (UTF-8) with a header; `Accept: text/csv` is answered in CSV.
    """
    published = Published.of(services.results, job_id)
    records, ignored = _records(published, job_id, asked)
    found = published.answers(records)
    if wants_csv(request.headers.get("accept", "")):
        return Response(
            write_answers(found, published.head), media_type=CSV_TYPE, headers={"Cache-Control": "no-store"}
        )
    return json_answer(request, published.text(found, ignored).encode())


def _records(
    published: Published, job_id: str, asked: Question | str
) -> tuple[Sequence[Mapping[str, Value]], Sequence[str]]:
    """What is asked about, and columns of a CSV that the study does not use."""
    if isinstance(asked, str):
        delimiter = _delimiter(asked, published.names)
        return read_records(asked, delimiter, '"', published.names, MAX_RECORDS, "GET /v1/jobs/{id}/tree")
    if asked.model not in (None, job_id):
        raise InputError("the path and the body name two models", where="model", remedy="Leave it out.")
    return (asked.records if asked.records is not None else [asked.record or {}]), ()


def _delimiter(table: str, names: frozenset[str]) -> str:
    """That by which the header falls apart into most of the study's names."""
    header = table.partition("\n")[0]

    def known(delimiter: str) -> int:
        return sum(cell.strip(' \r"') in names for cell in header.split(delimiter))

    return max(_DELIMITERS, key=known)


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
    caller: Annotated[Caller, Depends(may(Permission.TREES_READ))],
    job_id: str,
) -> Response | dict[str, Any]:
    """Origin, rules and limits; as Markdown where `Accept` asks for it. The intended use is for hospitals to say."""
    reads_results = Permission.RESULTS_READ in caller.permissions
    evaluations = (
        card_lines(services, services.results.finished(job_id), caller.hospital) if reads_results else ()
    )
    found = published_card(services.results, job_id, evaluations)
    if _MARKDOWN in request.headers.get("accept", ""):
        return Response(card_markdown(found), media_type=_MARKDOWN)
    return json_answer(request, json.dumps(found, ensure_ascii=False).encode())
