"""CDS Hooks 2.0: discovery, the services patient-view and order-select, and feedback on their cards.

`GET /cds-services`, `POST /cds-services/{id}`, `POST /cds-services/{id}/feedback`. Errors are OperationOutcomes. Where
the file of services names clients, every question needs a token of one of them; else the door of the local API decides.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, HTTPConnection

from hospital_agent.clinical.asked import (
    FEEDBACK_SCHEMA,
    QUESTION_SCHEMA,
    Feedback,
    HookRequest,
    as_feedback,
    as_request,
    described,
    parsed,
)
from hospital_agent.clinical.asking import Desk
from hospital_agent.clinical.cards import Shown, card_of
from hospital_agent.clinical.clients import Clients
from hospital_agent.clinical.ledger import Ledger
from hospital_agent.clinical.outcomes import ClinicalError, outcome, outcomes
from hospital_agent.clinical.prefetch import PATIENT, Basket, templates, type_of
from hospital_agent.clinical.services import Service
from hospital_agent.ehr import ClinicalServers
from hospital_agent.local_api import Door, RefusedError
from shared.errors import InputError, TemporaryError
from shared.rng import random_bytes

PREFIX: Final = "/cds-services"
_CORS_SECONDS: Final = "600"
_UUID_BYTES: Final = 16
_OF_BROWSERS: Final = (b"origin", b"sec-fetch-site")
_CODE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What is kept of a reason: a code, never words, which may name a patient."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """All that the three endpoints need. `public_url`: the base of exact audiences; `origins`: that browsers may have.

    `links`: where a model is shown to people, below the base.
    """

    desk: Desk
    ledger: Ledger = field(repr=False)
    clients: Clients = field(repr=False)
    servers: ClinicalServers
    public_url: str
    origins: frozenset[str]
    links: str

    def discovery(self) -> dict[str, Any]:
        """All services; one whose mapping needs resources says which."""
        return {"services": [self._described(one) for one in self.desk.clinical.services.values()]}

    def _described(self, service: Service) -> dict[str, Any]:
        told: dict[str, Any] = {
            "hook": service.hook,
            "title": service.title,
            "description": service.description,
            "id": service.id,
        }
        wanted = self._templates(service)
        if wanted:
            told["prefetch"] = wanted
        if service.usage_requirements:
            told["usageRequirements"] = service.usage_requirements
        return told

    def _templates(self, service: Service) -> dict[str, str]:
        """Empty while the model is not here yet."""
        try:
            return templates(self.desk.reader(service.model).mapping)
        except InputError:
            return {}

    def cards(self, service: Service, asked: HookRequest, request: Request) -> dict[str, Any]:
        """The answer to one question. Raises: ClinicalError, InputError."""
        if asked.hook != service.hook:
            raise ClinicalError(400, f"This service is of hook {service.hook}.")
        try:
            reader = self.desk.reader(service.model)
        except InputError as error:
            raise ClinicalError(503, f"This service cannot answer now: {error}") from None
        basket = self._basket(templates(reader.mapping), asked)
        selected = asked.context.selected()
        gathered = basket.gathered(asked.context.patientId, selected)
        record = self.desk.read(reader, gathered, selected)
        answered = self.desk.answer(service.model, record, request, asked.context.patientId)
        found = Shown(service, answered, record)
        if not found.is_covered and service.uncovered == "none":
            return {"cards": []}
        uuid = UUID(bytes=random_bytes(_UUID_BYTES), version=4)
        self.ledger.issue(
            str(uuid),
            service.id,
            found.model.id,
            covered=found.is_covered,
            now=int(self.desk.now().timestamp()),
        )
        return {"cards": [card_of(found, uuid, self._link(found.model.id, request))]}

    def _basket(self, wanted: dict[str, str], asked: HookRequest) -> Basket:
        """What was sent along; what was not is fetched, where that is allowed. Raises: ClinicalError: 412."""
        basket = Basket.of(wanted, asked.prefetch)
        if not basket.missing:
            return basket
        server, told = asked.fhirServer or "", ", ".join(basket.missing)
        if not server or not self.servers.allows(server):
            raise ClinicalError(
                412,
                f"Needed and not sent along: prefetch {told}; and this agent does not fetch from the FHIR server named "
                "(setting clinical.fhir_servers).",
            )
        token = "" if asked.fhirAuthorization is None else asked.fhirAuthorization.access_token
        for query in basket.missing.values():
            try:
                found = self.servers.resources(server, query.replace(PATIENT, asked.context.patientId), token)
            except TemporaryError as error:
                raise ClinicalError(
                    412, f"Needed, not sent along, and not to be had: {told} ({error})."
                ) from None
            basket.put(type_of(query), found, "what the FHIR server sent")
        return basket

    def _link(self, model: str, request: Request) -> str:
        base = self.public_url or str(request.base_url).rstrip("/")
        return base + self.links.format(model=model)

    def audience(self, request: Request) -> str:
        """The exact address that a token must be for."""
        return self.public_url + request.url.path

    def door(self) -> Door:
        """Who may come in: see the module."""

        def decide(connection: HTTPConnection) -> Response | str:
            origin, method = connection.headers.get("origin", ""), connection.scope["method"]
            if method == "OPTIONS":
                return _preflight(origin) if origin in self.origins else outcome(403, "Not from this origin.")
            if origin and origin not in self.origins and self.clients.clients:
                return outcome(403, "Not from this origin (setting clinical.origins).")
            if method == "GET" and connection.scope["path"] == PREFIX:
                return "discovery"
            if not self.clients.clients:
                return self._usual(connection, origin)
            if not connection.headers.get("authorization", "").startswith("Bearer "):
                return outcome(
                    401, "A token (JWT) of a known client is needed.", **{"WWW-Authenticate": "Bearer"}
                )
            return "a client"  # whose token the endpoint checks, off the event loop

        return decide

    def _usual(self, connection: HTTPConnection, origin: str) -> Response | str:
        if origin in self.origins:
            headers = [pair for pair in connection.scope["headers"] if pair[0] not in _OF_BROWSERS]
            connection = HTTPConnection({**connection.scope, "headers": headers})
        decided: Response | str = self.desk.app.state.gate.usual(connection)
        if isinstance(decided, str):
            return decided
        return outcome(
            decided.status_code, "This caller is not let in (settings local.token and clinical.services)."
        )

    def service(self, wanted: str) -> Service:
        """A service by id. Raises: ClinicalError: 404."""
        found = self.desk.clinical.services.get(wanted)
        if found is None:
            raise ClinicalError(404, "No service has that id; GET /cds-services names those there are.")
        return found

    def judge(self, service: Service, told: Feedback) -> None:
        """Keep what became of this service's cards; words on others' are passed over."""
        now = int(self.desk.now().timestamp())
        for entry in told.feedback:
            code = entry.overrideReason.reason.code if entry.outcome == "overridden" else ""
            reason = code if _CODE.fullmatch(code) else ""
            self.ledger.judge(service.id, str(entry.card), entry.outcome, reason, now=now)

    def check(self, request: Request) -> None:
        """The client's token, where tokens are needed; its issuer is the caller from now on. Raises: ClinicalError."""
        if self.clients.clients:
            token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
            request.state.caller = f"cds {self.clients.caller_of(token, self.audience(request))}"

    def allowed(self, request: Request) -> dict[str, str]:
        """Headers that let a page of a configured origin read the answer."""
        origin = request.headers.get("origin", "")
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"} if origin in self.origins else {}


def _preflight(origin: str) -> Response:
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
            "Access-Control-Allow-Headers": "Authorization, Content-Type",
            "Access-Control-Max-Age": _CORS_SECONDS,
            "Vary": "Origin",
        },
    )


def routes(hooks: Hooks) -> APIRouter:
    """The endpoints."""
    router = APIRouter(tags=["CDS Hooks"], prefix=PREFIX)

    @router.get("")
    def discover(request: Request) -> Response:
        """The services there are, whoever asks."""
        return JSONResponse(hooks.discovery(), headers=hooks.allowed(request))

    @router.post(
        "/{service_id}",
        responses=outcomes(400, 401, 403, 404, 408, 412, 413, 422, 429, 503),
        openapi_extra=described(QUESTION_SCHEMA),
    )
    async def ask(service_id: str, request: Request) -> Response:
        """Cards for one patient."""

        def answer(raw: bytes) -> dict[str, Any]:
            return hooks.cards(hooks.service(service_id), as_request(parsed(raw)), request)

        return await _answered(hooks, request, answer)

    @router.post(
        "/{service_id}/feedback",
        responses=outcomes(400, 401, 403, 404, 408, 413, 503),
        openapi_extra=described(FEEDBACK_SCHEMA),
    )
    async def judge(service_id: str, request: Request) -> Response:
        """What became of cards: whether they were of use, and if not, the code of the reason."""

        def answer(raw: bytes) -> dict[str, Any]:
            hooks.judge(hooks.service(service_id), as_feedback(parsed(raw)))
            return {}

        return await _answered(hooks, request, answer)

    return router


async def _answered(hooks: Hooks, request: Request, answer: Callable[[bytes], dict[str, Any]]) -> Response:
    """JSON, or an OperationOutcome. Strangers' bodies are not read: many large ones would fill the memory."""
    headers = hooks.allowed(request)
    try:
        await run_in_threadpool(hooks.check, request)
        raw = await request.body()
        return JSONResponse(await run_in_threadpool(answer, raw), headers=headers)
    except ClientDisconnect:
        return outcome(408, "The body did not arrive in time.", **headers)
    except ClinicalError as error:
        return outcome(error.status, error.detail, **headers)
    except RefusedError as error:
        return outcome(error.status, error.detail, **headers, **error.headers)
    except InputError as error:
        return outcome(422, str(error), **headers)
    except sqlite3.Error:
        return outcome(
            503, "The agent cannot keep its list of cards and tokens now; its disk may be full.", **headers
        )
