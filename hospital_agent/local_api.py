"""Predictions for this hospital's own programs, on this machine by default; nothing here ever calls the cloud.

`GET /healthz`, `GET /status`, `GET /models`, `GET /models/{id}`, `POST /predict`. Errors are problem documents
(RFC 9457). Where a token is set, every path but `/healthz` needs it as a bearer token. Without one, only requests that
name this machine as their host, and no other as their origin, are answered: a page in a browser here can be made to
ask, under a name of its own that leads to this machine.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Final

import uvicorn
from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.middleware.base import RequestResponseEndpoint

from hospital_agent.models import NOTICE, Answers, Shelf, description, summary
from hospital_agent.settings import LocalSection
from shared.contract.asking import AskedReader
from shared.errors import InputError
from shared.hosts import is_loopback

MAX_BODY_BYTES: Final = 16 * 2**20
MAX_RECORDS: Final = 10_000
_STARTING_SECONDS: Final = 0.01
_PROBLEM_TYPE: Final = "application/problem+json"
_EXAMPLE: Final[JsonDict] = {"record": {"lumbar pain": "yes", "temperature": 38.5}}

Value = str | int | float | Decimal | bool | None


class ExactRequest(Request):
    """A request whose JSON numbers keep all their digits, because a threshold may be one digit away."""

    async def json(self) -> Any:
        """The body, numbers with a point or an exponent as decimals."""
        return json.loads(await self.body(), parse_float=Decimal)


class ExactRoute(APIRoute):
    """A route that reads its body so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given an `ExactRequest`."""
        handle = super().get_route_handler()

        async def exact(request: Request) -> Response:
            return await handle(ExactRequest(request.scope, request.receive))

        return exact


class Question(BaseModel):
    """`POST /predict`: one `record` or several `records`, by attribute name; `model`: an id, or the newest."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    model: str | None = None
    record: dict[str, Value] | None = None
    records: Annotated[list[dict[str, Value]], Field(min_length=1, max_length=MAX_RECORDS)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Question:
        if (self.record is None) == (self.records is None):
            raise ValueError("give either record or records")
        return self


@dataclass(slots=True)
class Library:
    """Verified models, each read once; a changed or removed file is noticed by its time stamp.

    `reader_of`: how the data contract of a study reads questions about its models; None where it has none.
    """

    shelf: Shelf
    reader_of: Callable[[str], AskedReader | None] = lambda _study: None
    _read: dict[str, tuple[int, Answers]] = field(default_factory=dict, repr=False)

    def answers(self, wanted: str | None) -> Answers:
        """A model by id or its beginning; None: the newest. Raises: InputError."""
        job = self.shelf.newest() if wanted is None else self.shelf.find(wanted)
        stamp = self.shelf.path_of(job).stat().st_mtime_ns
        known = self._read.get(job)
        if known is None or known[0] != stamp:
            model = self.shelf.get(job)
            known = (stamp, Answers.of(model, self.reader_of(model.manifest.study)))
            self._read[job] = known
        return known[1]


def create_app(library: Library, status: Callable[[], Mapping[str, Any]], token: str | None) -> FastAPI:
    """The application. `status`: what `GET /status` shows, asked each time."""
    app = FastAPI(title="Privet hospital agent", description=NOTICE, docs_url=None, redoc_url=None)
    app.router.route_class = ExactRoute
    refusals = _problems(401 if token is not None else 403)
    guarded = [Security(HTTPBearer(auto_error=False))] if token is not None else []
    _add_guards(app, token)
    _add_problems(app)

    @app.get("/healthz", responses={} if token is not None else refusals)
    def healthz() -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok"}

    @app.get("/status", dependencies=guarded, responses=refusals)
    def show_status() -> Mapping[str, Any]:
        """Jobs and membership, as `privet agent status` shows them."""
        return status()

    @app.get("/models", dependencies=guarded, responses=refusals | _problems(422))
    def models() -> dict[str, Any]:
        """The models of this hospital, oldest first."""
        return {"models": [summary(library.answers(job).model) for job in library.shelf.ids()]}

    @app.get("/models/{model_id}", dependencies=guarded, responses=refusals | _problems(422))
    def model(model_id: str) -> dict[str, Any]:
        """One model with its schema and its tree."""
        return description(library.answers(model_id).model)

    @app.post("/predict", dependencies=guarded, responses=refusals | _problems(400, 413, 422))
    def predict(question: Question) -> Response:
        """Class, certainty where the study allows it, path in words, and what was missing, for each record."""
        records = question.records if question.records is not None else [question.record or {}]
        answers = library.answers(question.model)
        document = answers.document([answers.as_study(record) for record in records])
        return Response(json.dumps(document, ensure_ascii=False), media_type="application/json")

    return app


class Problem(BaseModel):
    """How errors are answered. `where` and `remedy` stand where there is more to say."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str = ""
    remedy: str = ""


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's description: which problems it answers with."""
    content = {_PROBLEM_TYPE: {"schema": Problem.model_json_schema()}}
    return {status: {"description": "Problem", "content": content} for status in statuses}


def _add_guards(app: FastAPI, token: str | None) -> None:
    @app.middleware("http")
    async def guard(request: Request, call_next: RequestResponseEndpoint) -> Response:
        if token is not None and request.url.path != "/healthz" and not _knows(request, token):
            return _problem(401, "unauthorised", "A bearer token is needed (setting local.token).")
        if token is None and not _from_here(request):
            return _problem(
                403, "foreign_origin", "Only programs of this machine are answered; set local.token."
            )
        length = request.headers.get("content-length", "")
        if request.method == "POST" and not (length.isdigit() and int(length) <= MAX_BODY_BYTES):
            return _problem(
                413, "too_large", f"A body of stated length up to {MAX_BODY_BYTES} bytes is needed."
            )
        return await call_next(request)


def _from_here(request: Request) -> bool:
    """Whether Host, and Origin if a browser sent one, name this machine."""
    named = [f"//{request.headers.get('host', '')}", *request.headers.getlist("origin")]
    return all(map(_names_this_machine, named))


def _names_this_machine(url: str) -> bool:
    try:
        return is_loopback(URL(url).hostname or "")
    except ValueError:
        return False


def _knows(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return hmac.compare_digest(given.encode(), token.encode())


def _add_problems(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    def refused(_request: Request, error: InputError) -> Response:
        return _problem(422, "input_refused", str(error), where=error.where, remedy=error.remedy)

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return _problem(422, "malformed", f"{place}: {first['msg']}", where=place)

    @app.exception_handler(HTTPException)
    def other(_request: Request, error: HTTPException) -> Response:
        code = "not_found" if error.status_code == 404 else "refused"
        answer = _problem(error.status_code, code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer


def _problem(status: int, code: str, detail: str, **more: str) -> Response:
    document = {
        "type": f"urn:privet:problem:{code}",
        "title": code.replace("_", " "),
        "status": status,
        "detail": detail,
        "code": code,
    }
    filled = {name: text for name, text in more.items() if text}
    return JSONResponse(document | filled, status, media_type=_PROBLEM_TYPE)


@contextmanager
def serving(app: FastAPI, settings: LocalSection) -> Iterator[str]:
    """Serve in a thread of its own while the context lasts; gives the base URL.

    Raises: InputError: the address or port cannot be had.
    """
    # The server binds by itself: a socket handed to it would answer some 40 ms late, for want of TCP_NODELAY.
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        log_config=None,
        log_level="critical",
        lifespan="off",
        server_header=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_serve, args=(server,), name="local-api", daemon=True)
    thread.start()
    try:
        yield _base_url(server, thread, settings)
    finally:
        server.should_exit = True
        thread.join(timeout=5.0)


def _serve(server: uvicorn.Server) -> None:
    with suppress(SystemExit):  # uvicorn's way to say that it could not bind; `_base_url` says it better
        server.run()


def _base_url(server: uvicorn.Server, thread: threading.Thread, settings: LocalSection) -> str:
    """Where the server listens, as soon as it does."""
    while not server.started:
        if not thread.is_alive():
            raise InputError(
                "the address cannot be had",
                where=f"settings local.host and local.port, {settings.host} port {settings.port}",
                remedy="Choose another port, set local.serve = false, or stop the program that has it.",
                number="A016",
            )
        time.sleep(_STARTING_SECONDS)
    port = server.servers[0].sockets[0].getsockname()[1]
    return f"http://{settings.host}:{port}"
