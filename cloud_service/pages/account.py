"""One's own account: who one is, another password, a second factor."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

from fastapi import Depends, Response
from starlette.concurrency import run_in_threadpool

from cloud_service.api.sign_in import address_of, in_its_place
from cloud_service.pages import browser
from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Form, Page, form_may, page_may
from cloud_service.pages.qr import picture_of
from cloud_service.service.oidc import PREFIX
from cloud_service.service.refusals import NotSignedInError
from shared.errors import InputError
from shared.texts import text

router = page_router()
_PATH: Final = "/account"
_LONGEST: Final = 256


@router.get(_PATH)
def account(page: Annotated[Page, Depends(page_may(None))]) -> Response:
    """Name, roles, what they open, and the forms."""
    return _shown(page)


@router.post(_PATH + "/password")
async def change_password(form: Annotated[Form, Depends(form_may(None))]) -> Response:
    """Another password; all sessions end, this one too."""
    old, new = form.value("password"), form.value("new_password")
    if new != form.value("again"):
        return await _again(form, text("cloud.account.differ"))
    if not _is_bounded(old) or not _is_bounded(new):
        return await _again(form, text("cloud.account.bounds"))
    change = form.services.people.sign_in.change_password
    try:
        await in_its_place(
            form.request, partial(change, form.caller.name, old, new, address_of(form.request))
        )
    except NotSignedInError:
        return await _again(form, text("cloud.account.wrong"))
    except InputError as error:
        return await _again(form, str(error))
    answer = form.go("/sign-in", done="password_changed")
    browser.end_session(form.request, answer)
    return answer


@router.post(_PATH + "/second-factor")
async def add_second_factor(form: Annotated[Form, Depends(form_may(None))]) -> Response:
    """For roles that need none; it counts from the first sign-in with a code of it on."""
    add = form.services.people.sign_in.add_second_factor
    password = form.value("password")
    if not _is_bounded(password):
        return await _again(form, text("cloud.account.bounds"))
    try:
        found = await in_its_place(
            form.request, partial(add, form.caller.name, password, address_of(form.request))
        )
    except NotSignedInError:
        return await _again(form, text("cloud.account.wrong"))
    return form.show("second_factor_added.html", address=found.address, picture=picture_of(found.address))


async def _again(form: Form, fault: str) -> Response:
    """The page with what was wrong; it reads the account, so not on the event loop."""
    return await run_in_threadpool(_shown, form, fault=fault, status=422)


def _is_bounded(password: str) -> bool:
    """As the API takes them: a longer one would cost more than a stranger may ask for."""
    return 0 < len(password) <= _LONGEST


def _shown(page: Page, *, fault: str = "", status: int = 200) -> Response:
    caller = page.caller
    account = page.services.people.accounts.find(caller.name)
    return page.show(
        "account.html",
        status=status,
        roles=sorted(caller.roles),
        permissions=sorted(caller.permissions),
        is_local=not caller.name.startswith(PREFIX),
        has_second_factor=account is not None and account.has_second_factor,
        fault=fault,
    )
