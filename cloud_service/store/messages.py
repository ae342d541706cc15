"""What came in: every message with its answer, conflicting bytes, and contributions until they are summed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update

from cloud_service.store.tables import Evidence, MessageIn, StoredContribution, table_of
from shared.ids import AgentId
from shared.protocol.envelopes import Sealed
from shared.wire.envelope import Envelope, MessageType

ONCE_A_ROUND: Final = (
    MessageType.CONTRIBUTION,
    MessageType.PARTIAL,
    MessageType.DECISION,
    MessageType.NOTIFY,
)
_NOT_KEPT: Final = frozenset({MessageType.CONTRIBUTION, MessageType.PARTIAL})
MAX_EVIDENCE: Final = 16
"""Conflicts kept of one sender in one job: enough to prove it, too few to fill a disk with."""

_MESSAGES: Final = table_of(MessageIn)
_EVIDENCE: Final = table_of(Evidence)
_KEPT: Final = table_of(StoredContribution)
_IN, _E, _K = _MESSAGES.c, _EVIDENCE.c, _KEPT.c

_SAME_SEQ: Final = _IN.seq == bindparam("seq")
_SAME_TURN: Final = (
    (_IN.type == bindparam("type"))
    & (_IN.round == bindparam("round"))
    & (_IN.attempt == bindparam("attempt"))
    & _IN.refused.is_(None)
)
_OF_SENDER: Final = (
    select(_IN.sha256, _IN.raw, _IN.refused, _IN.reply)
    .where(_IN.job == bindparam("job"), _IN.sender == bindparam("sender"))
    .order_by(_IN.id.desc())
    .limit(1)
)
_PRIOR: Final = _OF_SENDER.where(_SAME_SEQ)
_PRIOR_OF_TURN: Final = _OF_SENDER.where(or_(_SAME_SEQ, _SAME_TURN))
_WITHOUT_NUMBERS: Final = [
    kind.value for kind in MessageType if kind not in (MessageType.CONTRIBUTION, MessageType.PARTIAL)
]
_RAW: Final = (
    select(_IN.raw)
    .where(_IN.job == bindparam("job"), _IN.raw.is_not(None), _IN.type.in_(_WITHOUT_NUMBERS))
    .order_by(_IN.id)
)
_ADD: Final = insert(_MESSAGES)

_BY_SENDER: Final = (_E.job == bindparam("job")) & (_E.sender == bindparam("sender"))
_KNOWN: Final = select(func.count()).select_from(_EVIDENCE).where(_BY_SENDER)
_SAME_EVIDENCE: Final = select(_E.id).where(_BY_SENDER, _E.second_sha256 == bindparam("second"))
_ADD_EVIDENCE: Final = insert(_EVIDENCE)

_ADD_CONTRIBUTION: Final = insert(_KEPT)
_CONTRIBUTIONS: Final = select(_K.agent, _K.raw).where(_K.job == bindparam("job"))
_DROP: Final = delete(_KEPT).where(_K.job == bindparam("job"))
_DROP_EVIDENCE: Final = (
    update(_EVIDENCE)
    .where(_E.job == bindparam("key_job"), _E.type == MessageType.CONTRIBUTION.value)
    .values(first_raw=None, second_raw=None)
)


@dataclass(frozen=True, slots=True)
class Prior:
    """A message that already has its answer where now one comes. `raw`: None where it was not kept.

    `refused`: the code it was refused with; `reply` is then the refusal's text.
    """

    sha256: str
    raw: bytes | None
    refused: str | None
    reply: bytes


def prior(connection: Connection, envelope: Envelope) -> Prior | None:
    """The message taken under the same (job, sender, seq), or (job, type, round, attempt, sender) (rule C5)."""
    place = {"job": envelope.job, "sender": envelope.sender, "seq": envelope.seq}
    if envelope.type in ONCE_A_ROUND:
        turn = {"type": envelope.type.value, "round": envelope.round, "attempt": envelope.attempt}
        row = connection.execute(_PRIOR_OF_TURN, place | turn).one_or_none()
    else:
        row = connection.execute(_PRIOR, place).one_or_none()
    return None if row is None else Prior(row.sha256, row.raw, row.refused, row.reply)


def add(
    connection: Connection, sealed: Sealed, reply: bytes, now: int, *, refused: str | None = None
) -> None:
    """Keep a message with its answer; of hidden counts, of published figures and of what was refused only the hash."""
    envelope = sealed.envelope
    keeps_raw = envelope.type not in _NOT_KEPT and refused is None and not carries_figures(envelope)
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
    connection.execute(_ADD, row)


def carries_figures(envelope: Envelope) -> bool:
    """Whether a message's bytes hold figures of a job, which are kept nowhere with it, checked or not."""
    return envelope.body.get("quality") is not None


def may_stay(envelope: Envelope) -> bool:
    """Whether a message's bytes may stay as evidence once the job is over."""
    return envelope.type is not MessageType.CONTRIBUTION and not carries_figures(envelope)


def kept(connection: Connection, job: str, without: Collection[MessageType] = ()) -> list[bytes]:
    """The members' messages of a job whose bytes are still here, in order; none of what is made of ciphertexts.

    Args: without: kinds to leave out as well.
    """
    query = _RAW.where(_IN.type.not_in([kind.value for kind in without]))
    return [bytes(raw) for raw in connection.scalars(query, {"job": job})]


def digest(raw: bytes) -> str:
    """SHA-256 of a message as it travels, signature included."""
    return hashlib.sha256(raw).hexdigest()


def keep_evidence(connection: Connection, sealed: Sealed, first: Prior, now: int) -> None:
    """Keep both of two conflicting messages, once each and `MAX_EVIDENCE` at most; of figures only the hash."""
    envelope, second = sealed.envelope, digest(sealed.raw)
    who = {"job": envelope.job, "sender": envelope.sender}
    known = connection.scalar(_KNOWN, who) or 0
    if known >= MAX_EVIDENCE or connection.scalar(_SAME_EVIDENCE, who | {"second": second}):
        return
    row = {
        **who,
        "type": envelope.type.value,
        "first_sha256": first.sha256,
        "first_raw": first.raw or _kept(connection, AgentId(envelope.sender), envelope.job, first.sha256),
        "second_sha256": second,
        "second_raw": None if carries_figures(envelope) else sealed.raw,
        "received": now,
    }
    connection.execute(_ADD_EVIDENCE, row)


def keep_fork(connection: Connection, sealed: Sealed, head: str, now: int) -> None:
    """Keep a message that knows another history of the job. Args: head: of the job's log as it stands here.

    Of a contribution only the hash, as always once its round is over, and of figures.
    """
    row = {
        "job": sealed.envelope.job,
        "sender": sealed.envelope.sender,
        "type": sealed.envelope.type.value,
        "first_sha256": head,
        "first_raw": None,
        "second_sha256": digest(sealed.raw),
        "second_raw": sealed.raw if may_stay(sealed.envelope) else None,
        "received": now,
    }
    connection.execute(_ADD_EVIDENCE, row)


def _kept(connection: Connection, agent: AgentId, job: str, sha256: str) -> bytes | None:
    raw = contributions(connection, job).get(agent)
    return raw if raw is not None and digest(raw) == sha256 else None


def add_contribution(connection: Connection, sealed: Sealed) -> None:
    """Keep a contribution's bytes until the sum is committed."""
    envelope = sealed.envelope
    connection.execute(_ADD_CONTRIBUTION, {"job": envelope.job, "agent": envelope.sender, "raw": sealed.raw})


def contributions(connection: Connection, job: str) -> dict[AgentId, bytes]:
    """The kept contributions of a job, by sender."""
    return {AgentId(row.agent): row.raw for row in connection.execute(_CONTRIBUTIONS, {"job": job})}


def drop_contributions(connection: Connection, job: str) -> None:
    """Delete every ciphertext of the job's hospitals, also those kept as evidence; their hashes stay."""
    connection.execute(_DROP, {"job": job})
    connection.execute(_DROP_EVIDENCE, {"key_job": job})
