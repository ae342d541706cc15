"""Who calls: what routes depend on."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from cloud_service.service.refusals import NotSignedInError
from cloud_service.service.services import Services

_bearer = HTTPBearer(auto_error=False, description="A token made by `privet cloud token create`.")


async def services_of(connection: HTTPConnection) -> Services:
    """The use cases of this process, for a request or a WebSocket. Async, so that no request changes threads for it."""
    services: Services = connection.app.state.services
    return services


Use = Annotated[Services, Depends(services_of)]


def person(
    services: Use, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]
) -> str:
    """The label of the caller's token. Raises: NotSignedInError."""
    if credentials is None:
        raise NotSignedInError("send a token: Authorization: Bearer ...")
    return services.tokens.recognise(credentials.credentials)


Person = Annotated[str, Depends(person)]
