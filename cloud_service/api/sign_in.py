"""Signing in and out, and who one is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from cloud_service.api.body import read_body
from cloud_service.api.caller import Anybody, Credentials, Use
from cloud_service.api.problems import responses
from cloud_service.service.permissions import Caller
from cloud_service.service.rates import RateLimitedError
from cloud_service.service.refusals import ConflictError
from cloud_service.service.sessions import IDLE_SECONDS, SignedIn
from cloud_service.service.signing_in import Enrolment
from shared.errors import InputError
from shared.wire.base import describe

router = APIRouter(tags=["sign-in"])
_MAX_BYTES: Final = 2**12
_AT_ONCE: Final = 2
"""Passwords tried at once: each takes 64 MiB and a processor for a moment, in a thread that no agent waits for."""
_WAITING: Final = 20
Result = TypeVar("Result")
NO_STORE: Final = {"Cache-Control": "no-store"}


class SignInIn(BaseModel):
    """`code`: of the authenticator app; empty where there is none yet."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00]+$", examples=["ana"])]
    password: Annotated[SecretStr, Field(min_length=1, max_length=256, examples=["four words in a row"])]
    code: Annotated[SecretStr, Field(max_length=16, examples=["123456"])] = SecretStr("")


class PasswordIn(BaseModel):
    """The password that one has."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    password: Annotated[SecretStr, Field(min_length=1, max_length=256)]


class NewPasswordIn(PasswordIn):
    """And the one to come: 12 to 256 characters, none of the commonest."""

    new_password: Annotated[SecretStr, Field(min_length=1, max_length=256)]


class SessionOut(BaseModel):
    """A session. `expires`: Unix seconds, at the latest; `idle_seconds`: sooner after so long without a request."""

    token: str = Field(description="Send it as `Authorization: Bearer ...`; shown only now")
    expires: int
    idle_seconds: int
    name: str
    roles: list[str]
    hospital: str | None


class EnrolmentOut(BaseModel):
    """No session yet: put this into an authenticator app, then sign in with a code of it. Shown only now."""

    second_factor: str = Field(description="An `otpauth://` address, as in QR codes of authenticator apps")


class MeOut(BaseModel):
    """Who one is. `hospital`: the only one whose studies and jobs one sees."""

    name: str
    roles: list[str]
    permissions: list[str]
    hospital: str | None


async def sign_in_body(request: Request) -> SignInIn:
    """The body, bounded before anybody is known."""
    raw = await read_body(request, _MAX_BYTES)
    try:
        return SignInIn.model_validate_json(raw)
    except ValidationError as error:
        raise InputError(describe(error), where="body") from None


@router.post(
    "/v1/sign-in",
    summary="Sign in with name, password and code",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": SignInIn.model_json_schema()}},
        }
    },
    responses=responses(400, 401, 413, 422, 429, 503),
)
async def sign_in(
    request: Request, response: Response, services: Use, given: Annotated[SignInIn, Depends(sign_in_body)]
) -> SessionOut | EnrolmentOut:
    """A session for eight hours, or half an hour without a request.

    One answer to whatever is wrong. Too many failures of a name or an address have to wait (`Retry-After`). Operators,
    coordinators and stewards need a second factor: without one they get its address, and then sign in with a code.
    """
    attempt = partial(
        services.people.sign_in.sign_in,
        given.name,
        given.password.get_secret_value(),
        given.code.get_secret_value(),
        address_of(request),
    )
    found = await in_its_place(request, attempt)
    response.headers.update(NO_STORE)
    return EnrolmentOut(second_factor=found.address) if isinstance(found, Enrolment) else session_out(found)


@router.post("/v1/sign-out", status_code=204, summary="Sign out", responses=responses(401, 409, 429, 503))
def sign_out(services: Use, _caller: Anybody, credentials: Credentials) -> Response:
    """End this session at once."""
    if credentials is not None and not services.people.sign_in.sign_out(credentials.credentials):
        raise ConflictError("this is no session but a token: privet cloud token revoke ends it")
    return Response(status_code=204)


@router.get("/v1/me", summary="Who one is", responses=responses(401, 429, 503))
def me(response: Response, caller: Anybody) -> MeOut:
    """Name, roles, and what they permit."""
    response.headers.update(NO_STORE)
    return MeOut(**_of(caller), permissions=sorted(caller.permissions))


@router.post(
    "/v1/me/password",
    status_code=204,
    summary="Change one's password",
    responses=responses(401, 409, 422, 429, 503),
)
async def change_password(request: Request, services: Use, caller: Anybody, given: NewPasswordIn) -> Response:
    """Of a local account; ends all its sessions."""
    change = services.people.sign_in.change_password
    old, new = given.password.get_secret_value(), given.new_password.get_secret_value()
    await in_its_place(request, partial(change, caller.name, old, new, address_of(request)))
    return Response(status_code=204)


@router.post(
    "/v1/me/second-factor",
    summary="Add a second factor",
    responses=responses(401, 409, 422, 429, 503),
)
async def add_second_factor(
    request: Request, response: Response, services: Use, caller: Anybody, given: PasswordIn
) -> EnrolmentOut:
    """For roles that need none: from the first sign-in with a code of it on, every sign-in needs one."""
    add = services.people.sign_in.add_second_factor
    password = given.password.get_secret_value()
    found = await in_its_place(request, partial(add, caller.name, password, address_of(request)))
    response.headers.update(NO_STORE)
    return EnrolmentOut(second_factor=found.address)


async def in_its_place(request: Request, work: Callable[[], Result]) -> Result:
    """Try a password in one of a few threads of their own. Raises: RateLimitedError: too many wait for one."""
    places: anyio.CapacityLimiter = request.app.state.sign_ins
    if places.statistics().tasks_waiting >= _WAITING:
        raise RateLimitedError("many people sign in just now; try again", retry_after_seconds=2)
    return await anyio.to_thread.run_sync(work, limiter=places)


def sign_in_places() -> anyio.CapacityLimiter:
    """Room for those whose passwords are tried."""
    return anyio.CapacityLimiter(_AT_ONCE)


def session_out(found: SignedIn) -> SessionOut:
    """A session as it is answered."""
    return SessionOut(
        token=found.token, expires=found.expires, idle_seconds=IDLE_SECONDS, **_of(found.caller)
    )


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return "unknown" if request.client is None else request.client.host


def _of(caller: Caller) -> dict[str, Any]:
    return {"name": caller.name, "roles": sorted(caller.roles), "hospital": caller.hospital}
