"""What a form is called as a file, and of which media type it is; told apart from `formats`, which loads every form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.export import FormatName

FILES: Final[Mapping[FormatName, tuple[str, str]]] = {
    "json": ("json", "application/json"),
    "pmml": ("pmml", "application/xml"),
    "onnx": ("onnx", "application/octet-stream"),
    "sklearn": ("sklearn.json", "application/json"),
    "rules": ("rules.txt", "text/plain; charset=utf-8"),
    "dot": ("dot", "text/vnd.graphviz; charset=utf-8"),
    "svg": ("svg", "image/svg+xml"),
    "python": ("py", "text/x-python; charset=utf-8"),
}
"""Ending and media type by form, in the order in which forms are offered."""


def form_named(name: str) -> FormatName | None:
    """The form of that name; None where there is none."""
    return next((form for form in FILES if form == name), None)
