"""The first page: what needs attention, as far as who looks may know."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Response

from cloud_service.pages.faults import page_router
from cloud_service.pages.frame import Page, page_may

router = page_router()


@router.get("/")
def overview(page: Annotated[Page, Depends(page_may(None))]) -> Response:
    """What runs, what waits, who is away, what ends soon."""
    return page.show("overview.html", active="overview")
