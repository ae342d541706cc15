"""Signing in and out with a browser."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from cloud_service.api.sign_in import SignInIn, address_of, in_its_place
from cloud_service.pages import browser
from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Form, Page, few_fields_of, form_may, page_of
from cloud_service.pages.qr import picture_of
from cloud_service.service.permissions import Caller
from cloud_service.service.refusals import NotSignedInError
from cloud_service.service.sessions import SignedIn
from cloud_service.service.signing_in import Enrolment
from shared.texts import text

router = page_router()
_TEMPLATE: Final = "sign_in.html"
_FORGOTTEN: Final = {"Clear-Site-Data": '"cache"'}


@router.get("/sign-in")
def sign_in_page(request: Request, next: str = "", ended: str = "") -> Response:  # noqa: A002 - the address says so
    """The form; who is signed in already is led on."""
    page = page_of(request)
    if _visitor(page) is not None:
        return page.go(browser.safe_path(next))
    fault = text("cloud.sign_in.ended") if ended else ""
    return sign_in_form(page, following=next, fault=fault)


@router.post("/sign-in")
async def sign_in(
    request: Request, fields: Annotated[Mapping[str, list[str]], Depends(few_fields_of)]
) -> Response:
    """A session in a cookie, a second factor to set up first, or the form again with what was wrong."""
    page = page_of(request)
    if not browser.is_own_form(request, fields.get(browser.FORM_TOKEN, [""])[-1]):
        return sign_in_form(
            page, following=_value(fields, "next"), fault=text("cloud.sign_in.stale"), status=409
        )
    following = _value(fields, "next")
    try:
        given = SignInIn.model_validate({name: _value(fields, name) for name in ("name", "password", "code")})
    except ValidationError:
        return sign_in_form(page, following=following, fault=text("cloud.sign_in.incomplete"), status=422)
    attempt = partial(
        page.services.people.sign_in.sign_in,
        given.name,
        given.password.get_secret_value(),
        given.code.get_secret_value(),
        address_of(request),
    )
    try:
        found = await in_its_place(request, attempt)
    except NotSignedInError:
        return sign_in_form(
            page, following=following, name=given.name, fault=text("cloud.sign_in.refused"), status=401
        )
    return await run_in_threadpool(_let_in, page, given.name, found, following)


@router.post("/sign-out")
def sign_out(form: Annotated[Form, Depends(form_may(None))]) -> Response:
    """End the session at once."""
    form.services.people.sign_in.sign_out(browser.session_of(form.request))
    answer = form.go("/sign-in", done="signed_out")
    browser.end_session(form.request, answer)
    answer.headers.update(_FORGOTTEN)
    return answer


def _let_in(page: Page, name: str, found: SignedIn | Enrolment, following: str) -> Response:
    """On to where they wanted to be, or first to a second factor. It may end a session, so not on the event loop."""
    if isinstance(found, Enrolment):
        return _enrolment(page, name, found.address, following)
    answer = page.go(browser.safe_path(following))
    hand_over(page, answer, found.token)
    return answer


def hand_over(page: Page, answer: Response, token: str) -> None:
    """Give the browser its session. One that it had before ends: nobody goes on with what another has left behind."""
    if before := browser.session_of(page.request):
        page.services.people.sign_in.sign_out(before)
    browser.open_session(page.request, answer, token)


def _visitor(page: Page) -> Caller | None:
    try:
        return page.services.access.visitor(browser.session_of(page.request), is_watching=True)
    except NotSignedInError:
        return None


def sign_in_form(
    page: Page, *, following: str, name: str = "", fault: str = "", status: int = 200
) -> Response:
    """The page to sign in. Args: following: where to go then. fault: what was wrong, in words."""
    answer = page.show(
        _TEMPLATE,
        status=status,
        following=browser.safe_path(following),
        name=name,
        fault=fault,
        has_provider=page.services.people.oidc is not None,
    )
    return browser.with_stranger(page.request, answer)


def _enrolment(page: Page, name: str, address: str, following: str) -> Response:
    answer = page.show(
        "second_factor.html",
        following=browser.safe_path(following),
        name=name,
        address=address,
        picture=picture_of(address),
    )
    return browser.with_stranger(page.request, answer)


def _value(fields: Mapping[str, list[str]], name: str) -> str:
    return fields.get(name, [""])[-1]
