"""Who calls: what routes depend on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.refusals import NotSignedInError
from cloud_service.service.services import Services

_bearer = HTTPBearer(
    auto_error=False,
    description="A token made by `privet cloud token create`, or a session of `/v1/sign-in`.",
)
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def services_of(connection: HTTPConnection) -> Services:
    """The use cases of this process, for a request or a WebSocket. Async, so that no request changes threads for it."""
    services: Services = connection.app.state.services
    return services


Use = Annotated[Services, Depends(services_of)]


def may(permission: Permission) -> Callable[..., Caller]:
    """What an endpoint of people depends on: somebody is signed in, and has the permission.

    Every endpoint of people takes one of these, and names the least that it needs:

        def ledger(services: Use, caller: Annotated[Caller, Depends(may(Permission.LEDGER_READ))], job_id: str)

    Where the path has a `{job_id}` or `{study_id}`, somebody bound to one hospital gets 404 for what does not invite
    it, without a line in the endpoint. Lists have to be cut by the endpoint (`caller.hospital`, `services.sight`).
    Answers 401 `not_signed_in`, 403 `forbidden`, 404 `not_found`, 429 `rate_limited`; add those to the
    route's `responses`. A new endpoint gets its line in `tests/integration/test_access_matrix.py`.
    """

    def check(connection: HTTPConnection, services: Use, credentials: Credentials) -> Caller:
        caller = signed_in(services, credentials)
        caller.require(permission)
        if (job := connection.path_params.get("job_id")) is not None:
            services.sight.job(caller, job)
        if (study := connection.path_params.get("study_id")) is not None:
            services.sight.study(caller, study)
        return caller

    return check


def signed_in(services: Use, credentials: Credentials) -> Caller:
    """Anybody who is signed in, whatever the role. Raises: NotSignedInError."""
    if credentials is None:
        raise NotSignedInError("send a token: Authorization: Bearer ...")
    return services.access.recognise(credentials.credentials)


Anybody = Annotated[Caller, Depends(signed_in)]
