"""Signing in by the consortium's identity provider, with a browser.

The provider knows one address to come back to, which is the API's; it hands browsers that began here on to `finish`.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query, Request, Response
from starlette.responses import RedirectResponse

from cloud_service.api.oidc import PAGE_COOKIE, PAGE_FINISH
from cloud_service.api.sign_in import NO_STORE, address_of
from cloud_service.pages import browser
from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, landing, page_of
from cloud_service.pages.sign_in import hand_over, sign_in_form
from cloud_service.service.oidc import OidcSignIn
from cloud_service.service.refusals import NotSignedInError, UnknownThingError
from shared.texts import text

router = page_router()
_FOLLOWING: Final = "privet-following"
_Short = Annotated[str, Query(max_length=512)]


def _oidc(page: Page) -> OidcSignIn:
    if page.services.people.oidc is None:
        raise UnknownThingError("no identity provider is set here")
    return page.services.people.oidc


@router.get("/sign-in/provider")
def begin(request: Request, next: str = "") -> Response:  # noqa: A002 - the address says so
    """To the provider, and back to `finish`."""
    departure = _oidc(page_of(request)).begin(address_of(request))
    answer = RedirectResponse(departure.url, 303, headers=NO_STORE)
    browser.remember(request, answer, PAGE_COOKIE, departure.browser, is_lax=True)
    browser.remember(request, answer, _FOLLOWING, browser.safe_path(next), is_lax=True)
    return answer


@router.get(PAGE_FINISH)
def finish(
    request: Request,
    state: _Short,
    code: Annotated[str, Query(max_length=3072)] = "",
    iss: Annotated[str | None, Query(max_length=512)] = None,
) -> Response:
    """A session for the browser that began, once; then on, from here and not from the provider."""
    page = page_of(request)
    following = browser.safe_path(browser.remembered(request, _FOLLOWING))
    held = browser.remembered(request, PAGE_COOKIE)
    try:
        found = _oidc(page).finish(state, code, iss, held, address_of(request))
    except NotSignedInError:
        answer = sign_in_form(
            page, following=following, fault=text("cloud.sign_in.provider_refused"), status=401
        )
    else:
        answer = landing(request, following)
        hand_over(page, answer, found.token)
    for name in (PAGE_COOKIE, _FOLLOWING):
        browser.forget(request, answer, name)
    return answer
