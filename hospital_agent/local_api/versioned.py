"""`/v1`: models, their cards, what they are asked, and predictions. What stood before under other paths stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request
from fastapi.params import Depends
from fastapi.responses import JSONResponse, Response
from pydantic import WithJsonSchema
from starlette.concurrency import run_in_threadpool

from hospital_agent.local_api.asking import DirectRoute, answer, shared_response, wait_of
from hospital_agent.local_api.desk import Desk
from hospital_agent.local_api.problems import problems
from hospital_agent.local_api.questions import Question
from hospital_agent.models.card import card_markdown
from hospital_agent.models.windows import day_from
from shared.wire.predicting import EXAMPLE_ANSWER, EXAMPLE_CSV, PredictionAnswer

MARKDOWN: Final = "text/markdown"
_Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date", "examples": ["2027-11-30"]})]
"""Read by `day_from`, whose refusal says how a day is written."""
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "description": "The tree stays shared, and a job was started: fetch the answer at `at`",
        "content": {"application/json": {"schema": {"type": "object"}}},
    },
    200: {
        "description": "One prediction a record, in their order",
        "model": PredictionAnswer,
        "content": {
            "application/json": {"example": EXAMPLE_ANSWER},
            "text/csv": {"schema": {"type": "string"}},
        },
    },
}
_LATER: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": told, "content": {"application/json": {"schema": {"type": "object"}}}}
    for status, told in ((200, "The answer"), (202, "The job still runs"))
}
_WAIT: Final[dict[str, Any]] = {
    "name": "wait",
    "in": "query",
    "required": False,
    "description": "Of a tree that stays shared: seconds to wait for the job that answers",
    "schema": {"type": "integer", "minimum": 0, "maximum": 60},
}
_ASKED: Final[dict[str, Any]] = {
    "parameters": [
        {
            "name": "X-Request-Id",
            "in": "header",
            "required": False,
            "description": "Keeps one request with one version while a candidate is on trial",
            "schema": {"type": "string", "maxLength": 200, "pattern": "^[!-~]*$"},
        },
        _WAIT,
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": Question.model_json_schema()},
            "text/csv": {"schema": {"type": "string"}, "example": EXAMPLE_CSV},
        },
    },
}


def add_models(
    router: APIRouter, desk: Desk, guarded: Sequence[Depends], refusals: dict[int | str, dict[str, Any]]
) -> None:
    """`GET /v1/models` and what lies under it."""
    said = refusals | problems(422)

    @router.get("/v1/models", dependencies=guarded, responses=refusals | problems(422), summary="Models")
    def models() -> dict[str, Any]:
        """The models of this hospital, oldest first, with the names under which they answer."""
        return {"models": desk.models()}

    @router.get("/v1/names", dependencies=guarded, responses=said, summary="Names")
    def names() -> dict[str, Any]:
        """The names that point to models, with the trials that run."""
        return {"names": desk.named()}

    @router.get("/v1/names/{name}/history", dependencies=guarded, responses=said, summary="History of a name")
    def history(name: str) -> dict[str, Any]:
        """Who pinned, tried, promoted and rolled back what, oldest first."""
        return {"name": name, "changes": [asdict(change) for change in desk.history(name)]}

    @router.get("/v1/models/{model_id}", dependencies=guarded, responses=said, summary="A model")
    def model(model_id: str) -> dict[str, Any]:
        """One model by name, id or the id's beginning, with its schema and its tree."""
        return desk.describe(model_id)

    @router.get(
        "/v1/models/{model_id}/card",
        dependencies=guarded,
        summary="Model card",
        response_model=None,
        responses=said
        | {200: {"description": "The card", "content": {MARKDOWN: {"schema": {"type": "string"}}}}},
    )
    def card(model_id: str, request: Request) -> Response | dict[str, Any]:
        """Intended use, origin, rules, evaluations and limits; as Markdown where `Accept` asks for it."""
        found = desk.card(model_id)
        if MARKDOWN in request.headers.get("accept", ""):
            return Response(card_markdown(found), media_type=MARKDOWN)
        return JSONResponse(found)

    @router.get("/v1/models/{model_id}/drift", dependencies=guarded, responses=said, summary="Drift")
    def drift(model_id: str, since: _Day | None = None) -> dict[str, Any]:
        """What the model was asked since a moment, by attribute and value, against the training; counters only.

        `since`: a day such as 2027-11-30; from the beginning of its week on. `over_time`: week by week.
        """
        return desk.drift(model_id, None if since is None else day_from(since))


def add_predictions(
    router: APIRouter, desk: Desk, guarded: Sequence[Depends], refusals: dict[int | str, dict[str, Any]]
) -> None:
    """`POST /v1/models/{id}/predict`, and `POST /predict` as it was named before."""
    said = refusals | problems(400, 408, 409, 413, 422, 429, 503) | _ANSWERS

    async def predict(request: Request, model_id: str) -> Response:
        """Class, certainty where the study allows it, path in words, and what was missing, for each record.

        `model_id`: a name such as `study:ID`, a model's id or its beginning, or `latest`. Records come as JSON or as
        CSV with a header; `Accept: text/csv` is answered in CSV. A tree that stays shared is asked by a job: the
        answer is 202 with the place to look at, unless the job ends within `wait` seconds.
        """
        return await answer(request, desk, model_id)

    async def ask(request: Request) -> Response:
        """The older name of `POST /v1/models/{model_id}/predict`; the body names the model, else the newest answers."""
        return await answer(request, desk, None)

    for path, endpoint, summary in (
        ("/v1/models/{model_id}/predict", predict, "Predict"),
        ("/predict", ask, "Predict (older name)"),
    ):
        router.add_api_route(
            path,
            endpoint,
            methods=["POST"],
            dependencies=guarded,
            responses=said,
            summary=summary,
            response_class=Response,
            openapi_extra=_ASKED,
            route_class_override=DirectRoute,
        )

    async def later(request: Request, question_id: str) -> Response:
        """What came of a question to a tree that stays shared; waits up to `wait` seconds. Kept for an hour."""
        wait = wait_of(request)
        question = await run_in_threadpool(desk.shared_answer, question_id, wait)
        return shared_response(desk, question)

    router.add_api_route(
        "/v1/predictions/{question_id}",
        later,
        methods=["GET"],
        dependencies=guarded,
        responses=refusals | problems(400, 404, 409, 422) | _LATER,
        summary="Answer of a shared tree",
        response_class=Response,
        openapi_extra={"parameters": [_WAIT]},
        route_class_override=DirectRoute,
    )
