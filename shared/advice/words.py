"""What speaks for a mode and what keeps it from a study, and sizes and times for people; the sentences are texts."""

from __future__ import annotations

from enum import StrEnum
from math import ceil
from typing import Final

from shared.protocol.disclosure import Entry
from shared.protocol.disclosure_words import (
    Condition,
    condition_in_words,
    learned_in_words,
    party_in_words,
)
from shared.texts import text


class Reason(StrEnum):
    """Why a mode fits, or does not."""

    NO_RECORD_LEAVES = "no_record_leaves"
    NO_SUMS = "no_sums"
    EXACT_NUMBERS = "exact_numbers"
    TREE_MAY_STAY_HIDDEN = "tree_may_stay_hidden"
    COUNTS_IN_LEAVES = "counts_in_leaves"
    SUMS_ARE_SEEN = "sums_are_seen"
    TREE_IS_SEEN = "tree_is_seen"
    PARTIES_ARE_TRUSTED = "parties_are_trusted"
    RECORDS_AS_SHARES = "records_as_shares"
    THRESHOLD = "threshold"
    NUMBERS = "numbers"
    NUMBERS_ON_A_GRID = "numbers_on_a_grid"
    FRACTIONAL = "fractional"
    TREATMENT = "treatment"
    TOO_MANY_RECORDS = "too_many_records"
    TOO_MANY_CELLS = "too_many_cells"
    TOO_MANY_COLUMNS = "too_many_columns"
    HEIGHT = "height"


_NAMES_TOLD: Final = 5
_STEPS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
"""Of bytes; the units are names of texts."""


def reason_text(reason: Reason, **places: object) -> str:
    """The sentence with its places filled."""
    return text(f"advice.{reason.value}", **places)


def listed(names: list[str]) -> str:
    """The first few names."""
    rest = len(names) - _NAMES_TOLD
    told = ", ".join(names[:_NAMES_TOLD])
    return text("listed.more", names=told, n=rest) if rest > 0 else told


def size_text(size: int) -> str:
    """Bytes for people, two figures."""
    for step, unit in _STEPS:
        if size >= step:
            number = size / step
            return text(f"measure.{unit}", n=f"{number:.0f}" if number >= 10 else f"{number:.1f}")
    return text("measure.bytes", n=size)


def duration_text(seconds: float) -> str:
    """A time for people, roughly: seconds, minutes, hours or days."""
    for step, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * step:
            return text(f"measure.{unit}", n=_rounded(seconds / step))
    whole = ceil(seconds)
    return text("measure.one_second") if whole == 1 else text("measure.seconds", n=whole)


def number_text(number: int) -> str:
    """A number with thousands parted."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def entry_text(entry: Entry) -> str:
    """What is learned, how much at most, and when, where that is not always."""
    told = learned_in_words(entry.learned)
    if entry.unit in _LIMITS:
        unit = text(f"ledger.unit.{entry.unit}")
        amount = text("measure.amount", n=number_text(entry.amount or 0), unit=unit)
        told = f"{told} ({text('ledger.up_to', amount=amount)})"
    if entry.condition is not Condition.ALWAYS:
        told += text("ledger.condition_after", when=condition_in_words(entry.condition))
    return told


def party_text(entry: Entry) -> str:
    """Who learns it."""
    return party_in_words(entry.party)


_LIMITS: Final = frozenset({"cells", "nodes", "leaves", "records"})
"""Amounts that say something before the job; the others are one, or the number of hospitals."""


def _rounded(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}".removesuffix(".0")
