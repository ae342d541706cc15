"""Who has learned what by a job: the fact ledger, read off a log of the job and nothing else.

The log is the cloud's of the job, or a hospital's own, which knows more of what it saw itself. Lines about parties who
pool what they have say how much that would be; whether they did so no log knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.ids import EVERYONE
from shared.protocol.disclosure import (
    Entry,
    Ledger,
    Terms,
    about,
    figures_at_the_cloud,
    root_cells,
    terms_of,
)
from shared.protocol.disclosure_words import Condition, Learned, Party
from shared.wire.envelope import MessageType
from shared.wire.manifest import Manifest
from shared.wire.secret import SecretSpec


@dataclass(slots=True)
class RoundCourse:
    """One attempt of a round. `slots`: cells asked, None where the log does not say. `summed`: its sum was sent.

    `next_nodes`: nodes that are open after it, None where nobody has told.
    `opened`: of key mode threshold, that the holders' parts were sent, without which nobody opens the sum.
    """

    round: int
    attempt: int
    slots: int | None = None
    contributed: list[str] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)
    summed: bool = False
    opened: bool = False
    next_nodes: int | None = None


@dataclass(slots=True)
class Course:
    """What happened in a job. `left_out`: hospitals told alone that it goes on without them, and why.

    `records`: how many each member shares, in a secret job. `opened`: values by kind, where a compute party knows them.
    `figures`: hash of the published figures by the hospital that sent them.
    `ended`: the code with which it ended without a tree.
    """

    accepted: list[str] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    rounds: list[RoundCourse] = field(default_factory=list)
    attested: dict[str, str] = field(default_factory=dict)
    published: bool = False
    figures: dict[str, str] = field(default_factory=dict)
    done: bool = False
    ended: str | None = None
    roster: tuple[str, ...] = ()
    records: Mapping[str, int] = field(default_factory=dict)
    opened: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """By numbers and ids; the numbers of records only as the protocol tells them to all members."""
        return {
            "roster": list(self.roster),
            "accepted": self.accepted,
            "declined": self.declined,
            "left_out": self.left_out,
            "rounds": [
                {
                    "round": entry.round,
                    "attempt": entry.attempt,
                    "open_nodes": self.open_nodes(entry.round),
                    "cells_asked": entry.slots,
                    "contributed": entry.contributed,
                    "sum_sent": entry.summed,
                    "decided": entry.decided,
                }
                for entry in self.rounds
            ],
            "attested": self.attested,
            "tree_published": self.published,
            "figures_sent": self.figures,
            "done": self.done,
            "ended": self.ended,
            "opened": dict(self.opened),
        }

    def open_nodes(self, number: int) -> int | None:
        """Open nodes of a round: the root at first, then what was decided in the round before. None: not told."""
        told = [entry.next_nodes for entry in self.rounds if entry.round == number - 1]
        return 1 if number == 0 else next((nodes for nodes in told if nodes is not None), None)

    def at(self, record: Mapping[str, Any]) -> RoundCourse:
        """The attempt of a round that a record is about."""
        place = (int(record["round"]), int(record.get("attempt", 0)))
        for entry in self.rounds:
            if (entry.round, entry.attempt) == place:
                return entry
        self.rounds.append(RoundCourse(*place))
        return self.rounds[-1]


def course_of(records: Sequence[Mapping[str, Any]], own: str | None = None) -> Course:
    """What a log says. Args: records: of one job, in order. own: whose log it is, if a hospital's."""
    course = Course()
    for record in records:
        kind, sender = record.get("type"), _sender(record, own)
        if kind is None or sender is None or "refused" in record:
            continue
        if sender == "":
            _cloud_said(course, str(kind), record)
        else:
            _hospital_said(course, str(kind), sender, record)
    return course


def _sender(record: Mapping[str, Any], own: str | None) -> str | None:
    """Who said it: a hospital's id, "" for the cloud, None for what is no message."""
    if own is None:
        return str(record["from"]) if "from" in record else "" if "to" in record else None
    return {"sent": own, "received": ""}.get(str(record.get("kind")))


def _cloud_said(course: Course, kind: str, record: Mapping[str, Any]) -> None:
    match kind:
        case MessageType.ROUND_OPEN:
            course.at(record).slots = record.get("slots")
        case MessageType.AGGREGATE:
            course.at(record).summed = True
        case MessageType.PARTIALS:
            course.at(record).opened = True
        case MessageType.JOB_DONE:
            course.done = True
        case MessageType.ABORT if record.get("to", EVERYONE) == EVERYONE:
            course.ended = str(record.get("code", "ended"))
        case MessageType.ABORT:
            course.left_out[str(record["to"])] = str(record.get("code", "ended"))


def _hospital_said(course: Course, kind: str, sender: str, record: Mapping[str, Any]) -> None:
    match kind:
        case MessageType.JOB_ACCEPT:
            course.accepted.append(sender)
        case MessageType.JOB_DECLINE:
            course.declined[sender] = str(record.get("code", "declined"))
        case MessageType.CONTRIBUTION:
            course.at(record).contributed.append(sender)
        case MessageType.DECISION | MessageType.NOTIFY:
            course.at(record).decided.append(sender)
            course.at(record).next_nodes = record.get("next_nodes", course.at(record).next_nodes)
        case MessageType.ATTEST:
            course.attested[sender] = str(record.get("tree_sha256", ""))
            course.published = course.published or bool(record.get("published"))
            if record.get("quality_sha256"):
                course.figures[sender] = str(record["quality_sha256"])


def fact(manifest: Manifest, course: Course) -> Ledger:
    """What each party has learned so far, or in the end."""
    entries = tuple(_entries(terms_of(manifest), course))
    return Ledger("fact", about(manifest), entries, course.to_json())


def _entries(terms: Terms, course: Course) -> Iterator[Entry]:
    yield from _everywhere(terms, course)
    if terms.secret is not None:
        yield from _secret(terms, terms.secret, course)
    else:
        yield from _paillier(terms, course)


def _everywhere(terms: Terms, course: Course) -> Iterator[Entry]:
    always, members = Condition.ALWAYS, len(course.roster)
    answered = max(len(course.accepted) + len(course.declined), members)
    for party in (Party.CLOUD, Party.PEOPLE):
        yield Entry(party, Learned.ROSTER, always, answered, "hospitals")
    yield Entry(Party.CLOUD, Learned.MESSAGE_SIZES, always)
    yield Entry(Party.CLOUD, Learned.SNAPSHOT_HASHES, always, max(len(course.accepted), members), "hospitals")
    if members:
        yield Entry(Party.HOSPITAL, Learned.ROSTER, always, members, "hospitals")
        yield Entry(Party.HOSPITAL, Learned.SNAPSHOT_HASHES, always, members, "hospitals")
    if terms.consents and (course.done or any(entry.summed for entry in course.rounds)):
        yield Entry(Party.HOSPITAL, Learned.DIFFERENCE, always, terms.consents, "hospitals")
    if course.attested:
        done = Condition.WHEN_DONE
        for party in (Party.CLOUD, Party.PEOPLE):
            yield Entry(party, Learned.TREE_HASH, done, 1, "hashes")
    if course.published:
        published = Condition.WHEN_PUBLISHED
        for party in (Party.CLOUD, Party.PEOPLE):
            yield Entry(party, Learned.TREE_WITHOUT_COUNTS, published, 1, "trees")
    if course.figures:
        yield from figures_at_the_cloud({"importance" if terms.tally is None else "evaluation"})


def _paillier(terms: Terms, course: Course) -> Iterator[Entry]:
    always, opened = Condition.ALWAYS, [entry for entry in course.rounds if entry.slots is not None]
    contributions = sum(len(entry.contributed) for entry in course.rounds)
    told = [entry for entry in course.rounds if entry.summed and (terms.threshold is None or entry.opened)]
    if opened:
        for party in (Party.CLOUD, Party.PEOPLE):
            yield Entry(party, Learned.ROUND_SIZES, always, len(opened), "rounds")
    if contributions:
        learned = Learned.NONCES if terms.profile == "paper" else Learned.MASK_SEEDS
        yield Entry(Party.CLOUD, learned, always, contributions, "contributions")
    if terms.profile == "paper":
        yield from _paper(course)
    if told:
        yield from _of_sums(terms, _cells(told))
    if terms.threshold is not None:
        yield from _forwarded(course)
    yield from _of_shrinks(terms, course)
    if course.done and terms.counted is not None:
        yield Entry(Party.HOSPITAL, terms.counted, Condition.WHEN_DONE, _cells(told), "cells")
    elif course.done:
        yield Entry(Party.HOSPITAL, Learned.TREE, Condition.WHEN_DONE, 1, "trees")


def _cells(rounds: Sequence[RoundCourse]) -> int | None:
    """Cells of these rounds; None where a log of an older version does not say."""
    slots = [entry.slots for entry in rounds]
    return None if None in slots else sum(slot for slot in slots if slot is not None)


def _forwarded(course: Course) -> Iterator[Entry]:
    """Each hospital was sent the contributions of all others, to recompute the sum."""
    others = sum(len(entry.contributed) - 1 for entry in course.rounds if entry.summed)
    if others:
        yield Entry(Party.HOSPITAL, Learned.SEALED_CONTRIBUTIONS, Condition.ALWAYS, others, "contributions")


def _of_sums(terms: Terms, summed: int | None) -> Iterator[Entry]:
    sums = Learned.NOISY_SUMS if terms.noisy else Learned.SUMS
    last = Learned.NOISY_COUNTS_OF_LAST if terms.noisy else Learned.COUNTS_OF_LAST
    yield Entry(Party.HOSPITAL, sums, Condition.ALWAYS, summed, "cells")
    if terms.fractional:
        yield Entry(Party.HOSPITAL, Learned.MISSING_GROUPS, Condition.ALWAYS)
    if terms.ordered:
        yield Entry(Party.HOSPITAL, Learned.INTERVALS, Condition.ALWAYS)
    yield Entry(Party.ALL_BUT_ONE, last, Condition.IF_POOLED, summed, "cells")
    if terms.profile == "hardened":
        yield Entry(Party.AUTHORITY, sums, Condition.IF_KEYS_ARE_KEPT, summed, "cells")


def _paper(course: Course) -> Iterator[Entry]:
    told = sum(bool(entry.decided) for entry in course.rounds)
    if told:
        yield Entry(Party.CLOUD, Learned.TREE_AS_IT_GROWS, Condition.ALWAYS, told, "rounds")
    sent = [entry for entry in course.rounds if entry.contributed]
    if not sent:
        return
    slots = [None if entry.slots is None else entry.slots * len(entry.contributed) for entry in sent]
    cells = None if None in slots else sum(slot for slot in slots if slot is not None)
    for party, condition in (
        (Party.HOSPITAL, Condition.IF_TRAFFIC_IS_SEEN),
        (Party.HOSPITAL_AND_CLOUD, Condition.IF_POOLED),
        (Party.AUTHORITY, Condition.IF_KEYS_ARE_KEPT),
    ):
        yield Entry(party, Learned.COUNTS_OF_EACH, condition, cells, "cells")


def _of_shrinks(terms: Terms, course: Course) -> Iterator[Entry]:
    """Round 0 began anew without a silent hospital: were that a lie, two sums would differ by it."""
    shrinks = max((entry.attempt for entry in course.rounds), default=0)
    if not shrinks or terms.profile != "hardened":
        return
    cells = root_cells(terms) * shrinks
    if terms.threshold is None:
        lies = Condition.IF_CLOUD_LIES
        yield Entry(Party.HOSPITAL_AND_CLOUD, Learned.COUNTS_OF_DROPPED, lies, cells, "cells")
    else:
        yield Entry(Party.KEY_HOLDERS, Learned.COUNTS_OF_DROPPED, Condition.IF_POOLED, cells, "cells")


def _secret(terms: Terms, secret: SecretSpec, course: Course) -> Iterator[Entry]:
    always, records = Condition.ALWAYS, sum(course.records.values()) if course.records else None
    yield Entry(
        Party.CLOUD,
        Learned.RECORD_NUMBERS,
        always,
        max(len(course.accepted), len(course.roster)),
        "hospitals",
    )
    if not course.roster:
        return
    yield Entry(Party.HOSPITAL, Learned.RECORD_NUMBERS, always, len(course.roster), "hospitals")
    for party in (Party.CLOUD, Party.PEOPLE):
        yield Entry(party, Learned.PROGRESS, always)
    yield Entry(Party.COMPUTE_PARTY, Learned.UNIFORM_SHARES, always)
    pooled = Condition.IF_POOLED
    for party in (Party.TWO_COMPUTE_PARTIES, Party.ALL_BUT_ONE):
        yield Entry(party, Learned.EVERY_RECORD, pooled, records, "records")
    if terms.profile == "secret-id3":
        yield from _of_mode_i(secret, course)
    elif course.done:
        yield from _of_mode_g(secret, course)


def _of_mode_i(secret: SecretSpec, course: Course) -> Iterator[Entry]:
    """Choices open from the first level on, so they count as learned from the roster on, done or not."""
    always, opened = Condition.ALWAYS, course.opened
    yield Entry(Party.CLOUD, Learned.TREE_SHAPE, always, 1, "trees")
    yield Entry(Party.COMPUTE_PARTY, Learned.CHOICES, always, opened.get("choice"), "nodes")
    yield Entry(Party.COMPUTE_PARTY, Learned.LEAF_CLASSES, always, opened.get("leaf_class"), "leaves")
    if secret.open_empty:
        yield Entry(Party.COMPUTE_PARTY, Learned.EMPTINESS, always, opened.get("emptiness"), "nodes")
    if course.done:
        yield Entry(Party.HOSPITAL, Learned.TREE, Condition.WHEN_DONE, 1, "trees")


def _of_mode_g(secret: SecretSpec, course: Course) -> Iterator[Entry]:
    done = Condition.WHEN_DONE
    yield Entry(Party.HOSPITAL, Learned.COMMITMENTS, done, 3, "commitments")
    if secret.result == "shared":
        yield Entry(Party.TWO_COMPUTE_PARTIES, Learned.SHARED_TREE, Condition.IF_POOLED, 1, "trees")
    elif secret.purpose == "predict":
        asked = [count for agent, count in course.records.items() if secret.receives(agent)]
        yield Entry(
            Party.RESULT_PARTY, Learned.CLASSES, done, sum(asked) if course.records else None, "records"
        )
    else:
        yield Entry(Party.RESULT_PARTY, Learned.TREE, done, 1, "trees")
