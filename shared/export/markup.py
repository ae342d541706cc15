"""Writing XML line by line, every text and attribute escaped; for PMML and SVG.

Elements are opened and closed by the caller's own stack, not by recursion: a path may be as long as there are
attributes.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from shared.errors import InputError

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Markup:
    """An XML document in the making."""

    def __init__(self) -> None:
        self._lines = ['<?xml version="1.0" encoding="UTF-8"?>']
        self._open: list[str] = []

    def open(self, tag: str, **attributes: str | None) -> None:
        """Begin an element that has others in it. An attribute that is None is left out; `_` stands for `-`."""
        self._lines.append(f"{self._indent}<{tag}{_written(attributes)}>")
        self._open.append(tag)

    def close(self) -> None:
        """End the element that was opened last."""
        tag = self._open.pop()
        self._lines.append(f"{self._indent}</{tag}>")

    def leaf(self, tag: str, text: str | None = None, /, **attributes: str | None) -> None:
        """An element with a text in it, or with nothing."""
        start = f"{self._indent}<{tag}{_written(attributes)}"
        self._lines.append(f"{start}/>" if text is None else f"{start}>{_escaped(text)}</{tag}>")

    def text(self) -> str:
        """The document; every element must be closed."""
        return "\n".join(self._lines) + "\n"

    @property
    def _indent(self) -> str:
        return " " * len(self._open)


def _written(attributes: dict[str, str | None]) -> str:
    found = ((name.rstrip("_").replace("_", "-"), text) for name, text in attributes.items())
    return "".join(f' {name}="{_escaped(text)}"' for name, text in found if text is not None)


def _escaped(text: str) -> str:
    """The text with `&`, `<`, `>` and quotes as references. Raises: InputError: a character that XML cannot hold."""
    found = _NOT_IN_XML.search(text)
    if found is not None:
        raise InputError(
            f"XML cannot hold the character U+{ord(found[0]):04X} of a name, value or label",
            where="export",
            remedy="Choose another format, such as json or python.",
        )
    return escape(text, quote=True)
