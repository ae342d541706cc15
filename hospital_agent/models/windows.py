"""Moments of a model's counters that may be told: the last step, and where each week of half a year began.

A week begins on Monday, 00:00 UTC, and with the step that was told last before it: so what two windows differ by is
never less than a step, and nothing is told of a week that could not have been read on its last day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from shared.errors import InputError

KEPT_WEEKS: Final = 26
_WEEK_SECONDS: Final = 7 * 86_400
_FIRST_MONDAY: Final = 4 * 86_400
"""5 January 1970."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How the counters stood. `moment`: Unix seconds. `counts`: by the name of a gauge and cell."""

    moment: int
    records: int
    counts: Mapping[str, Sequence[int]]

    def kept(self) -> dict[str, Any]:
        """As it is written to disk."""
        return {"moment": self.moment, "records": self.records, "counts": dict(self.counts)}

    @classmethod
    def of(cls, kept: Mapping[str, Any] | None, sizes: Mapping[str, int]) -> Self | None:
        """From disk; None where it does not fit the model any more. Args: sizes: cells by the name of a gauge."""
        if kept is None or {name: len(counts) for name, counts in kept["counts"].items()} != sizes:
            return None
        counts = {name: tuple(map(int, found)) for name, found in kept["counts"].items()}
        return cls(int(kept["moment"]), int(kept["records"]), counts)


def week_of(moment: int) -> int:
    """The number of a week. Args: moment: Unix seconds."""
    return (moment - _FIRST_MONDAY) // _WEEK_SECONDS


def begin_of(week: int) -> int:
    """Its Monday, in Unix seconds."""
    return week * _WEEK_SECONDS + _FIRST_MONDAY


def day_from(text: str) -> int:
    """The beginning of a day, UTC, in Unix seconds. Raises: InputError: it is no day."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise InputError("expected a day", where="since", remedy="Write it as 2027-11-30.") from None
