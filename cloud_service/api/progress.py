"""Progress of secret jobs, as their members tell it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from cloud_service.api.body import read_body
from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from shared.wire.secret import SignedProgress

router = APIRouter(tags=["agents"])
_MAX_BYTES = 2**17


async def report(request: Request) -> SignedProgress:
    """The signed body; strict, so it is parsed from its bytes."""
    raw = await read_body(request, _MAX_BYTES)
    return SignedProgress.parse(raw, what="progress", max_bytes=_MAX_BYTES)


@router.post(
    "/v1/jobs/{job_id}/progress",
    status_code=204,
    summary="Tell where a member of a secret job stands",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": SignedProgress.model_json_schema()}},
        }
    },
    responses=responses(400, 401, 409, 413, 429, 503),
)
def tell(services: Use, job_id: str, signed: Annotated[SignedProgress, Depends(report)]) -> Response:
    """Phase, layer, rounds, bytes and seconds. A compute party that works keeps the job from being paused."""
    services.progress.take(job_id, signed)
    return Response(status_code=204)
