"""What a job leaves behind: its log, its events for people, its costs, the aggregates and published trees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from cloud_service.store.tables import AggregateRow, AuditRecord, JobCost, JobEvent, PublishedTree, table_of
from shared.protocol.effects import Note
from shared.protocol.envelopes import Sealed

_AUDIT: Final = table_of(AuditRecord)
_EVENTS: Final = table_of(JobEvent)
_COSTS: Final = table_of(JobCost)
_AGGREGATES: Final = table_of(AggregateRow)
_TREES: Final = table_of(PublishedTree)
_A, _V, _C, _G, _T = _AUDIT.c, _EVENTS.c, _COSTS.c, _AGGREGATES.c, _TREES.c
_JOB: Final[BindParameter[str]] = bindparam("job")

_ADD_AUDIT: Final = insert(_AUDIT)
_READ_AUDIT: Final = select(_AUDIT).where(_A.job == _JOB).order_by(_A.number)
_ADD_EVENTS: Final = insert(_EVENTS)
_READ_EVENTS: Final = (
    select(_EVENTS)
    .where(_V.job == _JOB, _V.id > bindparam("after"))
    .order_by(_V.id)
    .limit(bindparam("count"))
)
_NEWEST_EVENT: Final = select(func.max(_V.id))
_READ_COSTS: Final = select(_COSTS).where(_C.job == _JOB).order_by(_C.kind)
_ADD_AGGREGATE: Final = insert(_AGGREGATES)
_READ_AGGREGATES: Final = select(_G.round, _G.sha256).where(_G.job == _JOB)
_ADD_TREE: Final = insert(_TREES)
_READ_TREES: Final = select(_T.sha256, _T.tree).where(_T.job == _JOB)


def _upsert(dialect: Any) -> Any:
    statement = dialect.insert(_COSTS)
    added = {"count": _C.count + statement.excluded.count, "amount": _C.amount + statement.excluded.amount}
    return statement.on_conflict_do_update(index_elements=["job", "kind"], set_=added)


_ADD_COSTS: Final = {"postgresql": _upsert(postgresql), "sqlite": _upsert(sqlite)}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a job's story."""

    id: int
    time: int
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """`count` messages or works of one kind; `amount` in bytes, or in microseconds for `cpu:` kinds."""

    kind: str
    count: int
    amount: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the log, already chained. `number` counts from 0."""

    number: int
    record: bytes
    hash: str


def add_audit(connection: Connection, job: str, entries: Sequence[Entry]) -> None:
    """Append to the job's log."""
    rows = [{"job": job, "number": e.number, "record": e.record, "hash": e.hash} for e in entries]
    connection.execute(_ADD_AUDIT, rows)


def audit(connection: Connection, job: str) -> list[Entry]:
    """The job's log from its start."""
    return [Entry(row.number, row.record, row.hash) for row in connection.execute(_READ_AUDIT, {"job": job})]


def add_events(connection: Connection, job: str, notes: Sequence[Note], now: int) -> None:
    """Append to the job's story."""
    rows = [{"job": job, "time": now, "kind": note.kind, "data": json.dumps(note.data)} for note in notes]
    connection.execute(_ADD_EVENTS, rows)


def events(connection: Connection, job: str, *, after: int, limit: int) -> list[Event]:
    """The job's story beyond the event with id `after`."""
    rows = connection.execute(_READ_EVENTS, {"job": job, "after": after, "count": limit})
    return [Event(row.id, row.time, row.kind, json.loads(row.data)) for row in rows]


def newest_event(connection: Connection) -> int:
    """The greatest id of any job's events; 0 for none."""
    return connection.scalar(_NEWEST_EVENT) or 0


def add_costs(connection: Connection, job: str, costs: Sequence[Cost]) -> None:
    """Add to what the job has cost."""
    rows = [{"job": job, "kind": c.kind, "count": c.count, "amount": c.amount} for c in costs]
    connection.execute(_ADD_COSTS[connection.dialect.name], rows)


def costs(connection: Connection, job: str) -> list[Cost]:
    """What the job has cost, sorted by kind."""
    rows = connection.execute(_READ_COSTS, {"job": job}).mappings()
    return [Cost(row["kind"], row["count"], row["amount"]) for row in rows]


def add_aggregate(connection: Connection, sealed: Sealed, now: int) -> None:
    """Note the commit of a round. Raises: IntegrityError: the round has one already (rule C2)."""
    envelope = sealed.envelope
    row = {
        "job": envelope.job,
        "round": envelope.round,
        "attempt": envelope.attempt,
        "roster_hash": str(envelope.body["roster_hash"]),
        "sha256": sealed.sha256,
        "created": now,
    }
    connection.execute(_ADD_AGGREGATE, row)


def aggregates(connection: Connection, job: str) -> dict[int, str]:
    """SHA-256 of the aggregate's envelope of each committed round."""
    return {row.round: row.sha256 for row in connection.execute(_READ_AGGREGATES, {"job": job})}


def add_tree(connection: Connection, job: str, agent: str, sha256: str, tree: str) -> None:
    """Keep a tree that a member has published."""
    connection.execute(_ADD_TREE, {"job": job, "agent": agent, "sha256": sha256, "tree": tree})


def trees(connection: Connection, job: str) -> Mapping[str, str]:
    """The published trees of a job by their hash; more than one only if members contradict each other."""
    return {row.sha256: row.tree for row in connection.execute(_READ_TREES, {"job": job})}
