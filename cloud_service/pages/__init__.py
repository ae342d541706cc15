"""The dashboard: HTML for people who sign in at the cloud.

No rule lives here: pages ask the same use cases as `api`, and permissions decide what they show.

- `frame`: who looks, navigation, how a page is rendered; `page_may` and `form_may` guard every route;
- `browser`: the cookie of a session, and proof that a form came from a page of ours;
- `faults`: errors as pages;
- one module a subject, listed in `routing`.
"""

from __future__ import annotations

from fastapi import FastAPI

from cloud_service.pages import assets, faults
from cloud_service.pages.routing import ROUTERS


def install(app: FastAPI) -> None:
    """Let an application show pages to people, beside what it answers to programs."""
    for router in ROUTERS:
        app.include_router(router)
    app.include_router(assets.router)
    faults.install(app)
