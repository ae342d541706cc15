"""What goes out: each signed message once, and for whom it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from cloud_service.store.tables import Delivery, OutMessage
from shared.ids import AgentId
from shared.protocol.envelopes import Sealed


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A waiting message's exact bytes; `id` grows and is the reader's cursor."""

    id: int
    raw: bytes


def add(session: Session, sealed: Sealed, receivers: Sequence[AgentId], now: int) -> None:
    """Queue one message for its receivers."""
    envelope = sealed.envelope
    row = {"job": envelope.job, "type": envelope.type.value, "raw": sealed.raw, "created": now}
    number = session.scalar(insert(OutMessage).values(row).returning(OutMessage.id))
    if receivers:
        session.execute(insert(Delivery), [{"agent": agent, "message": number} for agent in receivers])


def waiting(
    session: Session, agent: AgentId, after: int, *, items: int, max_bytes: int
) -> list[InboxMessage]:
    """Messages beyond the cursor, oldest first: at most `items`, and beyond the first at most `max_bytes`."""
    query = (
        select(OutMessage.id, func.length(OutMessage.raw))
        .join(Delivery, Delivery.message == OutMessage.id)
        .where(Delivery.agent == agent, Delivery.message > after)
        .order_by(Delivery.message)
        .limit(items)
    )
    chosen: list[int] = []
    total = 0
    for number, length in session.execute(query):
        total += length
        if chosen and total > max_bytes:
            break
        chosen.append(number)
    if not chosen:
        return []
    rows = session.execute(
        select(OutMessage.id, OutMessage.raw).where(OutMessage.id.in_(chosen)).order_by(OutMessage.id)
    )
    return [InboxMessage(number, raw) for number, raw in rows]


def newest(session: Session) -> int:
    """The greatest id given out so far; 0 for none."""
    return session.scalar(select(func.max(OutMessage.id))) or 0
