"""The message door of agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response

from cloud_service.api.answers import json_answer
from cloud_service.api.body import held_body
from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from shared.protocol.audit_log import JOURNAL_HEADER
from shared.wire.envelope import SignedEnvelope

router = APIRouter(tags=["agents"])


async def raw_message(request: Request, services: Use) -> AsyncIterator[bytes]:
    """The message's bytes as they were signed."""
    room = request.app.state.large_bodies
    async with held_body(request, services.settings.largest_body_bytes, room) as raw:
        yield raw


@router.post(
    "/v1/messages",
    summary="Send one signed envelope",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        **SignedEnvelope.model_json_schema(),
                        "description": "In canonical JSON; may be packed by gzip.",
                    }
                }
            },
        }
    },
    responses={
        200: {"description": "The cloud's signed receipt", "content": {"application/json": {}}},
        **responses(400, 401, 403, 409, 413, 422, 429, 503),
    },
    response_class=Response,
)
def send(
    request: Request,
    services: Use,
    raw: Annotated[bytes, Depends(raw_message, scope="function")],
    journal: Annotated[
        str | None,
        Header(
            alias=JOURNAL_HEADER, description="Signed: where the sender's own log stands. May be left out."
        ),
    ] = None,
) -> Response:
    """Take a hospital's message and answer with a signed receipt.

    Safe to repeat: the same bytes get the same receipt. Other bytes in the place of a message that was taken are
    refused (`replay_conflict`), and both are kept as evidence.
    """
    return json_answer(request, services.messages.accept(raw, journal))
