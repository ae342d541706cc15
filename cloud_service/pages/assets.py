"""Style sheets, scripts and pictures, as they lie in `shared/web/static`."""

from __future__ import annotations

import posixpath
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from shared.web.rendering import ASSETS_PATH, CONTENT_SECURITY_POLICY, asset

router = APIRouter(include_in_schema=False)
_KEPT: Final = "public, max-age=31536000, immutable"
_ASKED_FOR_AGAIN: Final = "no-cache"


class Assets(StaticFiles):
    """An address with the version of this content, as `asset()` makes them, is kept for a year.

    One with the version of another content is asked for again: while replicas are upgraded, a page of one meets assets
    of the other.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file."""
        answer = await super().get_response(path, scope)
        version = asset(path).partition("?")[2]
        has_version = scope["query_string"] == version.encode("ascii")
        answer.headers["Cache-Control"] = _KEPT if has_version else _ASKED_FOR_AGAIN
        answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer


_ASSETS: Final = Assets(packages=[("shared.web", "static")])


@router.api_route(ASSETS_PATH + "/{path:path}", methods=["GET", "HEAD"])
async def one(request: Request, path: str) -> Response:
    """One of them; open to all, as the page to sign in needs them."""
    return await _ASSETS.get_response(posixpath.normpath(path), request.scope)
