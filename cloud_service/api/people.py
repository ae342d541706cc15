"""People with an account here, and the log of their sign-ins and changes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.caller import Use, may
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller, Permission
from shared.wire.base import MAX_INTEGER

router = APIRouter(tags=["people"])


class PersonOut(BaseModel):
    """A local account. Times are Unix seconds."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    roles: list[str]
    hospital: str | None
    has_second_factor: bool
    created: int
    disabled: int | None


class PersonList(BaseModel):
    """All local accounts, by name."""

    people: list[PersonOut]


class PeopleRecordOut(BaseModel):
    """`hash`: SHA-256 of the hash before (32 zero bytes at first) and the record's canonical JSON (RFC 8785)."""

    model_config = ConfigDict(from_attributes=True)

    number: int
    record: dict[str, Any] = Field(
        description="`actor`, `act`, `subject`, `time` and what belongs to the act"
    )
    hash: str


class PeopleLog(BaseModel):
    """Records in their order."""

    records: list[PeopleRecordOut]


@router.get("/v1/people", summary="List people", responses=responses(401, 403, 429, 503))
def people(services: Use, _caller: Annotated[Caller, Depends(may(Permission.PEOPLE_READ))]) -> PersonList:
    """Every local account; those of an identity provider are only there."""
    return PersonList(people=[PersonOut.model_validate(one) for one in services.people.accounts.all()])


@router.get("/v1/people/audit", summary="The people's log", responses=responses(401, 403, 422, 429, 503))
def audit(
    services: Use,
    _caller: Annotated[Caller, Depends(may(Permission.AUDIT_READ))],
    after: Annotated[int, Query(ge=-1, le=MAX_INTEGER, description="Number of the last record seen.")] = -1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> PeopleLog:
    """Who signed in or was refused, and who changed which account or token, chained by hashes."""
    found = services.people.log(after, limit)
    return PeopleLog(records=[PeopleRecordOut.model_validate(entry) for entry in found])
