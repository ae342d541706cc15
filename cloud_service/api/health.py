"""Whether the process lives, and whether it can work."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from cloud_service.store import schema
from shared.errors import TemporaryError

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """`ok`."""

    status: str = "ok"


@router.get("/healthz", summary="Alive")
async def healthz() -> Health:
    """The process answers."""
    return Health()


@router.get("/readyz", summary="Ready", responses=responses(503))
def readyz(services: Use) -> Health:
    """The database can be reached, its tables suit this version, and the server is not about to stop."""
    if services.notifier.is_draining:
        raise TemporaryError("this server stops")
    if not schema.state(services.database).is_usable:
        raise TemporaryError("the database's tables do not suit this version")
    return Health()
