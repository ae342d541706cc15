"""All pages: one module a subject, each with its `router`. A new module gets its line here, and nowhere else."""

from __future__ import annotations

from typing import Final

from cloud_service.pages import (
    account,
    overview,
    sign_in,
)

ROUTERS: Final = (
    sign_in.router,
    account.router,
    overview.router,
)
