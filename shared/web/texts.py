"""The English texts of all pages, from `texts.toml`.

A text is named by its table and key, `"cloud.sign_in.title"`, and may have places to fill: `"{count} hospitals"`.
A name that does not exist, and a place that nobody fills, is a bug and raises; a test reads every template for both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=1)
def texts() -> Mapping[str, str]:
    """All texts by name."""
    document = tomllib.loads(files("shared.web").joinpath("texts.toml").read_text("utf-8"))
    return dict(_flat(document, ""))


def text(name: str, /, **places: object) -> str:
    """One text with its places filled. Raises: KeyError: there is no such text, or a place is left open."""
    return texts()[name].format(**places)


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
