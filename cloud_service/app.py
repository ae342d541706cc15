"""The composition root: settings and keys to a FastAPI application with its background work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from anyio import to_thread
from fastapi import FastAPI

from cloud_service import pages
from cloud_service.api import (
    agent_studies,
    body,
    describing,
    disclosures,
    docs,
    events,
    federation,
    frames,
    health,
    hospitals,
    inbox,
    jobs,
    messages,
    metrics,
    models,
    oidc,
    people,
    problems,
    progress,
    quality,
    results,
    sign_in,
    studies,
)
from cloud_service.api.addresses import Addresses
from cloud_service.api.passing import Passing
from cloud_service.api.strangers import Strangers
from cloud_service.api.traffic import Traffic
from cloud_service.service.federation import Membership
from cloud_service.service.folder import load_keys
from cloud_service.service.services import Services, build_services, unix_time
from cloud_service.service.vitals import Vitals
from cloud_service.settings import Settings
from cloud_service.store.database import Database
from cloud_service.store.schema import require_current
from shared.errors import numbered

_ROUTERS: Final = (
    messages,
    inbox,
    frames,
    progress,
    agent_studies,
    hospitals,
    federation,
    studies,
    jobs,
    events,
    results,
    quality,
    models,
    disclosures,
    sign_in,
    oidc,
    people,
    health,
    metrics,
    docs,
)
_DESCRIPTION: Final = """\
Hospitals grow one decision tree together, and none of them shows its records.

Agents send and fetch signed envelopes (`/v1/messages`, `/v1/inbox`) and pass sealed frames to one another
(`/v1/jobs/{job_id}/relay`, a WebSocket, or `/v1/jobs/{job_id}/frames`). People need a bearer token (`/v1/sign-in`, or
`privet cloud token create` for programs) and a role that permits what they ask. Every error is a problem document
(RFC 9457) with a `code`.
"""


def prepare(settings: Settings, clock: Callable[[], int] = unix_time) -> Services:
    """The use cases over a folder's keys and database, ready to start.

    Raises: InputError: tables not at head, not joined, or key files that do not fit the certificate.
    """
    database = Database(settings.database, settings.database_connections)
    require_current(database)
    keys = load_keys(settings.folder)
    membership = Membership(database, keys)
    with numbered("C021"):
        membership.check_keys()
    return build_services(settings, database, keys, membership, clock)


def create_app(services: Services) -> FastAPI:
    """The application; its lifespan starts and stops the background work."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        services.notifier.attach(asyncio.get_running_loop())
        services.relay.attach(asyncio.get_running_loop())
        if not services.database.is_sqlite:
            # A request may need a second connection while it holds one; then none must wait for one for ever.
            threads = services.settings.database_connections // 2
            to_thread.current_default_thread_limiter().total_tokens = threads
        services.start()
        try:
            yield
        finally:
            services.notifier.detach()
            services.relay.detach()
            await app.state.passing.aclose()
            await asyncio.to_thread(services.stop)

    app = FastAPI(
        title="Privet cloud",
        version=version("privet"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header of whoever asks
        responses=problems.responses(500),
    )
    app.state.services = services
    app.state.vitals = Vitals(services)
    app.state.passing = Passing(services.settings, services.relay, services.tickets)
    app.state.large_bodies = asyncio.Semaphore(body.LARGE_AT_ONCE)
    app.state.sign_ins = sign_in.sign_in_places()
    for module in _ROUTERS:
        app.include_router(module.router)
    problems.install(app)
    pages.install(app)
    describing.install(app)
    app.add_middleware(Addresses)
    app.add_middleware(Strangers, per_second=services.settings.limits.anonymous_per_second)
    app.add_middleware(Traffic)
    return app
