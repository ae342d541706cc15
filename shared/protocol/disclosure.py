"""Who learns what by a job, at most: the forecast ledger, computed from what the members agree to.

Bounds are of the protocol, not of the records: whatever the records are, no more than this is learned. What was learned
in the end stands in the fact ledger (`shared.protocol.disclosure_facts`), and is never more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from shared.protocol.disclosure_words import (
    Condition,
    Learned,
    Party,
    amount_in_words,
    condition_in_words,
    learned_in_words,
    party_in_words,
    unknown_in_words,
    why_in_words,
)
from shared.protocol.noise_words import noise_words
from shared.protocol.tallies import tally_sentences
from shared.wire.manifest import MAX_CELLS, Manifest, Profile
from shared.wire.quality import QualityKind
from shared.wire.secret import SecretSpec
from shared.wire.tally import TallyKind

LEDGER_VERSION: Final = 1
FIGURES: Final[Mapping[QualityKind, Learned]] = {
    "evaluation": Learned.FIGURES_OF_EVALUATION,
    "importance": Learned.FIGURES_OF_IMPORTANCE,
}
"""Of a job, sent to the cloud where its study says so."""
_GREATEST_TOLD: Final = 2**40
"""Beyond this a bound is no limit that anybody would meet, and is left out."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the ledger of a job depends on; of a manifest by `terms_of`.

    `values`: number of values of each attribute. `hospitals`: most that may take part. `max_depth` None: no limit.
    `threshold`: holders who open a sum together; None where each hospital has the whole key. `consents`: of hospitals
    by which alone the roster may differ from an earlier one. `fractional`: indices of the attributes whose missing
    values are fractional; their last value makes no branch. `tally`: what is counted in place of growing a tree.
    `ordered`: indices of the attributes that are split at thresholds, and may be again below. `figures`: rounded ones
    that hospitals send to the cloud once the job is done, by the study's document.
    """

    profile: Profile
    hospitals: int
    values: tuple[int, ...]
    classes: int
    max_depth: int | None
    max_shrinks: int = 0
    publish_tree: bool = False
    threshold: int | None = None
    noisy: bool = False
    secret: SecretSpec | None = None
    consents: int = 0
    fractional: frozenset[int] = frozenset()
    tally: TallyKind | None = None
    ordered: frozenset[int] = frozenset()
    figures: frozenset[QualityKind] = frozenset()

    @property
    def counted(self) -> Learned | None:
        """What a job that only counts comes to; None where a tree grows."""
        return None if self.tally is None else Learned(self.tally)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger. `amount`: at most, of a forecast; counted, of a fact; None where numbers say nothing.

    `unit`: what the amount counts.
    """

    party: Party
    learned: Learned
    condition: Condition
    amount: int | None = None
    unit: str = ""

    @property
    def amount_text(self) -> str:
        """The amount with its unit; empty where there is none."""
        return "" if self.amount is None else amount_in_words(self.amount, self.unit)

    def to_json(self) -> dict[str, Any]:
        """Codes for programs, and the sentences for people beside them."""
        return {
            "party": self.party.value,
            "who": party_in_words(self.party),
            "learned": self.learned.value,
            "what": learned_in_words(self.learned),
            "condition": self.condition.value,
            "when": condition_in_words(self.condition),
            "amount": self.amount,
            "unit": self.unit,
            "amount_text": self.amount_text,
            "why": why_in_words(self.learned),
        }


@dataclass(frozen=True, slots=True)
class Ledger:
    """Who learned what. `about`: ids and rules of the job. `course`: of a fact, what happened, by numbers and ids."""

    kind: Literal["forecast", "fact"]
    about: Mapping[str, Any]
    entries: tuple[Entry, ...]
    course: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The machine-readable document."""
        return {
            "privet_ledger": LEDGER_VERSION,
            "kind": self.kind,
            "about": dict(self.about),
            "entries": [entry.to_json() for entry in self.entries],
            "course": None if self.course is None else dict(self.course),
            "cannot_be_known": unknown_in_words(),
        }


def terms_of(manifest: Manifest, figures: QualityKind | None = None) -> Terms:
    """The terms of a job. Args: figures: those that its study publishes of it (`quality.published_kind`)."""
    return Terms(
        profile=manifest.profile,
        hospitals=len(manifest.invited),
        values=tuple(len(attribute.values) for attribute in manifest.schema_.attributes),
        classes=len(manifest.schema_.class_.labels),
        max_depth=manifest.max_depth,
        max_shrinks=manifest.max_shrinks,
        publish_tree=manifest.publish_tree,
        threshold=manifest.threshold,
        noisy=manifest.noise is not None,
        secret=manifest.secret,
        consents=len(manifest.consents or ()),
        fractional=_fractional(manifest),
        tally=None if manifest.tally is None else manifest.tally.kind,
        ordered=_ordered(manifest),
        figures=frozenset() if figures is None else frozenset({figures}),
    )


def _fractional(manifest: Manifest) -> frozenset[int]:
    """A job that only counts has no branches, so nothing is counted apart."""
    if manifest.tally is not None:
        return frozenset()
    attributes = enumerate(manifest.schema_.attributes)
    return frozenset(index for index, attribute in attributes if attribute.missing is not None)


def _ordered(manifest: Manifest) -> frozenset[int]:
    if manifest.thresholds is None:
        return frozenset()
    names = set(manifest.schema_.ordered)
    return frozenset(index for index, a in enumerate(manifest.schema_.attributes) if a.name in names)


def about(manifest: Manifest) -> dict[str, Any]:
    """What a ledger says of its job before the entries. `consents`: hospitals that let their part be told apart."""
    words = noise_words(manifest)
    return {
        "job": manifest.job,
        "study": manifest.study,
        "question": manifest.question,
        "profile": manifest.profile,
        "key_mode": manifest.key_mode,
        "threshold": manifest.threshold,
        "noise": manifest.noise is not None,
        "epsilon_at_most": None if words is None else str(words.epsilon),
        "delta": None if manifest.noise is None else manifest.noise.delta,
        "consents": [consent.consent.hospital for consent in manifest.consents or ()],
        "counts": tally_sentences(manifest),
        "invited": list(manifest.invited),
        "synthetic": manifest.synthetic,
        "secret": None if manifest.secret is None else _parties(manifest.secret),
    }


def _parties(secret: SecretSpec) -> dict[str, Any]:
    """Of a secret job: who computes, and to whom the result is opened (None: to every member)."""
    return {
        "compute_parties": list(secret.compute_parties),
        "purpose": secret.purpose,
        "result": secret.result,
        "result_parties": None if secret.result_parties is None else list(secret.result_parties),
    }


def forecast(manifest: Manifest, figures: QualityKind | None = None) -> Ledger:
    """What each party will learn by this job at most. Args: figures: as of `terms_of`."""
    return Ledger("forecast", about(manifest), tuple(entries_of(terms_of(manifest, figures))))


def entries_of(terms: Terms) -> Iterator[Entry]:
    """The entries of a forecast, party by party."""
    yield from _everywhere(terms)
    yield from _secret(terms, terms.secret) if terms.secret is not None else _paillier(terms)


def levels(terms: Terms) -> int:
    """Most levels whose nodes are asked: no node at the greatest depth is, and a path asks an attribute once, but one
    that is split at thresholds once for each place between its values."""
    questions = len(_questions(terms))
    return questions if terms.max_depth is None else min(terms.max_depth, questions)


def _questions(terms: Terms) -> list[int]:
    """How many branches each question has that a path may ask, in no order."""
    widths = []
    for index, values in enumerate(terms.values):
        branches = values - (index in terms.fractional)
        widths += [2] * (branches - 1) if index in terms.ordered else [branches]
    return widths


def _groups(terms: Terms) -> list[int]:
    """Into how many groups of records each question parts every group of a node, in no order."""
    widths = []
    for index, values in enumerate(terms.values):
        parts = 2 if index in terms.fractional else 1
        branches = values - (index in terms.fractional)
        widths += [2 * parts] * (branches - 1) if index in terms.ordered else [parts * branches]
    return widths


def nodes_at(terms: Terms, depth: int) -> int:
    """Most nodes at a depth: each question on a path is another one, so the widest ones come first."""
    count = 1
    for width in sorted(_questions(terms), reverse=True)[:depth]:
        count *= max(width, 1)
    return count


def populations_at(terms: Terms, depth: int) -> int:
    """Most groups of records that are counted at a depth: nodes, or where missing values are fractional their parts.

    A split on such an attribute gives each part of a node two in every branch: records with the value, and without any.
    """
    count = 1
    for width in sorted(_groups(terms), reverse=True)[:depth]:
        count *= max(width, 1)
    return count


def _bound(count: int) -> int | None:
    return count if count <= _GREATEST_TOLD else None


def root_cells(terms: Terms) -> int:
    """Cells of the root, which round 0 asks."""
    return sum(terms.values) * terms.classes


def cells(terms: Terms) -> int:
    """Most cells asked of all rounds together. A round has at most `MAX_CELLS`, or agents end the job."""
    narrow = sorted(terms.values)
    asked = 0
    for depth in range(levels(terms)):
        # An attribute with thresholds stays open below them.
        open_values = sum(narrow) - sum(() if terms.ordered else narrow[:depth])
        most = min(populations_at(terms, depth) * open_values * terms.classes, MAX_CELLS)
        asked += most
        if terms.ordered and most == MAX_CELLS:
            # From here on every level may be as large, and there may be thousands.
            return asked + (levels(terms) - depth - 1) * MAX_CELLS
    return asked


def _everywhere(terms: Terms) -> Iterator[Entry]:
    hospitals = terms.hospitals
    for party in (Party.CLOUD, Party.HOSPITAL):
        yield Entry(party, Learned.ROSTER, Condition.ALWAYS, hospitals, "hospitals")
        yield Entry(party, Learned.SNAPSHOT_HASHES, Condition.ALWAYS, hospitals, "hospitals")
    yield Entry(Party.PEOPLE, Learned.ROSTER, Condition.ALWAYS, hospitals, "hospitals")
    yield Entry(Party.CLOUD, Learned.MESSAGE_SIZES, Condition.ALWAYS)
    yield Entry(Party.CLOUD, Learned.TREE_HASH, Condition.WHEN_DONE, 1, "hashes")
    yield Entry(Party.PEOPLE, Learned.TREE_HASH, Condition.WHEN_DONE, 1, "hashes")
    if terms.consents:
        yield Entry(Party.HOSPITAL, Learned.DIFFERENCE, Condition.ALWAYS, terms.consents, "hospitals")
    if terms.publish_tree:
        for party in (Party.CLOUD, Party.PEOPLE):
            yield Entry(party, Learned.TREE_WITHOUT_COUNTS, Condition.WHEN_PUBLISHED, 1, "trees")
    yield from figures_at_the_cloud(terms.figures)


def figures_at_the_cloud(kinds: Collection[QualityKind]) -> Iterator[Entry]:
    """The cloud reads them as they come, and shows them once all are alike."""
    for kind in sorted(kinds):
        learned = FIGURES[kind]
        yield Entry(Party.CLOUD, learned, Condition.WHEN_DONE)
        yield Entry(Party.PEOPLE, learned, Condition.WHEN_ALIKE)


def _paillier(terms: Terms) -> Iterator[Entry]:
    always, rounds = Condition.ALWAYS, levels(terms)
    contributions = terms.hospitals * (rounds + terms.max_shrinks)
    asked = cells(terms)
    sums = Learned.NOISY_SUMS if terms.noisy else Learned.SUMS
    for party in (Party.CLOUD, Party.PEOPLE):
        yield Entry(party, Learned.ROUND_SIZES, always, rounds + terms.max_shrinks, "rounds")
    if terms.profile == "paper":
        yield from _paper(rounds, contributions, asked * terms.hospitals)
    else:
        yield Entry(Party.CLOUD, Learned.MASK_SEEDS, always, contributions, "contributions")
    yield Entry(Party.HOSPITAL, sums, always, asked, "cells")
    if terms.fractional:
        yield Entry(Party.HOSPITAL, Learned.MISSING_GROUPS, always)
    if terms.ordered:
        yield Entry(Party.HOSPITAL, Learned.INTERVALS, always)
    if terms.counted is None:
        yield Entry(Party.HOSPITAL, Learned.TREE, Condition.WHEN_DONE, 1, "trees")
        yield Entry(Party.ASKER, Learned.PREDICTIONS, Condition.WHEN_ASKED)
    else:
        yield Entry(Party.HOSPITAL, terms.counted, Condition.WHEN_DONE, asked, "cells")
    last = Learned.NOISY_COUNTS_OF_LAST if terms.noisy else Learned.COUNTS_OF_LAST
    yield Entry(Party.ALL_BUT_ONE, last, Condition.IF_POOLED, asked, "cells")
    if terms.profile == "hardened":
        yield from _of_keys(terms, contributions)


def _paper(rounds: int, contributions: int, cells_of_each: int) -> Iterator[Entry]:
    yield Entry(Party.CLOUD, Learned.NONCES, Condition.ALWAYS, contributions, "contributions")
    yield Entry(Party.CLOUD, Learned.TREE_AS_IT_GROWS, Condition.ALWAYS, rounds, "rounds")
    seen = Condition.IF_TRAFFIC_IS_SEEN
    yield Entry(Party.HOSPITAL, Learned.COUNTS_OF_EACH, seen, cells_of_each, "cells")
    pooled = Condition.IF_POOLED
    yield Entry(Party.HOSPITAL_AND_CLOUD, Learned.COUNTS_OF_EACH, pooled, cells_of_each, "cells")
    yield Entry(Party.AUTHORITY, Learned.COUNTS_OF_EACH, Condition.IF_KEYS_ARE_KEPT, cells_of_each, "cells")


def _of_keys(terms: Terms, contributions: int) -> Iterator[Entry]:
    """Profile hardened: what who holds keys could do beyond the sums that everybody may know."""
    dropped = root_cells(terms) * terms.max_shrinks
    sums = Learned.NOISY_SUMS if terms.noisy else Learned.SUMS
    if terms.threshold is None:
        if terms.max_shrinks:
            lies = Condition.IF_CLOUD_LIES
            yield Entry(Party.HOSPITAL_AND_CLOUD, Learned.COUNTS_OF_DROPPED, lies, dropped, "cells")
    else:
        others = contributions - contributions // terms.hospitals
        yield Entry(Party.HOSPITAL, Learned.SEALED_CONTRIBUTIONS, Condition.ALWAYS, others, "contributions")
        if terms.max_shrinks:
            pooled = Condition.IF_POOLED
            yield Entry(Party.KEY_HOLDERS, Learned.COUNTS_OF_DROPPED, pooled, dropped, "cells")
    yield Entry(Party.AUTHORITY, sums, Condition.IF_KEYS_ARE_KEPT, cells(terms), "cells")


def _secret(terms: Terms, secret: SecretSpec) -> Iterator[Entry]:
    always, hospitals = Condition.ALWAYS, terms.hospitals
    for party in (Party.CLOUD, Party.HOSPITAL):
        yield Entry(party, Learned.RECORD_NUMBERS, always, hospitals, "hospitals")
    for party in (Party.CLOUD, Party.PEOPLE):
        yield Entry(party, Learned.PROGRESS, always)
    yield Entry(Party.COMPUTE_PARTY, Learned.UNIFORM_SHARES, always)
    yield from _of_mode_i(terms, secret) if terms.profile == "secret-id3" else _of_mode_g(secret)
    pooled = Condition.IF_POOLED
    yield Entry(Party.TWO_COMPUTE_PARTIES, Learned.EVERY_RECORD, pooled, secret.max_records, "records")
    yield Entry(Party.ALL_BUT_ONE, Learned.EVERY_RECORD, pooled, secret.max_records, "records")


def _of_mode_i(terms: Terms, secret: SecretSpec) -> Iterator[Entry]:
    asked = sum(nodes_at(terms, depth) for depth in range(levels(terms)))
    ends = sum(nodes_at(terms, depth) for depth in range(levels(terms) + 1))
    yield Entry(Party.CLOUD, Learned.TREE_SHAPE, Condition.ALWAYS, 1, "trees")
    yield Entry(Party.COMPUTE_PARTY, Learned.CHOICES, Condition.ALWAYS, _bound(asked), "nodes")
    yield Entry(Party.COMPUTE_PARTY, Learned.LEAF_CLASSES, Condition.ALWAYS, _bound(ends), "leaves")
    if secret.open_empty:
        yield Entry(Party.COMPUTE_PARTY, Learned.EMPTINESS, Condition.ALWAYS, _bound(ends - 1), "nodes")
    yield Entry(Party.HOSPITAL, Learned.TREE, Condition.WHEN_DONE, 1, "trees")
    yield Entry(Party.ASKER, Learned.PREDICTIONS, Condition.WHEN_ASKED)


def _of_mode_g(secret: SecretSpec) -> Iterator[Entry]:
    done = Condition.WHEN_DONE
    yield Entry(Party.HOSPITAL, Learned.COMMITMENTS, done, 3, "commitments")
    if secret.result == "shared":
        yield Entry(Party.TWO_COMPUTE_PARTIES, Learned.SHARED_TREE, Condition.IF_POOLED, 1, "trees")
    elif secret.purpose == "predict":
        yield Entry(Party.RESULT_PARTY, Learned.CLASSES, done, secret.max_records, "records")
    else:
        yield Entry(Party.RESULT_PARTY, Learned.TREE, done, 1, "trees")
        yield Entry(Party.ASKER, Learned.PREDICTIONS, Condition.WHEN_ASKED)
