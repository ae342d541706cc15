"""Files that a browser keeps: always as attachments, so that nothing in them is ever run as a page of this cloud."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def file_of(content: bytes, name: str, media_type: str) -> Response:
    """A file. Args: name: of letters, digits, dots and dashes only, as ids are."""
    return Response(
        content,
        media_type=media_type,
        headers=_HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'},
    )


def json_file(document: Mapping[str, Any], name: str) -> Response:
    """A document as indented JSON."""
    return file_of(json.dumps(document, indent=2, ensure_ascii=False).encode(), name, "application/json")
