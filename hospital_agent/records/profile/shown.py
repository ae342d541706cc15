"""What may be told of values and numbers of rows: nothing of fewer rows than the site's floor.

A number that is held back must not follow from those that are shown and the number of all rows. So where the rows held
back are together fewer than the floor, the next smallest value is held back as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.texts import text

DEFAULT_FLOOR: Final = 5


@dataclass(frozen=True, slots=True)
class Shown:
    """The values of a column that may be told, the most frequent first, and how many different ones are held back."""

    values: tuple[tuple[str, int], ...]
    held_back: int


def shown_values(values: Sequence[str], counts: Sequence[int], floor: int) -> Shown:
    """What may be told of a column. Args: counts: rows of each value, all above 0."""
    ranked = sorted(zip(values, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    told = [pair for pair in ranked if pair[1] >= floor]
    hidden = [count for _, count in ranked if count < floor]
    while hidden and told and sum(hidden) < floor:
        hidden.append(told.pop()[1])
    return Shown(tuple(told), len(hidden))


def told(rows: int, floor: int) -> str:
    """A number of rows in words: exact at or above the floor, and 0."""
    if 0 < rows < floor:
        return text("rows.fewer", floor=floor)
    return text("rows.one") if rows == 1 else text("rows.several", n=rows)


def number_or_none(rows: int, floor: int) -> int | None:
    """The same for a document: None where it may not be told."""
    return None if 0 < rows < floor else rows
