"""Style sheets, scripts and pictures, as they lie in `shared/web/static`."""

from __future__ import annotations

import posixpath
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response

from machine.browsers import Assets
from shared.web.rendering import ASSETS_PATH

router = APIRouter(include_in_schema=False)
_ASSETS: Final = Assets()


@router.api_route(ASSETS_PATH + "/{path:path}", methods=["GET", "HEAD"])
async def one(request: Request, path: str) -> Response:
    """One of them; open to all, as the page to sign in needs them."""
    return await _ASSETS.get_response(posixpath.normpath(path), request.scope)
