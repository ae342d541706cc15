"""The modes side by side for one case: costs, who learns what, what fits, and which one is advised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from shared.advice import paillier, shape, shares
from shared.advice.case import Case
from shared.advice.costs import Costs
from shared.advice.fitting import MODES, PROFILES, Fit, Mode, Wishes, fit, order
from shared.advice.words import entry_text, party_text
from shared.protocol.disclosure import Entry, Terms, entries_of
from shared.wire.quality import QualityKind
from shared.wire.secret import MAX_RECORDS, SecretSpec

_WITHOUT_COUNTS: Final[frozenset[QualityKind]] = frozenset({"importance"})
"""Figures of a tree's own counts, which trees that grew on shares come without; any tree can be evaluated."""
_PLACES = ("p0", "p1", "p2")
"""Compute parties that nobody has named yet; the forecast does not depend on who they are."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One mode for a case. `costs`: at most; None where the mode cannot be."""

    mode: Mode
    fit: Fit
    costs: Costs | None
    entries: tuple[Entry, ...]

    @property
    def learned(self) -> dict[str, list[str]]:
        """Who, in words, learns what at most, in words."""
        told: dict[str, list[str]] = {}
        for entry in self.entries:
            told.setdefault(party_text(entry), []).append(entry_text(entry))
        return told

    def to_json(self) -> dict[str, Any]:
        """For programs: codes, figures, sentences."""
        return {
            "mode": self.mode,
            "profile": PROFILES[self.mode],
            "rank": self.fit.rank,
            "forbids": list(self.fit.forbids),
            "against": list(self.fit.against),
            "speaks_for": list(self.fit.speaks_for),
            "mind": list(self.fit.mind),
            "costs_at_most": None if self.costs is None else self.costs.to_json(),
            "learned_at_most": [entry.to_json() for entry in self.entries],
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """All modes for a case. `best`: the one advised; None where none is possible, or each is against a wish."""

    case: Case
    offers: tuple[Offer, ...]
    best: Mode | None

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "hospitals": self.case.hospitals,
            "records": self.case.records,
            "attributes": len(self.case.questions),
            "classes": self.case.classes,
            "max_depth": self.case.max_depth,
            "key_bits": self.case.key_bits,
            "threshold": self.case.threshold,
            "line": {"round_trip_ms": self.case.line.round_trip_ms, "megabits": self.case.line.megabits},
            "best": self.best,
            "modes": [offer.to_json() for offer in self.offers],
        }


def advise(case: Case, wishes: Wishes | None = None) -> Advice:
    """What each mode costs and shows at most, and which one fits best."""
    wanted = wishes or Wishes()
    offers = tuple(_offer(mode, case, wanted) for mode in MODES)
    fitting = {offer.mode for offer in offers if offer.fit.rank == "fits"}
    best = next((mode for mode in order(case, wanted) if mode in fitting), None)
    return Advice(case, offers, best)


def _offer(mode: Mode, case: Case, wishes: Wishes) -> Offer:
    found = fit(mode, case, wishes)
    costs = None if found.rank == "impossible" else costs_of(mode, case)
    return Offer(mode, found, costs, tuple(entries_of(terms_of_case(mode, case))))


def costs_of(mode: Mode, case: Case) -> Costs:
    """At most, of the largest tree that the case allows."""
    if mode == "gain-ratio":
        return shares.costs_of_mode_g(case)
    levels = shape.greatest(case, terms_of_case(mode, case))
    return paillier.costs_of(case, levels) if mode == "ppsdt" else shares.costs_of_mode_i(case, levels)


def terms_of_case(mode: Mode, case: Case) -> Terms:
    """What the forecast of a job of this mode rests on."""
    is_secret = mode != "ppsdt"
    records = min(case.records, MAX_RECORDS)
    questions = list(enumerate(case.questions))
    return Terms(
        profile=PROFILES[mode],
        hospitals=case.hospitals,
        values=case.values,
        classes=case.classes,
        max_depth=case.max_depth,
        max_shrinks=0 if is_secret else 1,
        threshold=None if is_secret else case.threshold,
        secret=SecretSpec(compute_parties=list(_PLACES), grid=[], max_records=records) if is_secret else None,
        fractional=frozenset(index for index, question in questions if question.is_fractional),
        ordered=frozenset(
            index for index, question in questions if case.thresholds and question.kind == "ordered"
        ),
        figures=case.figures - _WITHOUT_COUNTS if is_secret else case.figures,
    )
