"""Options that say something of a column, such as `--cuts COLUMN=1,2` and `--recode COLUMN:OLD=NEW`.

Names of columns may hold any character, so a column's name is the longest known name that the text begins with. Known
are the names of the table, in its order, and those that the study gives its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from shared.errors import InputError

Choice = TypeVar("Choice", bound=str)
Columns = Mapping[str, str]
"""Every name by which a column may be called, to its name in the table; the table's own names first."""


def columns_of(table: Iterable[str], study: Mapping[str, str]) -> Columns:
    """The names of a table's columns, and what the study calls them where that is not a name of the table already.

    Args: study: name in the table to name in the study.
    """
    own = {name: name for name in table}
    return own | {called: name for name, called in study.items() if name in own and called not in own}


def names_of(text: str | None, columns: Sequence[str]) -> dict[str, str]:
    """What `--names` says: column to its name in the study. Raises: InputError: not one for each column."""
    if text is None:
        return {}
    names = [name.strip() for name in text.split(",")]
    if len(names) != len(columns):
        raise InputError(
            f"the records have {len(columns)} columns, and {len(names)} names were given",
            where="--names",
            remedy="Give one for every column, parted by commas, the class and dropped columns included.",
        )
    return dict(zip(columns, names, strict=True))


def split(text: str, columns: Columns, sign: str, option: str) -> tuple[str, str]:
    """Column and the rest behind `sign`. Raises: InputError: no such column, or no sign behind it."""
    named = [column for column in columns if text.startswith(column + sign)]
    if named:
        column = max(named, key=len)
        return columns[column], text[len(column) + len(sign) :]
    head, found, rest = text.partition(sign)
    position = int(head) if head.isdecimal() else 0
    own = [*dict.fromkeys(columns.values())]
    if found and 1 <= position <= len(own):
        return own[position - 1], rest
    raise InputError(
        f"expected a column of the records, then {sign!r}",
        where=f"{option} {text}",
        remedy="The columns are listed by privet data inspect; a position from 1 will do too.",
    )


def one_each(texts: Iterable[str] | None, columns: Columns, option: str) -> dict[str, str]:
    """`COLUMN=TEXT` (repeated) to column and text. Raises: InputError: two texts for one column."""
    found: dict[str, str] = {}
    for text in texts or ():
        column, value = split(text, columns, "=", option)
        _once(found, column, value, f"{option} {text}")
    return found


def several_each(texts: Iterable[str] | None, columns: Columns, option: str) -> dict[str, list[str]]:
    """`COLUMN=TEXT` (repeated, also for one column) to column and texts."""
    found: dict[str, list[str]] = {}
    for text in texts or ():
        column, value = split(text, columns, "=", option)
        found.setdefault(column, []).append(value)
    return found


def lists(texts: Iterable[str] | None, columns: Columns, option: str) -> dict[str, list[str]]:
    """`COLUMN=A,B,C` to column and texts."""
    return {
        column: [part.strip() for part in rest.split(",")]
        for column, rest in one_each(texts, columns, option).items()
    }


def pairs(texts: Iterable[str] | None, columns: Columns, option: str) -> dict[str, dict[str, str]]:
    """`COLUMN:OLD=NEW` (repeated) to column, old and new.

    Raises: InputError: no `=` behind the column, or two new texts for an old one.
    """
    found: dict[str, dict[str, str]] = {}
    for text in texts or ():
        column, rest = split(text, columns, ":", option)
        old, sign, new = rest.rpartition("=")
        if not sign:
            raise InputError(
                "expected COLUMN:OLD=NEW", where=f"{option} {text}", remedy="Such as sex:m=male."
            )
        _once(found.setdefault(column, {}), old, new, f"{option} {text}")
    return found


def choice_of(text: str, known: Mapping[str, Choice], option: str) -> Choice:
    """One of a few words. Raises: InputError: another."""
    if text not in known:
        raise InputError(f"expected one of {', '.join(known)}", where=f"{option} {text}")
    return known[text]


def _once(found: dict[str, str], key: str, value: str, where: str) -> None:
    """Keep what is said of a key. Raises: InputError: something else was said of it."""
    if found.setdefault(key, value) != value:
        raise InputError("it was given before, with another text", where=where, remedy="Give it once.")
