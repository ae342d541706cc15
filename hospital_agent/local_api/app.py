"""The application: `GET /healthz`, `GET /status`, `/v1` (module `versioned`), and paths by their older names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer

from hospital_agent.local_api.desk import Desk
from hospital_agent.local_api.guards import Gate, Guard
from hospital_agent.local_api.library import Library
from hospital_agent.local_api.problems import add_problems, problems
from hospital_agent.local_api.questions import ExactRoute
from hospital_agent.local_api.versioned import add_models, add_predictions
from hospital_agent.models import description, summary
from shared.texts import text


def create_app(
    library: Library,
    status: Callable[[], Mapping[str, Any]],
    token: str | None,
    gate: Gate | None = None,
    desk: Desk | None = None,
) -> FastAPI:
    """The application. `status`: what `GET /status` shows, asked each time.

    Args: gate: with doors of other rooms. desk: that counts and notes; by default one that keeps nothing.
    """
    app = FastAPI(
        title="Privet hospital agent", description=text("common.notice"), docs_url=None, redoc_url=None
    )
    app.router.route_class = ExactRoute
    app.state.library = library
    app.state.gate = Gate(token) if gate is None else gate
    app.state.desk = Desk(library) if desk is None else desk
    app.add_middleware(Guard, gate=app.state.gate)
    refusals = problems(401 if token is not None else 403)
    guarded = [Security(HTTPBearer(auto_error=False))] if token is not None else []
    add_problems(app)
    add_predictions(app.router, app.state.desk, guarded, refusals)
    add_models(app.router, app.state.desk, guarded, refusals)

    @app.get("/healthz", responses={} if token is not None else refusals)
    def healthz() -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok"}

    @app.get("/status", dependencies=guarded, responses=refusals)
    def show_status() -> Mapping[str, Any]:
        """Jobs and membership, as `privet agent status` shows them."""
        return status()

    @app.get(
        "/models", dependencies=guarded, responses=refusals | problems(422), summary="Models (older name)"
    )
    def models() -> dict[str, Any]:
        """The models of this hospital, oldest first; see `GET /v1/models`."""
        return {"models": [summary(library.answers(job).model) for job in library.shelf.ids()]}

    @app.get(
        "/models/{model_id}",
        dependencies=guarded,
        responses=refusals | problems(422),
        summary="A model (older name)",
    )
    def model(model_id: str) -> dict[str, Any]:
        """One model with its schema and its tree; see `GET /v1/models/{model_id}`."""
        return description(library.answers(model_id).model)

    return app
