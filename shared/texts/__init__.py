"""The sentences that people read on pages, in commands and in files, from one file: `english.toml`.

A sentence is named by its table and key, `"cloud.sign_in.title"`, and may have places to fill: `"{count} hospitals"`.
A name that does not exist, and a place that nobody fills, is a bug and raises; a test reads all code and every
template for both. The file is read when the first sentence is asked for, once: starting a command costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

_LANGUAGE: Final = "english.toml"
"""Another language is another file of the same names (ADR 0036)."""


@lru_cache(maxsize=1)
def texts() -> Mapping[str, str]:
    """All sentences by name, with their places open."""
    import tomllib  # most commands show no sentence before they know what to do
    from importlib.resources import files

    return dict(_flat(tomllib.loads(files("shared.texts").joinpath(_LANGUAGE).read_text("utf-8")), ""))


def text(name: str, /, **places: object) -> str:
    """One sentence with its places filled. Raises: KeyError: there is no such name, or a place is left open."""
    return texts()[name].format(**places)


class Named(Mapping[str, str]):
    """The texts of one table by their last name, in the order of `names`; read when one of them is asked for."""

    def __init__(self, table: str, names: Iterable[str]) -> None:
        self.table, self.names = table, tuple(names)

    def __getitem__(self, name: str) -> str:
        if name not in self.names:
            raise KeyError(name)
        return text(f"{self.table}.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value
