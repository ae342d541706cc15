"""Which mode fits: what forbids a mode, what speaks against it by what people wish, and what speaks for it.

What forbids it are the rules of `shared.wire.manifest` and of the trainers; whoever starts a job meets them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from shared.advice.case import Case
from shared.advice.words import Reason, listed, number_text, reason_text
from shared.wire.manifest import MAX_ATTRIBUTES, MAX_CELLS, Profile
from shared.wire.secret import MAX_HEIGHT, MAX_RECORDS

Mode = Literal["ppsdt", "id3", "gain-ratio"]
MODES: Final[tuple[Mode, ...]] = ("ppsdt", "id3", "gain-ratio")
PROFILES: Final[dict[Mode, Profile]] = {
    "ppsdt": "hardened",
    "id3": "secret-id3",
    "gain-ratio": "secret-gainratio",
}
_MOST_COUNTS_OF_KIDS: Final = 2**24
"""Of mode id3: counts of all children of one node."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What may be: hospitals see summed counts; three compute parties are relied on; every member gets the tree."""

    sums_may_be_seen: bool = True
    parties_may_be_trusted: bool = True
    tree_may_be_seen: bool = True


@dataclass(frozen=True, slots=True)
class Fit:
    """What can be said of a mode. `forbids`: it cannot be; `against`: it can, against a wish; `speaks_for`; `mind`."""

    forbids: tuple[str, ...]
    against: tuple[str, ...]
    speaks_for: tuple[str, ...]
    mind: tuple[str, ...]

    @property
    def rank(self) -> Literal["fits", "unwished", "impossible"]:
        """How well it fits, in one word."""
        return "impossible" if self.forbids else "unwished" if self.against else "fits"


def fit(mode: Mode, case: Case, wishes: Wishes) -> Fit:
    """All that can be said of a mode for this case."""
    return Fit(
        tuple(_forbids(mode, case)),
        tuple(_against(mode, wishes)),
        tuple(_speaks_for(mode, case)),
        tuple(_mind(mode, case)),
    )


def order(case: Case, wishes: Wishes) -> tuple[Mode, ...]:
    """The modes from the one that assumes least of people to the one that assumes most, for this case."""
    if any(question.kind == "numeric" for question in case.questions) or not wishes.tree_may_be_seen:
        return (
            ("gain-ratio", "ppsdt", "id3") if not wishes.sums_may_be_seen else ("ppsdt", "gain-ratio", "id3")
        )
    return MODES


def _forbids(mode: Mode, case: Case) -> Iterator[str]:
    numbers = [question.name for question in case.questions if question.kind == "numeric"]
    fractional = [question.name for question in case.questions if question.is_fractional]
    if mode != "gain-ratio" and numbers:
        reason = Reason.NUMBERS_ON_A_GRID if mode == "ppsdt" else Reason.NUMBERS
        yield reason_text(reason, names=listed(numbers))
    if mode == "ppsdt":
        asked = sum(case.values) * case.classes
        if asked > MAX_CELLS:
            yield reason_text(Reason.TOO_MANY_CELLS, asked=number_text(asked), limit=number_text(MAX_CELLS))
        return
    if fractional:
        yield reason_text(Reason.FRACTIONAL, names=listed(fractional))
    if case.records > MAX_RECORDS:
        yield reason_text(Reason.TOO_MANY_RECORDS, limit=number_text(MAX_RECORDS))
    if mode == "id3":
        counts = sum(case.values) * max(case.values, default=0) * case.classes
        if counts > _MOST_COUNTS_OF_KIDS:
            yield reason_text(
                Reason.TOO_MANY_CELLS, asked=number_text(counts), limit=number_text(_MOST_COUNTS_OF_KIDS)
            )
        return
    unsaid = [question.name for question in case.questions if question.kind == "listed"]
    if unsaid:
        yield reason_text(Reason.TREATMENT, names=listed(unsaid))
    columns = len(case.column_bits)
    if columns > MAX_ATTRIBUTES:
        yield reason_text(Reason.TOO_MANY_COLUMNS, asked=columns, limit=MAX_ATTRIBUTES)


def _against(mode: Mode, wishes: Wishes) -> Iterator[str]:
    if mode == "ppsdt" and not wishes.sums_may_be_seen:
        yield reason_text(Reason.SUMS_ARE_SEEN)
    if mode != "ppsdt" and not wishes.parties_may_be_trusted:
        yield reason_text(Reason.PARTIES_ARE_TRUSTED)
    if mode != "gain-ratio" and not wishes.tree_may_be_seen:
        yield reason_text(Reason.TREE_IS_SEEN)


def _speaks_for(mode: Mode, case: Case) -> Iterator[str]:
    if mode == "ppsdt":
        yield reason_text(Reason.NO_RECORD_LEAVES)
        yield reason_text(Reason.COUNTS_IN_LEAVES)
        return
    yield reason_text(Reason.NO_SUMS)
    if mode == "gain-ratio":
        if any(question.kind == "numeric" for question in case.questions):
            yield reason_text(Reason.EXACT_NUMBERS)
        yield reason_text(Reason.TREE_MAY_STAY_HIDDEN)


def _mind(mode: Mode, case: Case) -> Iterator[str]:
    if mode != "ppsdt":
        yield reason_text(Reason.RECORDS_AS_SHARES)
    elif case.threshold is not None:
        yield reason_text(Reason.THRESHOLD)
    if mode == "gain-ratio" and (case.max_depth is None or case.max_depth > MAX_HEIGHT):
        yield reason_text(Reason.HEIGHT, limit=MAX_HEIGHT)
