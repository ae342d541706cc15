"""The advisor's sentences: what speaks for a mode and what keeps it from a study, and sizes and times for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import ceil
from typing import Final

from shared.protocol.disclosure import Entry
from shared.protocol.disclosure_words import CONDITIONS, PARTIES, WORDS, Condition


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


REASONS: Final[Mapping[Reason, str]] = {
    Reason.NO_RECORD_LEAVES: "No record leaves a hospital, in whatever form: only encrypted counts do.",
    Reason.NO_SUMS: "Nobody sees any count, not even summed ones.",
    Reason.EXACT_NUMBERS: "Numbers are compared as they are; nobody has to choose cut points.",
    Reason.TREE_MAY_STAY_HIDDEN: "The tree can be opened to named hospitals only, or stay shared and only be asked.",
    Reason.COUNTS_IN_LEAVES: "Leaves can hold summed counts, so that predictions come with probabilities.",
    Reason.SUMS_ARE_SEEN: (
        "Every hospital sees the summed counts of every node that is asked, small ones included, which you would "
        "rather not have. Noise on each count, or a mode on secret shares, avoids it."
    ),
    Reason.TREE_IS_SEEN: "Every hospital learns the tree, which you would rather not have.",
    Reason.PARTIES_ARE_TRUSTED: (
        "It rests on three compute parties of which no two put together what they have, and you would rather not "
        "rely on that."
    ),
    Reason.RECORDS_AS_SHARES: (
        "Every record leaves as random-looking shares to three compute parties; two of them together could read it."
    ),
    Reason.THRESHOLD: (
        "The federation's key is in shares: no hospital opens a sum alone, and several must be online in every round."
    ),
    Reason.NUMBERS: (
        "It cannot ask about plain numbers ({names}). Give these attributes cut points in the study, or take mode "
        "gain-ratio."
    ),
    Reason.NUMBERS_ON_A_GRID: (
        "It cannot ask about plain numbers ({names}). Give these attributes cut points in the study: jobs with "
        "thresholds split at any of them, and a fine grid comes as close to the numbers as you like. Or take mode "
        "gain-ratio."
    ),
    Reason.FRACTIONAL: (
        "It cannot part records with missing values ({names}). Make missing a value of its own, or take mode ppsdt."
    ),
    Reason.TREATMENT: (
        "It must know how to test listed values ({names}): in their order, or one by one. Add treat_as to these "
        "attributes."
    ),
    Reason.TOO_MANY_RECORDS: "It takes at most {limit} records of all hospitals together.",
    Reason.TOO_MANY_CELLS: (
        "The first round alone would ask {asked} counts, and {limit} are allowed. Leave out attributes, or list fewer "
        "values."
    ),
    Reason.TOO_MANY_COLUMNS: "The attributes make {asked} columns, and {limit} are allowed.",
    Reason.HEIGHT: "Its trees have at most {limit} questions on a path; a job must say how many.",
}
_NAMES_TOLD: Final = 5
_STEPS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def reason_text(reason: Reason, **places: object) -> str:
    """The sentence with its places filled."""
    return REASONS[reason].format(**places)


def listed(names: list[str]) -> str:
    """The first few names."""
    rest = len(names) - _NAMES_TOLD
    told = ", ".join(names[:_NAMES_TOLD])
    return f"{told} and {rest} more" if rest > 0 else told


def size_text(size: int) -> str:
    """Bytes for people, two figures."""
    for step, unit in _STEPS:
        if size >= step:
            number = size / step
            return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{size} bytes"


def duration_text(seconds: float) -> str:
    """A time for people, roughly: seconds, minutes, hours or days."""
    for step, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * step:
            return f"{_rounded(seconds / step)} {unit}s"
    whole = ceil(seconds)
    return f"{whole} second{'' if whole == 1 else 's'}"


def number_text(number: int) -> str:
    """A number with thousands parted."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def entry_text(entry: Entry) -> str:
    """What is learned, how much at most, and when, where that is not always."""
    amount = f" (at most {number_text(entry.amount or 0)} {entry.unit})" if entry.unit in _LIMITS else ""
    when = "" if entry.condition is Condition.ALWAYS else f", {CONDITIONS[entry.condition]}"
    return f"{WORDS[entry.learned]}{amount}{when}"


def party_text(entry: Entry) -> str:
    """Who learns it."""
    return PARTIES[entry.party]


_LIMITS: Final = frozenset({"cells", "nodes", "leaves", "records"})
"""Amounts that say something before the job; the others are one, or the number of hospitals."""


def _rounded(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}".removesuffix(".0")
