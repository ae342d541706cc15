"""People with an account here."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may
from cloud_service.service.permissions import Permission

router = page_router()


@router.get("/people")
def people(page: Annotated[Page, Depends(page_may(Permission.PEOPLE_READ))]) -> Response:
    """Every local account; those of an identity provider are only there."""
    return page.show(
        "people.html",
        active="people",
        accounts=page.services.people.accounts.all(),
        has_provider=page.services.people.oidc is not None,
    )
