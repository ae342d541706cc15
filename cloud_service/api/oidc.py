"""Signing in by the consortium's identity provider: to it, and back."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Cookie, Query, Request, Response
from starlette.responses import RedirectResponse

from cloud_service.api.caller import Use
from cloud_service.api.problems import responses
from cloud_service.api.sign_in import NO_STORE, SessionOut, address_of, session_out
from cloud_service.oidc_settings import CALLBACK_PATH
from cloud_service.service.oidc import GOOD_SECONDS, OidcSignIn
from cloud_service.service.refusals import UnknownThingError
from cloud_service.service.services import Services
from machine.browsers import hand_cookie

router = APIRouter(tags=["sign-in"])
COOKIE: Final = "privet-sign-in"
PAGE_COOKIE: Final = "privet-provider"
"""Of a browser that began at a page to sign in, and ends there; under the two names of `pages.browser`."""
PAGE_FINISH: Final = "/sign-in/provider/finish"
_PAGE_COOKIES: Final = frozenset({f"__Host-{PAGE_COOKIE}", f"{PAGE_COOKIE}-session"})
_PATH: Final = "/v1/sign-in/oidc"
_LONGEST: Final = 3072
"""Of a code, so that all of them fit into a request's line and headers, escaped too."""
_LONGEST_ISSUER: Final = 512
_LONGEST_OF_OURS: Final = 256
_VISIBLE: Final = r"^[\x20-\x7e]*$"
"""What states and codes are made of (RFC 6749, appendix A); anything else could outgrow a request line."""


def _oidc(services: Services) -> OidcSignIn:
    if services.people.oidc is None:
        raise UnknownThingError("no identity provider is set here; sign in at /v1/sign-in")
    return services.people.oidc


@router.get(
    _PATH,
    status_code=303,
    summary="Sign in by the identity provider",
    response_class=RedirectResponse,
    responses={303: {"description": "To the identity provider"}, **responses(404, 429, 503)},
)
def begin(request: Request, services: Use) -> Response:
    """For browsers: leads to the provider, and from there to the callback."""
    oidc = _oidc(services)
    departure = oidc.begin(address_of(request))
    answer = RedirectResponse(departure.url, 303, headers=NO_STORE)
    hand_cookie(
        answer,
        COOKIE,
        departure.browser,
        is_https=oidc.settings.public_url.startswith("https:"),
        path=_PATH,
        is_lax=True,
        seconds=GOOD_SECONDS,
    )
    return answer


@router.get(
    CALLBACK_PATH,
    summary="Back from the identity provider",
    response_model=SessionOut,
    responses=responses(401, 403, 404, 422, 429, 503),
)
def finish(
    request: Request,
    response: Response,
    services: Use,
    state: Annotated[str, Query(max_length=_LONGEST_OF_OURS, pattern=_VISIBLE)],
    code: Annotated[str, Query(max_length=_LONGEST, pattern=_VISIBLE)] = "",
    iss: Annotated[str | None, Query(max_length=_LONGEST_ISSUER, pattern=_VISIBLE)] = None,
    cookie: Annotated[str, Cookie(alias=COOKIE, max_length=_LONGEST_OF_OURS)] = "",
) -> SessionOut | Response:
    """A session for the browser that began, once; without a code (the provider refused) none."""
    if not _PAGE_COOKIES.isdisjoint(request.cookies):
        return RedirectResponse(f"{PAGE_FINISH}?{request.url.query}", 303, headers=NO_STORE)
    found = _oidc(services).finish(state, code, iss, cookie, address_of(request))
    response.headers.update(NO_STORE)
    response.delete_cookie(COOKIE, path=_PATH)
    return session_out(found)
