"""The sentences that people read on pages, in commands and in files, from one file: `english.toml`.

A sentence is named by its table and key, `"cloud.sign_in.title"`, and may have places to fill: `"{count} hospitals"`.
A name that does not exist, and a place that nobody fills, is a bug and raises; a test reads all code and every
template for both. The file is parsed table by table, when one is asked for: a command pays for what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

_LANGUAGE: Final = "english.toml"
"""Another language is another file of the same names (ADR 0036)."""
_HEAD: Final = re.compile(r"^\[([a-zA-Z0-9_.-]+)\]$", re.MULTILINE)


class _Book:
    """The file, and what was read of it. `tables`: the source of each table by its name."""

    def __init__(self) -> None:
        from importlib.resources import files  # most commands show no sentence before they know what to do

        source = files("shared.texts").joinpath(_LANGUAGE).read_text("utf-8")
        _, *parts = _HEAD.split(source)
        self.tables: dict[str, str] = dict(zip(parts[::2], parts[1::2], strict=True))
        self.read: dict[str, str] = {}
        self._opened: set[str] = set()

    def find(self, name: str) -> str:
        """A sentence. Raises: KeyError: there is none of that name."""
        if name not in self.read:
            table = name.rpartition(".")[0]
            while table and table not in self.tables:
                table = table.rpartition(".")[0]
            self.open(table)
        return self.read[name]

    def open(self, table: str) -> None:
        """Read a table, once. Raises: KeyError: there is none of that name."""
        import tomllib

        if table not in self._opened:  # who asks for names that may be missing asks often
            self.read.update(_flat(tomllib.loads(self.tables[table]), f"{table}."))
            self._opened.add(table)


@lru_cache(maxsize=1)
def _book() -> _Book:
    return _Book()


@lru_cache(maxsize=1)
def texts() -> Mapping[str, str]:
    """All sentences by name, with their places open."""
    book = _book()
    for table in book.tables:
        book.open(table)
    return book.read


def text(name: str, /, **places: object) -> str:
    """One sentence with its places filled. Raises: KeyError: there is no such name, or a place is left open."""
    return _book().find(name).format(**places)


def has_text(name: str) -> bool:
    """Whether there is a sentence of that name; for names that are put together of what others sent."""
    try:
        _book().find(name)
    except KeyError:
        return False
    return True


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
