"""A request for predictions from its bytes to the bytes of its answer, with as little between as it takes.

Plain questions are recognised by hand, since the models of Pydantic cost more than the walk down the tree; whatever is
not plain goes through `Question`, which says what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine, Sequence
from decimal import Decimal
from typing import Any, Final

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from hospital_agent.local_api.csv_text import read_csv
from hospital_agent.local_api.desk import Asked, Desk, StaysSharedError
from hospital_agent.local_api.problems import RefusedError, problem
from hospital_agent.local_api.questions import MAX_RECORDS, Question
from hospital_agent.local_api.secret_desk import MOST_WAIT_SECONDS
from hospital_agent.models import Record
from hospital_agent.models.questions import Question as SharedQuestion
from shared.protocol.csv_records import CSV_TYPE, JSON_TYPE, charset_of, wants_csv, write_answers
from shared.wire.exact_json import RepeatedNameError, read_exact

REQUEST_ID: Final = "x-request-id"
_FEW: Final = 50
"""Records that are answered on the spot; more go to a thread, so that others need not wait."""
_SMALL_BODY: Final = 20_000
_PLAIN: Final = frozenset({str, int, float, Decimal, bool, type(None)})
_MEMBERS: Final = frozenset({"record", "records", "model"})
_LONGEST_KEY: Final = 200
_WAIT: Final = re.compile(r"[0-9]{1,4}")


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request as it is, and gives the response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint itself, past the solving of dependencies."""

        async def direct(request: Request) -> Response:
            found: Response = await self.endpoint(request, **request.path_params)
            return found

        return direct


async def answer(request: Request, desk: Desk, model_id: str | None) -> Response:
    """Args: model_id: as the path names it; None: as the body does.

    Raises: InputError, RefusedError, RequestValidationError.
    """
    try:
        body = await request.body()
    except ClientDisconnect:
        raise RefusedError(408, "too_slow", "The body did not arrive in time.") from None
    if len(body) > _SMALL_BODY or "wait" in request.query_params:
        return await run_in_threadpool(respond, request, desk, model_id, body)
    return respond(request, desk, model_id, body)


def respond(request: Request, desk: Desk, model_id: str | None, body: bytes) -> Response:
    """The answer to a body."""
    kind, _, parameters = request.headers.get("content-type", JSON_TYPE).partition(";")
    key = request.headers.get(REQUEST_ID)
    if key is not None and len(key) > _LONGEST_KEY:
        raise RefusedError(400, "malformed", f"{REQUEST_ID} is longer than {_LONGEST_KEY} characters.")
    records: Sequence[Record]
    ignored: list[str] = []
    if kind.strip().lower() == CSV_TYPE:
        names = desk.find(model_id).names
        records, ignored = read_csv(body, names, MAX_RECORDS, charset_of(parameters))
    else:
        records, named = read_question(body)
        model_id = named if model_id is None else _one_model(model_id, named)
    caller = request.scope["state"]["caller"]
    try:
        asked = desk.ask(model_id, records, caller=caller, key=key)
    except StaysSharedError as shared:
        question = desk.ask_shared(shared, caller=caller, wait=wait_of(request))
        return shared_response(desk, question)
    return _written(request, asked, ignored)


def shared_response(desk: Desk, question: SharedQuestion) -> Response:
    """What came of a question to a shared tree: 200 with the answer, 202 while its job runs, 409 if it failed."""
    document = desk.shared_document(question)
    if question.state == "failed":
        return problem(409, "job_failed", question.reason, where=f"question {question.id}")
    headers = {"cache-control": "no-store"}
    if question.state != "done":
        headers |= {"location": document["at"], "retry-after": "1"}
    return JSONResponse(document, 200 if question.state == "done" else 202, headers)


def wait_of(request: Request) -> float:
    """`wait`: seconds. Raises: RefusedError: no number from 0 to 60."""
    text = request.query_params.get("wait", "0")
    if not _WAIT.fullmatch(text) or int(text) > MOST_WAIT_SECONDS:
        raise RefusedError(
            400, "malformed", f"wait: expected whole seconds from 0 to {MOST_WAIT_SECONDS:.0f}."
        )
    return float(text)


def read_question(body: bytes) -> tuple[Sequence[Record], str | None]:
    """Records and the model that the body names.

    Raises: RequestValidationError: another form. RefusedError: a name stands twice.
    """
    try:
        document = read_exact(body)
    except RepeatedNameError as error:
        raise RefusedError(400, "malformed", f"The body: {error}.") from None
    except (ValueError, RecursionError):
        raise RequestValidationError(
            [
                {
                    "type": "json_invalid",
                    "loc": ("body",),
                    "msg": "no JSON: expected an object with record or records",
                }
            ]
        ) from None
    if _is_plain(document):
        record = document.get("record")
        return (document["records"] if record is None else [record]), document.get("model")
    try:
        question = Question.model_validate(document)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_input=False)]
        raise RequestValidationError(faults) from None
    return question.records if question.records is not None else [question.record or {}], question.model


def _is_plain(document: Any) -> bool:
    if document.__class__ is not dict or not document.keys() <= _MEMBERS:
        return False
    asked: dict[str, Any] = document
    record, records, model = asked.get("record"), asked.get("records"), asked.get("model")
    if model is not None and model.__class__ is not str:
        return False
    if record is not None:
        return records is None and _is_record(record)
    return records.__class__ is list and 0 < len(records) <= MAX_RECORDS and all(map(_is_record, records))


def _is_record(record: Any) -> bool:
    if record.__class__ is not dict:
        return False
    return all(value.__class__ in _PLAIN for value in record.values())


def _one_model(asked: str, named: str | None) -> str:
    if named is not None and named != asked:
        raise RefusedError(
            400, "two_models", "The path and the body name two models; leave the one of the body out."
        )
    return asked


def _written(request: Request, asked: Asked, ignored: list[str]) -> Response:
    # The tree's version stands in headers too, for callers that keep no bodies.
    headers = {"x-model": asked.answers.model.id, "x-model-role": asked.role, "cache-control": "no-store"}
    if wants_csv(request.headers.get("accept", "")):
        if ignored:
            headers["x-ignored-columns"] = str(len(ignored))
        return Response(write_answers(asked.found, asked.head), headers=headers, media_type=CSV_TYPE)
    text = asked.text()
    if ignored:
        text = f'{text[:-1]}, "ignored_columns": {json.dumps(ignored, ensure_ascii=False)}}}'
    return Response(text.encode(), headers=headers, media_type=JSON_TYPE)
