"""Files that a browser keeps: always as attachments, so that nothing in them is ever run as a page of this agent."""

from __future__ import annotations

from starlette.responses import Response


def file_of(content: bytes, name: str, media_type: str) -> Response:
    """A file; the guards add the headers of every page. Args: name: of letters, digits, dots and dashes, as ids are."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)
