"""Who looks at a page, what stands around its content, and how it is rendered.

    @router.get("/studies/{study_id}")
    def study(page: Annotated[Page, Depends(page_may(Permission.STUDIES_READ))], study_id: str) -> Response:
        return page.show("study.html", active="studies", study=page.services.studies.get(study_id))

    @router.post("/studies/{study_id}/close")
    def close(form: Annotated[Form, Depends(form_may(Permission.STUDIES_WRITE))], study_id: str) -> Response:
        form.services.studies.close(study_id, actor=form.caller.name)
        return form.go(f"/studies/{study_id}", done="study_closed")

A form of a template is `<form method="post" action="...">{{ form_token }} ...`. `done` names a text of `cloud.done`,
which the next page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

from fastapi import Depends, Request
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cloud_service.api.body import read_bytes
from cloud_service.pages import browser
from cloud_service.service.permissions import Caller, Permission
from cloud_service.service.refusals import ConflictError, NotSignedInError
from cloud_service.service.services import Services
from shared.errors import ErrorCode, PeerError
from shared.texts import has_text, text
from shared.web.rendering import HEADERS, render

PACKAGE: Final = "cloud_service.pages"
_NOTICE: Final = "privet-notice"
_FORM: Final = "application/x-www-form-urlencoded"
MAX_FORM_BYTES: Final = 2**20
_MAX_STRANGERS_BYTES: Final = 2**13
_MAX_FIELDS: Final = 4096


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of the navigation. `permission`: who sees it; None: everybody."""

    name: str
    path: str
    permission: Permission | None = None


NAVIGATION: Final = (
    Item("overview", "/"),
    Item("studies", "/studies", Permission.STUDIES_READ),
    Item("jobs", "/jobs", Permission.JOBS_READ),
    Item("hospitals", "/hospitals", Permission.HOSPITALS_READ),
    Item("people", "/people", Permission.PEOPLE_READ),
    Item("audit", "/audit", Permission.AUDIT_READ),
    Item("operations", "/operations", Permission.OPERATIONS_READ),
)


@dataclass(frozen=True)
class Page:
    """A page that is about to be shown. `viewer`: who looks; None: nobody is signed in."""

    request: Request
    services: Services
    viewer: Caller | None

    @property
    def caller(self) -> Caller:
        """Who looks, where somebody is signed in. Raises: NotSignedInError."""
        if self.viewer is None:
            raise NotSignedInError("sign in first")
        return self.viewer

    def may(self, permission: Permission) -> bool:
        """Whether who looks may do this; templates ask it with the permission's name, `may("jobs:write")`."""
        return self.viewer is not None and permission in self.viewer.permissions

    def show(self, template: str, *, active: str = "", status: int = 200, **values: Any) -> HTMLResponse:
        """A template with the frame. Args: active: the navigation's entry. values: what the template shows."""
        notice = browser.remembered(self.request, _NOTICE)
        frame: dict[str, Any] = {
            "viewer": self.viewer,
            "may": self.may,
            "navigation": [item for item in NAVIGATION if self._sees(item)],
            "active": active,
            "notice": text(f"cloud.done.{notice}") if has_text(f"cloud.done.{notice}") else "",
            "form_token": self.form_token,
        }
        answer = HTMLResponse(render(PACKAGE, template, **frame | values), status, headers=HEADERS)
        if notice:
            browser.forget(self.request, answer, _NOTICE)
        return answer

    def part(self, template: str, **values: Any) -> HTMLResponse:
        """A part of a page, without the frame."""
        known: dict[str, Any] = {"viewer": self.viewer, "may": self.may, "form_token": self.form_token}
        return HTMLResponse(render(PACKAGE, template, **known | values), headers=HEADERS)

    def go(self, path: str, *, done: str = "") -> Response:
        """On to another page after a change. Args: done: the key in `cloud.done` of what it says there."""
        answer = RedirectResponse(path, 303, headers=HEADERS)
        if done:
            browser.remember(self.request, answer, _NOTICE, done)
        return answer

    @property
    def form_token(self) -> Markup:
        """The hidden field that every form carries."""
        token = browser.form_token(self.request)
        return Markup('<input type="hidden" name="{}" value="{}">').format(browser.FORM_TOKEN, token)

    def _sees(self, item: Item) -> bool:
        return self.viewer is not None and (item.permission is None or self.may(item.permission))


@dataclass(frozen=True)
class Form(Page):
    """A form that came from a page of ours. `fields`: by name, in their order; no file."""

    fields: Mapping[str, list[str]] = field(default_factory=dict)

    def value(self, name: str, *, default: str = "") -> str:
        """The last value of a field."""
        return self.fields.get(name, [default])[-1]

    def values(self, name: str) -> list[str]:
        """All values of a field: of boxes that were ticked."""
        return list(self.fields.get(name, []))


def page_of(request: Request) -> Page:
    """For who looks as far as is known; for pages that are open to all, and those about errors."""
    services: Services = request.app.state.services
    return Page(request, services, getattr(request.state, "viewer", None))


def page_may(permission: Permission | None, *, is_watching: bool = False) -> Callable[..., Page]:
    """What a page depends on: somebody is signed in, and has the permission; None: any role will do.

    Where the path has a `{job_id}` or `{study_id}`, somebody bound to one hospital gets 404 for what does not invite
    it. Lists have to be cut by the page (`page.caller.hospital`, `services.sight`). A new page gets its line in
    `tests/integration/test_page_access.py`.

    Args: is_watching: a page asks by itself, again and again; that keeps no session alive.
    """

    def check(request: Request) -> Page:
        services: Services = request.app.state.services
        caller = services.access.visitor(browser.session_of(request), is_watching=is_watching)
        request.state.viewer = caller
        if permission is not None:
            caller.require(permission)
        if (job := request.path_params.get("job_id")) is not None:
            services.sight.job(caller, job)
        if (study := request.path_params.get("study_id")) is not None:
            services.sight.study(caller, study)
        return Page(request, services, caller)

    return check


async def fields_of(request: Request) -> Mapping[str, list[str]]:
    """The fields of a form, bounded. Raises: PeerError: `too_large`, `malformed`."""
    return await _read(request, MAX_FORM_BYTES)


async def few_fields_of(request: Request) -> Mapping[str, list[str]]:
    """The same of a form that strangers send: nobody is known yet."""
    return await _read(request, _MAX_STRANGERS_BYTES)


async def _read(request: Request, max_bytes: int) -> Mapping[str, list[str]]:
    raw = await read_bytes(request, _FORM, max_bytes)
    try:
        return parse_qs(
            raw.decode("utf-8"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict"
        )
    except ValueError:
        raise PeerError(ErrorCode.MALFORMED, "the form is not one that a page of this cloud sends") from None


_FIELDS: Final = Depends(fields_of)


def form_may(permission: Permission | None) -> Callable[..., Form]:
    """What depends on a form: as `page_may`, and the form came from a page that this browser was shown."""
    # As a default, not in the annotation, which is text that names nothing of this function.
    page_known = Depends(page_may(permission))

    def check(page: Page = page_known, fields: Mapping[str, list[str]] = _FIELDS) -> Form:
        return form_of(page, fields)

    return check


def form_of(page: Page, fields: Mapping[str, list[str]]) -> Form:
    """Raises: ConflictError: the form is of another session, or of another site."""
    if not browser.is_own_form(page.request, fields.get(browser.FORM_TOKEN, [""])[-1]):
        raise ConflictError("this form does not belong to your session; nothing was changed")
    return Form(page.request, page.services, page.viewer, fields)


def landing(request: Request, path: str) -> Response:
    """A page that leads on by itself, from here and not from where one came.

    Browsers keep the session's cookie back while another site leads them, redirects included.
    """
    return page_of(request).show("landing.html", path=path)
