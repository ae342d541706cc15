"""The application: which paths answer what.

`GET /healthz`, `GET /status`, `GET /models`, `GET /models/{id}`, `POST /predict`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Security
from fastapi.responses import Response
from fastapi.security import HTTPBearer

from hospital_agent.local_api.guards import Gate, Guard
from hospital_agent.local_api.library import Library
from hospital_agent.local_api.problems import add_problems, problems
from hospital_agent.local_api.questions import ExactRoute, Question
from hospital_agent.models import NOTICE, description, summary


def create_app(
    library: Library, status: Callable[[], Mapping[str, Any]], token: str | None, gate: Gate | None = None
) -> FastAPI:
    """The application. `status`: what `GET /status` shows, asked each time. `gate`: with doors of other rooms."""
    app = FastAPI(title="Privet hospital agent", description=NOTICE, docs_url=None, redoc_url=None)
    app.router.route_class = ExactRoute
    app.state.library = library
    app.state.gate = Gate(token) if gate is None else gate
    app.add_middleware(Guard, gate=app.state.gate)
    refusals = problems(401 if token is not None else 403)
    guarded = [Security(HTTPBearer(auto_error=False))] if token is not None else []
    add_problems(app)

    @app.get("/healthz", responses={} if token is not None else refusals)
    def healthz() -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok"}

    @app.get("/status", dependencies=guarded, responses=refusals)
    def show_status() -> Mapping[str, Any]:
        """Jobs and membership, as `privet agent status` shows them."""
        return status()

    @app.get("/models", dependencies=guarded, responses=refusals | problems(422))
    def models() -> dict[str, Any]:
        """The models of this hospital, oldest first."""
        return {"models": [summary(library.answers(job).model) for job in library.shelf.ids()]}

    @app.get("/models/{model_id}", dependencies=guarded, responses=refusals | problems(422))
    def model(model_id: str) -> dict[str, Any]:
        """One model with its schema and its tree."""
        return description(library.answers(model_id).model)

    @app.post("/predict", dependencies=guarded, responses=refusals | problems(400, 413, 422))
    def predict(question: Question) -> Response:
        """Class, certainty where the study allows it, path in words, and what was missing, for each record."""
        records = question.records if question.records is not None else [question.record or {}]
        answers = library.answers(question.model)
        document = answers.document([answers.as_study(record) for record in records])
        return Response(json.dumps(document, ensure_ascii=False), media_type="application/json")

    return app
