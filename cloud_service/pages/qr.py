"""An address as a QR code, drawn inside the page: it is a secret, and leaves no trace in an address or a cache."""

from __future__ import annotations

import io

import segno
from markupsafe import Markup


def picture_of(address: str) -> Markup:
    """An `<svg>` that scales, dark on light whatever the page's colours, as cameras need it."""
    out = io.BytesIO()
    code = segno.make(address, micro=False, error="m")
    code.save(
        out,
        kind="svg",
        xmldecl=False,
        svgns=True,
        omitsize=True,
        border=4,
        dark="#000",
        light="#fff",
        nl=False,
        svgclass="qr",
        lineclass="",
    )
    return Markup(out.getvalue().decode("ascii"))  # noqa: S704 - drawn from squares; no text of anybody is in it
