"""One step of one job, written down: messages out, log, events, costs and the job itself, in one transaction.

Log (`shared.protocol.audit_log`): a record names a message by its type, place and hash; the job's head travels in
receipts and aggregates, and at the job's end it goes into the log of acts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from cloud_service.service import acts
from cloud_service.service.notifier import inbox_of, story_of
from cloud_service.store import jobs, journal, messages, outbox
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.errors import InternalError, JobCode, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol.audit_log import SignedClaim, link, record_of
from shared.protocol.effects import (
    AcceptContribution,
    Broadcast,
    ComputeSum,
    Dismiss,
    DropContributions,
    DropForwarded,
    Note,
)
from shared.protocol.envelopes import Address, Sealed, Signer, seal
from shared.protocol.history import leapt
from shared.protocol.job import Job, Step
from shared.wire.base import WireModel, canonical_json
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort, Receipt


@dataclass(frozen=True, slots=True)
class News:
    """What is to be done once the transaction is committed.

    keys: for the notifier. sum_is_due: all contributions are in. dropped: contributions were deleted.
    left: the state that the job left, and for how many seconds it had waited in it.
    """

    keys: frozenset[str] = frozenset()
    sum_is_due: bool = False
    dropped: bool = False
    left: tuple[str, int] | None = None


class Recorder:
    """Collects what a step changes and writes it by `finish`; the caller's transaction commits it."""

    def __init__(
        self, database: Database, connection: Connection, before: StoredJob, signer: Signer, now: int
    ) -> None:
        self._database = database
        self._connection = connection
        self._before = before
        self._signer = signer
        self._now = now
        self.job: Job = before.job
        self._entries: list[journal.Entry] = []
        self._notes: list[Note] = []
        self._costs: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._out: list[tuple[Sealed, tuple[AgentId, ...]]] = []
        self._sum_is_due = False
        self._dropped = False

    def heard(
        self, sealed: Sealed, refused: PeerError | None = None, claim: SignedClaim | None = None
    ) -> None:
        """Log a member's message, with the code if it was refused, and where its own log stood."""
        record = record_of(sealed) | ({} if refused is None else {"refused": refused.code.value})
        if claim is not None:
            own = {"n": claim.claim.number, "head": claim.claim.head, "signature": claim.signature}
            record |= {"journal": own}
        self._log(record | {"from": sealed.envelope.sender})
        self.spent(f"in:{sealed.envelope.type}", len(sealed.raw))

    def spent(self, kind: str, amount: int) -> None:
        """Add to the job's costs: bytes, or microseconds for a `cpu:` kind."""
        self._counts[kind] += 1
        self._costs[kind] += amount

    def take(self, step: Step, contribution: Sealed | None = None) -> None:
        """The job after a step, and all its effects.

        Args: contribution: the message whose bytes `AcceptContribution` keeps.
        """
        self.job = replace(step.job, chain=self.job.chain, head=self.job.head)
        for effect in step.effects:
            match effect:
                case Broadcast():
                    self._say(effect)
                case Dismiss():
                    for agent in effect.agents:
                        self._dismiss(agent, effect.code)
                case AcceptContribution():
                    if contribution is None:
                        raise InternalError("a step accepts a contribution that did not come")
                    messages.add_contribution(self._connection, contribution)
                case DropContributions():
                    messages.drop_contributions(self._connection, self.job.manifest.job)
                    self._dropped = True
                case DropForwarded():
                    for kind in (MessageType.AGGREGATE, MessageType.PARTIALS):
                        outbox.drop(self._connection, self.job.manifest.job, kind)
                case ComputeSum():
                    self._sum_is_due = True
                case Note():
                    self._notes.append(effect)

    def leap(self) -> None:
        """Let the next message have a place that no member can have seen: history was lost."""
        self.job = replace(self.job, chain=leapt(self.job.chain))

    def receipt(self, sealed: Sealed) -> bytes:
        """The signed answer to a member's message, with the log's head after it."""
        body = Receipt(message_sha256=sealed.sha256, time=self._now, head=self.job.head)
        envelope = sealed.envelope
        answer = self._seal(MessageType.RECEIPT, envelope.round, envelope.attempt, envelope.sender, body)
        self.spent("out:receipt", len(answer.raw))
        return answer.raw

    def finish(self) -> News:
        """Write everything."""
        connection, job = self._connection, self.job.manifest.job
        jobs.save(connection, self._before, self.job, audited=self._audited, now=self._now)
        if self._entries:
            journal.add_audit(connection, job, self._entries)
        if self._notes:
            journal.add_events(connection, job, self._notes, self._now)
        if self._counts:
            costs = [
                journal.Cost(kind, count, self._costs[kind]) for kind, count in sorted(self._counts.items())
            ]
            journal.add_costs(connection, job, costs)
        if self._out:
            self._database.lock_outbox(connection)
        for sealed, receivers in self._out:
            outbox.add(connection, sealed, receivers, self._now)
        if self.job.is_over and not self._before.job.is_over:
            self._note_end()
        woken = {agent for _, agents in self._out for agent in agents}
        keys = frozenset(map(inbox_of, woken)) | ({story_of(job)} if self._notes else set())
        return News(keys, self._sum_is_due, self._dropped, self._left)

    @property
    def _left(self) -> tuple[str, int] | None:
        before, after = self._before.job, self.job
        moved = (before.state, before.round, before.attempt) != (after.state, after.round, after.attempt)
        return (before.state.value, max(0, self._now - before.waiting_since)) if moved else None

    @property
    def _audited(self) -> int:
        return self._before.audited + len(self._entries)

    def _note_end(self) -> None:
        """Tie the job's log to the log of the whole cloud."""
        details: dict[str, acts.Detail] = {"state": self.job.state.value, "head": self.job.head}
        acts.record(
            self._connection,
            actor=acts.PROGRAM,
            act="job_ended",
            subject=self.job.manifest.job,
            now=self._now,
            details=details | {"records": self._audited},
        )

    def _log(self, record: dict[str, Any]) -> None:
        raw = canonical_json(record | {"time": self._now})
        digest = link(self.job.head, raw)
        self._entries.append(journal.Entry(self._audited, raw, digest))
        self.job = replace(self.job, head=digest)

    def _say(self, broadcast: Broadcast) -> None:
        receivers = _receivers(self.job, broadcast.type)
        place = (broadcast.round, broadcast.attempt)
        sealed = self._queue(broadcast.type, place, EVERYONE, broadcast.body, receivers)
        if broadcast.type is MessageType.AGGREGATE:
            journal.add_aggregate(self._connection, sealed, self._now)

    def _dismiss(self, agent: AgentId, code: JobCode) -> None:
        place = (self.job.round, self.job.attempt)
        self._queue(MessageType.ABORT, place, agent, Abort(code=code), (agent,))

    def _queue(
        self,
        kind: MessageType,
        place: tuple[int, int],
        to: AgentId,
        body: WireModel,
        receivers: tuple[AgentId, ...],
    ) -> Sealed:
        """Sign, log, count and put aside for `finish`. Args: place: round and attempt."""
        sealed = self._seal(kind, *place, to, body)
        self._log(record_of(sealed) | {"to": to})
        self._counts[f"out:{kind}"] += len(receivers)
        self._costs[f"out:{kind}"] += len(receivers) * len(sealed.raw)
        self._out.append((sealed, receivers))
        return sealed

    def _seal(self, kind: MessageType, number: int, attempt: int, to: str, body: WireModel) -> Sealed:
        address = Address(kind, self.job.manifest.job, self.job.mh, number, attempt, CLOUD, to)
        sealed = seal(self._signer, address, self.job.chain, body)
        self.job = replace(self.job, chain=self.job.chain.after(sealed.sha256))
        return sealed


def _receivers(job: Job, kind: MessageType) -> tuple[AgentId, ...]:
    """Everyone invited for an offer; the roster for the rest, and before there is one who has not declined.

    A hospital that fell out of the roster must not get the others' sums: it holds the key to open them.
    """
    if kind is MessageType.JOB_OFFER:
        return _sorted(job.members)
    if job.roster:
        return job.roster
    return _sorted(job.lacking("declined"))


def _sorted(agents: Iterable[AgentId]) -> tuple[AgentId, ...]:
    return tuple(sorted(agents))
