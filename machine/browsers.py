"""What a browser is given beside pages: style sheets, scripts and pictures, cookies, files that people keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from shared.web.rendering import CONTENT_SECURITY_POLICY, asset

_KEPT: Final = "public, max-age=31536000, immutable"
_ASKED_FOR_AGAIN: Final = "no-cache"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Assets(StaticFiles):
    """The files of `shared/web/static`.

    An address with the version of this content, as `asset()` makes them, is kept for a year. One with the version of
    another content is asked for again: while a program is upgraded, a page of one version meets assets of the other.
    """

    def __init__(self) -> None:
        super().__init__(packages=[("shared.web", "static")])

    async def get_response(self, path: str, scope: Scope) -> Response:
        """One file."""
        answer = await super().get_response(path, scope)
        version = asset(path).partition("?")[2]
        has_version = scope["query_string"] == version.encode("ascii")
        answer.headers["Cache-Control"] = _KEPT if has_version else _ASKED_FOR_AGAIN
        answer.headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer


def hand_cookie(
    answer: Response,
    name: str,
    value: str,
    *,
    is_https: bool,
    path: str = "/",
    is_lax: bool = False,
    seconds: int | None = None,
) -> None:
    """A cookie that no script sees and no other site can have sent.

    Args: is_https: the browser speaks HTTPS, and sends it in no other way. is_lax: it is needed on the way back from
        another site. seconds: how long it is kept; None: as long as the browser is open.
    """
    answer.set_cookie(
        name,
        value,
        max_age=seconds,
        path=path,
        secure=is_https,
        httponly=True,
        samesite="lax" if is_lax else "strict",
    )


def file_of(content: bytes, name: str, media_type: str) -> Response:
    """A file to keep: always an attachment, so that nothing in it is ever run as a page of the program.

    Args: name: of letters, digits, dots and dashes only, as ids are.
    """
    return Response(
        content,
        media_type=media_type,
        headers=_HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'},
    )


def json_file(document: Mapping[str, Any], name: str) -> Response:
    """A document as indented JSON, to keep."""
    return file_of(json.dumps(document, indent=2, ensure_ascii=False).encode(), name, "application/json")
