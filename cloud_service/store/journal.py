"""What a job leaves behind: its log, its events for people, its costs, the aggregates and published trees."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from cloud_service.store.tables import AggregateRow, AuditRecord, JobCost, JobEvent, PublishedTree
from shared.protocol.effects import Note
from shared.protocol.envelopes import Sealed


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


def add_audit(session: Session, job: str, entries: Sequence[Entry]) -> None:
    """Append to the job's log."""
    rows = [{"job": job, "number": e.number, "record": e.record, "hash": e.hash} for e in entries]
    session.execute(insert(AuditRecord), rows)


def audit(session: Session, job: str) -> list[Entry]:
    """The job's log from its start."""
    query = select(AuditRecord).where(AuditRecord.job == job).order_by(AuditRecord.number)
    return [Entry(row.number, row.record, row.hash) for row in session.scalars(query)]


def add_events(session: Session, job: str, notes: Sequence[Note], now: int) -> None:
    """Append to the job's story."""
    rows = [{"job": job, "time": now, "kind": note.kind, "data": json.dumps(note.data)} for note in notes]
    session.execute(insert(JobEvent), rows)


def events(session: Session, job: str, *, after: int, limit: int) -> list[Event]:
    """The job's story beyond the event with id `after`."""
    query = (
        select(JobEvent).where(JobEvent.job == job, JobEvent.id > after).order_by(JobEvent.id).limit(limit)
    )
    return [Event(row.id, row.time, row.kind, json.loads(row.data)) for row in session.scalars(query)]


def newest_event(session: Session) -> int:
    """The greatest id of any job's events; 0 for none."""
    return session.scalar(select(func.max(JobEvent.id))) or 0


def add_costs(session: Session, job: str, costs: Sequence[Cost]) -> None:
    """Add to what the job has cost."""
    dialect = session.get_bind().dialect.name
    rows = [{"job": job, "kind": c.kind, "count": c.count, "amount": c.amount} for c in costs]
    table = JobCost.__table__
    statement: Any = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(JobCost)
    sums = {
        "count": table.c.count + statement.excluded.count,
        "amount": table.c.amount + statement.excluded.amount,
    }
    session.execute(statement.on_conflict_do_update(index_elements=["job", "kind"], set_=sums), rows)


def costs(session: Session, job: str) -> list[Cost]:
    """What the job has cost, sorted by kind."""
    query = select(JobCost).where(JobCost.job == job).order_by(JobCost.kind)
    return [Cost(row.kind, row.count, row.amount) for row in session.scalars(query)]


def add_aggregate(session: Session, sealed: Sealed, now: int) -> None:
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
    session.execute(insert(AggregateRow), [row])


def aggregates(session: Session, job: str) -> dict[int, str]:
    """SHA-256 of the aggregate's envelope of each committed round."""
    query = select(AggregateRow.round, AggregateRow.sha256).where(AggregateRow.job == job)
    return {row.round: row.sha256 for row in session.execute(query)}


def add_tree(session: Session, job: str, agent: str, sha256: str, tree: str) -> None:
    """Keep a tree that a member has published."""
    session.execute(insert(PublishedTree), [{"job": job, "agent": agent, "sha256": sha256, "tree": tree}])


def trees(session: Session, job: str) -> Mapping[str, str]:
    """The published trees of a job by their hash; more than one only if members contradict each other."""
    query = select(PublishedTree.sha256, PublishedTree.tree).where(PublishedTree.job == job)
    return {row.sha256: row.tree for row in session.execute(query)}
