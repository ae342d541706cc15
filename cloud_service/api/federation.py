"""The signed federation document, public."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from cloud_service.api.answers import json_answer
from cloud_service.api.caller import Use
from cloud_service.api.problems import responses

router = APIRouter(tags=["agents"])


@router.get(
    "/v1/federation",
    summary="The federation document in force",
    responses={
        200: {
            "description": "Exactly as the trusted authority signed it",
            "content": {"application/json": {}},
        },
        **responses(503),
    },
    response_class=Response,
)
def federation(request: Request, services: Use) -> Response:
    """Members, public key and epoch. Who reads it verifies it against the root certificate's fingerprint."""
    return json_answer(request, services.membership.current().document)
