"""What goes out: each signed message once, and for whom it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from cloud_service.store.recent import RecentMessages
from cloud_service.store.tables import Delivery, OutMessage, table_of
from shared.ids import AgentId
from shared.protocol.envelopes import Sealed
from shared.wire.envelope import MessageType

_OUTBOX: Final = table_of(OutMessage)
_DELIVERIES: Final = table_of(Delivery)
_O, _D = _OUTBOX.c, _DELIVERIES.c

_ADD: Final = insert(_OUTBOX).returning(_O.id)
_DELIVER: Final = insert(_DELIVERIES)
_SIZES: Final = (
    select(_O.id, _O.type, func.length(_O.raw).label("size"))
    .join(_DELIVERIES, _D.message == _O.id)
    .where(_D.agent == bindparam("agent"), _D.message > bindparam("after"))
    .order_by(_D.message)
    .limit(bindparam("items"))
)
_RAWS: Final = select(_O.id, _O.raw).where(_O.id.in_(bindparam("chosen", expanding=True))).order_by(_O.id)
_OF_TYPE: Final = (_O.job == bindparam("job")) & (_O.type == bindparam("type"))
_DROP_DELIVERIES: Final = delete(_DELIVERIES).where(_D.message.in_(select(_O.id).where(_OF_TYPE)))
_DROP: Final = delete(_OUTBOX).where(_OF_TYPE)
_FOR_MANY: Final = frozenset(
    {MessageType.JOB_OFFER, MessageType.ROSTER, MessageType.ROUND_OPEN, MessageType.JOB_DONE}
)
"""Large with many hospitals, the same for all, and without numbers that are deleted before the job's end."""
_NEWEST: Final = select(func.max(_O.id))


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A waiting message's exact bytes; `id` grows and is the reader's cursor."""

    id: int
    raw: bytes


def add(connection: Connection, sealed: Sealed, receivers: Sequence[AgentId], now: int) -> None:
    """Queue one message for its receivers."""
    envelope = sealed.envelope
    row = {"job": envelope.job, "type": envelope.type.value, "raw": sealed.raw, "created": now}
    number = connection.scalar(_ADD, row)
    if receivers:
        connection.execute(_DELIVER, [{"agent": agent, "message": number} for agent in receivers])


def drop(connection: Connection, job: str, kind: MessageType) -> None:
    """Delete a job's messages of one type, whether they were fetched or not."""
    place = {"job": job, "type": kind.value}
    connection.execute(_DROP_DELIVERIES, place)
    connection.execute(_DROP, place)


def waiting(
    connection: Connection,
    agent: AgentId,
    after: int,
    *,
    items: int,
    max_bytes: int,
    recent: RecentMessages | None = None,
) -> list[InboxMessage]:
    """Messages beyond the cursor, oldest first: at most `items`, and beyond the first at most `max_bytes`.

    Args: recent: where what is for many is kept from one reader to the next.
    """
    chosen: list[int] = []
    spread: set[int] = set()
    total = 0
    for row in connection.execute(_SIZES, {"agent": agent, "after": after, "items": items}):
        total += row.size
        if chosen and total > max_bytes:
            break
        chosen.append(row.id)
        if row.type in _FOR_MANY:
            spread.add(row.id)
    raws = {} if recent is None else recent.of(spread)
    missing = [number for number in chosen if number not in raws]
    if missing:
        found = {row.id: row.raw for row in connection.execute(_RAWS, {"chosen": missing})}
        if recent is not None:
            for number in sorted(spread & found.keys()):
                recent.put(number, found[number])
        raws |= found
    return [InboxMessage(number, raws[number]) for number in chosen if number in raws]


def newest(connection: Connection) -> int:
    """The greatest id given out so far; 0 for none."""
    return connection.scalar(_NEWEST) or 0
