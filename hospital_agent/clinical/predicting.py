"""`POST /v1/models/{id}/predict` with FHIR resources: the usual answer, and where each input came from.

Only requests of `Content-Type: application/fhir+json` come here; the path with other types is the local API's. The
body: a Bundle, a list of resources, or one, of one patient. Errors are OperationOutcomes, as the question was in FHIR.
"""

from __future__ import annotations

import json
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from hospital_agent.clinical.asked import Body, parsed
from hospital_agent.clinical.asking import Desk
from hospital_agent.clinical.outcomes import FHIR_JSON, ClinicalError, outcome, outcomes
from hospital_agent.local_api import RefusedError
from shared.contract.fhir_resources import Gathered, has_more, of_one_patient, resources_in
from shared.errors import InputError
from shared.wire.fhir_mapping import DATED

PATH: Final = "/v1/models/{model_id}/predict"


class FhirRoute(APIRoute):
    """A route for bodies of FHIR only."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether path, method and type of body are this route's."""
        if scope["type"] != "http" or not _is_fhir(scope):
            return Match.NONE, {}
        return super().matches(scope)


def _is_fhir(scope: Scope) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    return any(kind.split(b";")[0].strip().lower() == FHIR_JSON.encode() for kind in kinds)


def routes(desk: Desk) -> APIRouter:
    """The endpoint."""
    router = APIRouter(tags=["FHIR"], route_class=FhirRoute)

    @router.post(PATH, include_in_schema=False, responses=outcomes(400, 413, 422))
    def predict(model_id: str, request: Request, raw: Body) -> Response:
        """The answer for one patient, with `inputs`: where each came from, or why it is missing."""
        try:
            document = answered(desk, model_id, parsed(raw), request)
        except ClinicalError as error:
            return outcome(error.status, error.detail)
        except RefusedError as error:
            return outcome(error.status, error.detail, **error.headers)
        except InputError as error:
            return outcome(422, str(error))
        return Response(json.dumps(document, ensure_ascii=False), media_type="application/json")

    return router


def answered(desk: Desk, wanted: str, body: Any, request: Request) -> dict[str, Any]:
    """The answer's document. Raises: InputError, ClinicalError."""
    reader = desk.reader(wanted)
    record = desk.read(reader, gathered_of(body))
    mapping = reader.mapping
    return {
        **desk.answer(wanted, record, request, request.headers.get("x-request-id")).document(),
        "mapping": {"name": mapping.name, "sha256": mapping.sha256},
        "inputs": [one.document for one in record.origins],
    }


def gathered_of(body: Any) -> Gathered:
    """The resources of one patient; where a Bundle says that there is more of it, none of a type means nothing."""
    resources = of_one_patient(resources_in(body))
    return Gathered(tuple(resources), frozenset(DATED) if has_more(body) else frozenset())
