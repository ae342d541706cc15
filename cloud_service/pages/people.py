"""People with an account here."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Query, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.service.permissions import Permission

router = page_router()
_SHOWN: Final = 100
_MOST_PAGES: Final = 10_000


@router.get("/people")
def people(
    page: Annotated[Page, Depends(page_may(Permission.PEOPLE_READ))],
    number: Annotated[int, Query(alias="page", ge=1, le=_MOST_PAGES)] = 1,
) -> Response:
    """Local accounts, a page of them; those of an identity provider are only there."""
    accounts = page.services.people.accounts
    found = accounts.count()
    return page.show(
        "people.html",
        active="people",
        accounts=accounts.page(limit=_SHOWN, offset=(number - 1) * _SHOWN),
        found=found,
        number=number,
        pages=max(1, -(-found // _SHOWN)),
        has_provider=page.services.people.oidc is not None,
    )
