"""What came in: every message with its answer, conflicting bytes, and contributions until they are summed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, insert, or_, select, update
from sqlalchemy.orm import Session

from cloud_service.store.tables import Evidence, MessageIn, StoredContribution
from shared.ids import AgentId
from shared.protocol.envelopes import Sealed
from shared.wire.envelope import Envelope, MessageType

ONCE_A_ROUND: Final = (MessageType.CONTRIBUTION, MessageType.DECISION, MessageType.NOTIFY)
MAX_EVIDENCE: Final = 16
"""Conflicts kept of one sender in one job: enough to prove it, too few to fill a disk with."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A message that already has its answer where now one comes. `raw`: None where it was not kept.

    `refused`: the code it was refused with; `reply` is then the refusal's text.
    """

    sha256: str
    raw: bytes | None
    refused: str | None
    reply: bytes


def prior(session: Session, envelope: Envelope) -> Prior | None:
    """The message taken under the same (job, sender, seq), or (job, type, round, attempt, sender) (rule C5)."""
    same_seq = MessageIn.seq == envelope.seq
    if envelope.type in ONCE_A_ROUND:
        turn = (
            (MessageIn.type == envelope.type.value)
            & (MessageIn.round == envelope.round)
            & (MessageIn.attempt == envelope.attempt)
            & MessageIn.refused.is_(None)
        )
        same_seq = or_(same_seq, turn)
    query = (
        select(MessageIn.sha256, MessageIn.raw, MessageIn.refused, MessageIn.reply)
        .where(MessageIn.job == envelope.job, MessageIn.sender == envelope.sender, same_seq)
        .order_by(MessageIn.id.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    return None if row is None else Prior(row.sha256, row.raw, row.refused, row.reply)


def add(session: Session, sealed: Sealed, reply: bytes, now: int, *, refused: str | None = None) -> None:
    """Keep a message with its answer; of a contribution, and of what was refused, only the hash."""
    envelope = sealed.envelope
    keeps_raw = envelope.type is not MessageType.CONTRIBUTION and refused is None
    row = {
        "job": envelope.job,
        "sender": envelope.sender,
        "seq": envelope.seq,
        "type": envelope.type.value,
        "round": envelope.round,
        "attempt": envelope.attempt,
        "sha256": digest(sealed.raw),
        "raw": sealed.raw if keeps_raw else None,
        "refused": refused,
        "reply": reply,
        "received": now,
    }
    session.execute(insert(MessageIn), [row])


def digest(raw: bytes) -> str:
    """SHA-256 of a message as it travels, signature included."""
    return hashlib.sha256(raw).hexdigest()


def keep_evidence(session: Session, sealed: Sealed, first: Prior, now: int) -> None:
    """Keep both of two conflicting messages, once each and `MAX_EVIDENCE` at most."""
    envelope, second = sealed.envelope, digest(sealed.raw)
    mine = (Evidence.job == envelope.job) & (Evidence.sender == envelope.sender)
    known = session.scalar(select(func.count()).select_from(Evidence).where(mine)) or 0
    if known >= MAX_EVIDENCE or session.scalar(
        select(Evidence.id).where(mine, Evidence.second_sha256 == second)
    ):
        return
    first_raw = first.raw or _contribution(session, envelope.job, envelope.sender, first.sha256)
    row = {
        "job": envelope.job,
        "sender": envelope.sender,
        "type": envelope.type.value,
        "first_sha256": first.sha256,
        "first_raw": first_raw,
        "second_sha256": second,
        "second_raw": sealed.raw,
        "received": now,
    }
    session.execute(insert(Evidence), [row])


def _contribution(session: Session, job: str, agent: str, sha256: str) -> bytes | None:
    raw = session.scalar(
        select(StoredContribution.raw).where(StoredContribution.job == job, StoredContribution.agent == agent)
    )
    return raw if raw is not None and digest(raw) == sha256 else None


def add_contribution(session: Session, sealed: Sealed) -> None:
    """Keep a contribution's bytes until the sum is committed."""
    row = {"job": sealed.envelope.job, "agent": sealed.envelope.sender, "raw": sealed.raw}
    session.execute(insert(StoredContribution), [row])


def contributions(session: Session, job: str) -> dict[AgentId, bytes]:
    """The kept contributions of a job, by sender."""
    query = select(StoredContribution.agent, StoredContribution.raw).where(StoredContribution.job == job)
    return {AgentId(agent): raw for agent, raw in session.execute(query)}


def drop_contributions(session: Session, job: str) -> None:
    """Delete every ciphertext of the job's hospitals, also those kept as evidence; their hashes stay."""
    session.execute(delete(StoredContribution).where(StoredContribution.job == job))
    conflicting = (Evidence.job == job) & (Evidence.type == MessageType.CONTRIBUTION.value)
    session.execute(update(Evidence).where(conflicting).values(first_raw=None, second_raw=None))
