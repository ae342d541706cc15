"""Hospitals: agents register, people look."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.body import read_body
from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.hospitals import HospitalView
from cloud_service.service.permissions import Caller, Permission
from shared.protocol.polling import SignedRegistration

router = APIRouter()
_MAX_BYTES = 2**14


class HospitalOut(BaseModel):
    """A registered hospital. Times are Unix seconds."""

    model_config = ConfigDict(
        from_attributes=True,
        json_schema_extra={
            "example": {
                "id": "h1",
                "certificate_sha256": "1f" * 32,
                "version": "0.1.0",
                "registered": 1796000000,
                "last_seen": 1796000042,
                "is_member": True,
                "certificate_until": 1859072000,
            }
        },
    )

    id: str
    certificate_sha256: str
    version: str = Field(description="Of the agent's software")
    registered: int
    last_seen: int = Field(description="When the agent last sent a signed request")
    is_member: bool = Field(description="Whether the federation still lists this certificate")
    certificate_until: int = Field(
        description="When the certificate ends; past this, and when invitations would end later, no job is offered"
    )


class HospitalList(BaseModel):
    """All registered hospitals, by id."""

    hospitals: list[HospitalOut]


async def registration(request: Request) -> SignedRegistration:
    """The signed body; strict, so it is parsed from its bytes."""
    raw = await read_body(request, _MAX_BYTES)
    return SignedRegistration.parse(raw, what="registration", max_bytes=_MAX_BYTES)


def _out(view: HospitalView) -> HospitalOut:
    return HospitalOut.model_validate(view)


@router.post(
    "/v1/hospitals",
    tags=["agents"],
    summary="Register an agent",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": SignedRegistration.model_json_schema()}},
        }
    },
    responses=responses(400, 401, 413, 429, 503),
)
def register(services: Use, signed: Annotated[SignedRegistration, Depends(registration)]) -> HospitalOut:
    """An agent shows its certificate, signed with its key. Registering again tells that it has started."""
    return _out(services.hospitals.register(signed))


@router.get(
    "/v1/hospitals", tags=["people"], summary="List hospitals", responses=responses(401, 403, 429, 503)
)
def hospitals(
    services: Use, _caller: Annotated[Caller, Depends(may(Permission.HOSPITALS_READ))]
) -> HospitalList:
    """Every hospital that has registered."""
    return HospitalList(hospitals=[_out(view) for view in services.hospitals.all()])
