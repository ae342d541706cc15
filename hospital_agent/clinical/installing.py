"""The clinical room beside the local API: services and clients read, endpoints added, the door told."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from fastapi import APIRouter, FastAPI

from hospital_agent.clinical import hooks, predicting
from hospital_agent.clinical.asking import Desk
from hospital_agent.clinical.clients import Clients
from hospital_agent.clinical.hooks import Hooks
from hospital_agent.clinical.ledger import Ledger
from hospital_agent.clinical.services import Clinical, load_services
from hospital_agent.clinical_settings import ClinicalSection
from hospital_agent.ehr import ClinicalServers
from shared.errors import InputError
from shared.wire.fhir_mapping import FhirMapping

_PAGE = "/house/models/{model}"
_CARD = "/v1/models/{model}/card"


def install(
    app: FastAPI,
    folder: Path,
    settings: ClinicalSection,
    *,
    pages: bool,
    signed: Callable[[str], FhirMapping | None] = lambda _study: None,
    now: Callable[[], float] = time.time,
) -> Clinical | None:
    """Answer clinical systems too, if the settings name a file of services.

    Args: pages: whether people are shown models here. signed: the mapping in a study's document. now: Unix seconds.
    Raises: InputError: a file that cannot be used, or clients without the address that their tokens must name.
    """
    if settings.services is None:
        return None
    clinical = load_services(settings.services, signed)
    if clinical.clients and not settings.public_url:
        raise InputError(
            "clients need the address that their tokens name",
            where="setting clinical.public_url",
            remedy="Set it to the base URL under which they reach this agent.",
        )
    servers = ClinicalServers(frozenset(settings.fhir_servers), settings.ca_bundle)
    ledger = Ledger.open(folder)
    clients = Clients(clinical.clients, ledger, servers.keys, lambda: int(now()))
    clients.check_files()
    desk = Desk(app, clinical, lambda: datetime.fromtimestamp(now(), UTC))
    found = Hooks(
        desk,
        ledger,
        clients,
        servers,
        settings.public_url,
        frozenset(settings.origins),
        _PAGE if pages else _CARD,
    )
    app.state.gate.own_door(hooks.PREFIX, found.door())
    app.include_router(hooks.routes(found))
    _put_first(app, predicting.routes(desk))
    return clinical


def _put_first(app: FastAPI, router: APIRouter) -> None:
    """Routes that look at the type of the body must be asked before those of the same path that take any."""
    known = len(app.router.routes)
    app.include_router(router)
    app.router.routes[:] = [*app.router.routes[known:], *app.router.routes[:known]]
