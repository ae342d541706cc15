"""Addresses without the character NUL, which PostgreSQL takes in no text: an error of ours where 404 is meant.

What replaces it stands in no id and in no name, so that whatever looks for such a thing answers as for any that is not
there, and only to who may know.
"""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_NUL: Final = "\0"
_OTHER: Final = "\N{REPLACEMENT CHARACTER}"
_NUL_IN_QUERY: Final = b"%00"
_OTHER_IN_QUERY: Final = b"%EF%BF%BD"


class Addresses:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, its path and query without NUL."""
        if _NUL in scope.get("path", ""):
            scope["path"] = scope["path"].replace(_NUL, _OTHER)
        if _NUL_IN_QUERY in scope.get("query_string", b""):
            scope["query_string"] = scope["query_string"].replace(_NUL_IN_QUERY, _OTHER_IN_QUERY)
        await self._app(scope, receive, send)
