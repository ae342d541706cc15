"""Every table of the cloud. The database is the only truth: a restarted cloud goes on from these rows.

Times are Unix seconds. Hashes and job ids are lower-case hex. Bytes of messages are kept exactly as they came or
went, because signatures are over them.
"""

from __future__ import annotations

from typing import Annotated, Final, cast

from sqlalchemy import (
    BigInteger,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

_CONVENTION: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

Hex32 = Annotated[str, mapped_column(String(64))]
JobKey = Annotated[str, mapped_column(String(32))]
JobRef = Annotated[str, mapped_column(String(32), ForeignKey("jobs.id"))]
Name = Annotated[str, mapped_column(String(64))]
Word = Annotated[str, mapped_column(String(32))]
Seconds = Annotated[int, mapped_column(BigInteger)]
Large = Annotated[int, mapped_column(BigInteger)]
# Only an INTEGER key counts up by itself in SQLite.
RowId = Annotated[int, mapped_column(BigInteger().with_variant(Integer(), "sqlite"))]
Raw = Annotated[bytes, mapped_column(LargeBinary)]
Long = Annotated[str, mapped_column(Text)]

ONCE_A_ROUND: Final = text("type IN ('contribution', 'partial', 'decision', 'notify') AND refused IS NULL")
"""The messages of which one is taken of each member in a round and attempt (rule C5)."""


class Base(DeclarativeBase):
    """Root of all tables, with one naming rule for keys and indexes."""

    metadata = MetaData(naming_convention=_CONVENTION)


def table_of(entity: type[Base]) -> Table:
    """The table behind a model, for statements that run without the ORM."""
    return cast(Table, entity.__table__)


class SchemaWindow(Base):
    """One row: the oldest revision whose code still works with these tables (`store.schema`)."""

    __tablename__ = "schema_window"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    oldest: Mapped[Word]


class FederationDocument(Base):
    """Each signed federation document this cloud has joined; the newest is the one with the greatest id."""

    __tablename__ = "federation_documents"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[Hex32] = mapped_column(unique=True)
    epoch: Mapped[Large]
    key_id: Mapped[Hex32] = mapped_column(index=True)
    root_sha256: Mapped[Hex32]
    document: Mapped[Raw]
    certificate: Mapped[Raw]
    stored: Mapped[Seconds]


class Hospital(Base):
    """A hospital agent that has registered with a certificate of the federation."""

    __tablename__ = "hospitals"

    id: Mapped[Name] = mapped_column(primary_key=True)
    certificate: Mapped[Raw]
    certificate_sha256: Mapped[Hex32]
    version: Mapped[Word]
    registered: Mapped[Seconds]
    last_seen: Mapped[Seconds]


class ApiToken(Base):
    """A program's or person's access to the API; only the SHA-256 of the token is kept.

    `scopes`: roles and permissions, blank between. `expires`: null in rows of a version that knew no end.
    """

    __tablename__ = "api_tokens"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    label: Mapped[Name] = mapped_column(unique=True)
    sha256: Mapped[Hex32] = mapped_column(unique=True)
    created: Mapped[Seconds]
    revoked: Mapped[Seconds | None]
    scopes: Mapped[Long] = mapped_column(server_default="coordinator analyst")
    hospital: Mapped[Name | None]
    expires: Mapped[Seconds | None]


class Study(Base):
    """An approved question with its public schema; `schema` is the canonical JSON of the manifest's part."""

    __tablename__ = "studies"

    id: Mapped[Name] = mapped_column(primary_key=True)
    question: Mapped[Long]
    schema: Mapped[Raw]
    publish_tree: Mapped[bool]
    disclosure: Mapped[Word]
    synthetic: Mapped[bool]
    created: Mapped[Seconds]


class JobRow(Base):
    """One training as `shared.protocol.coordinator.Job` has it, without its members.

    `cleared`: when retention deleted its messages and events; null while they are there.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_state_deadline", "state", "deadline"),
        Index("ix_jobs_created_id", "created", "id"),
        Index("ix_jobs_state_created_id", "state", "created", "id"),
        Index("ix_jobs_finished_id", "finished", "id"),
    )

    id: Mapped[JobKey] = mapped_column(primary_key=True)
    study: Mapped[Name] = mapped_column(ForeignKey("studies.id"), index=True)
    manifest: Mapped[Raw]
    mh: Mapped[Hex32]
    state: Mapped[Word]
    round: Mapped[Large]
    attempt: Mapped[Large]
    roster: Mapped[Long]
    slots: Mapped[Large]
    prompts: Mapped[Long]
    expected_state: Mapped[Hex32]
    shrinks: Mapped[int]
    deadline: Mapped[Seconds]
    waiting_since: Mapped[Seconds]
    paused_since: Mapped[Seconds | None]
    failure: Mapped[Word | None]
    chain_seq: Mapped[Large]
    chain_prev: Mapped[Hex32]
    head: Mapped[Hex32]
    audited: Mapped[Large]
    created: Mapped[Seconds]
    started: Mapped[Seconds | None]
    finished: Mapped[Seconds | None]
    cleared: Mapped[Seconds | None]


class JobMember(Base):
    """What the cloud knows of one invited hospital in one job; `accept` and `decision` are signed envelopes.

    `partial`: of key mode threshold, its signed and sealed partial decryption of the open round.
    `progress`: what it told last of where it stands in a secret job, and `reported` when.
    """

    __tablename__ = "job_members"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True, index=True)
    certificate: Mapped[Raw]
    chain_seq: Mapped[Large]
    chain_prev: Mapped[Hex32]
    accept: Mapped[Raw | None]
    declined: Mapped[Word | None]
    contributed: Mapped[Hex32 | None]
    partial: Mapped[Raw | None]
    decision: Mapped[Raw | None]
    attested: Mapped[Hex32 | None]
    reported: Mapped[Seconds | None]
    progress: Mapped[Raw | None]


class MessageIn(Base):
    """Every message that took its place in a member's chain, and the answer it got (rule C5).

    `raw` is null for contributions and partial decryptions, which are deleted, and for what was refused. `refused`: the
    code, and then `reply` is the refusal's text.
    """

    __tablename__ = "messages_in"
    __table_args__ = (
        UniqueConstraint("job", "sender", "seq"),
        Index(
            "uq_messages_in_once_a_round",
            "job",
            "type",
            "round",
            "attempt",
            "sender",
            unique=True,
            sqlite_where=ONCE_A_ROUND,
            postgresql_where=ONCE_A_ROUND,
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[RowId] = mapped_column(primary_key=True)
    job: Mapped[JobRef]
    sender: Mapped[Name]
    seq: Mapped[Large]
    type: Mapped[Word]
    round: Mapped[Large]
    attempt: Mapped[Large]
    sha256: Mapped[Hex32]
    raw: Mapped[Raw | None]
    refused: Mapped[Word | None]
    reply: Mapped[Raw]
    received: Mapped[Seconds]


class Evidence(Base):
    """Two different messages where only one may be. The bytes of contributions go when contributions go."""

    __tablename__ = "evidence"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[RowId] = mapped_column(primary_key=True)
    job: Mapped[JobRef] = mapped_column(index=True)
    sender: Mapped[Name]
    type: Mapped[Word]
    first_sha256: Mapped[Hex32]
    first_raw: Mapped[Raw | None]
    second_sha256: Mapped[Hex32]
    second_raw: Mapped[Raw | None]
    received: Mapped[Seconds]


class OutMessage(Base):
    """A signed message of the cloud, once; `deliveries` says for whom."""

    __tablename__ = "outbox"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[RowId] = mapped_column(primary_key=True)
    job: Mapped[JobRef] = mapped_column(index=True)
    type: Mapped[Word]
    raw: Mapped[Raw]
    created: Mapped[Seconds]


class Delivery(Base):
    """One message in one hospital's inbox."""

    __tablename__ = "deliveries"

    agent: Mapped[Name] = mapped_column(primary_key=True)
    message: Mapped[Large] = mapped_column(ForeignKey("outbox.id"), primary_key=True, index=True)


class StoredContribution(Base):
    """A contribution's bytes, from its receipt until the sum is committed."""

    __tablename__ = "contributions"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True)
    raw: Mapped[Raw]


class AggregateRow(Base):
    """That the sum of a round was committed; at most one a round (rule C2)."""

    __tablename__ = "aggregates"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    round: Mapped[Large] = mapped_column(primary_key=True)
    attempt: Mapped[Large]
    roster_hash: Mapped[Hex32]
    sha256: Mapped[Hex32]
    created: Mapped[Seconds]


class JobEvent(Base):
    """A line for the people who watch a job: ids, rounds and sizes."""

    __tablename__ = "job_events"
    __table_args__ = (Index("ix_job_events_job_id", "job", "id"), {"sqlite_autoincrement": True})

    id: Mapped[RowId] = mapped_column(primary_key=True)
    job: Mapped[JobRef]
    time: Mapped[Seconds]
    kind: Mapped[Word]
    data: Mapped[Long]


class AuditRecord(Base):
    """The job's log: `hash` = SHA-256(hash of the record before || record), from 32 zero bytes on."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_job_hash", "job", "hash"),)

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    number: Mapped[Large] = mapped_column(primary_key=True)
    record: Mapped[Raw]
    hash: Mapped[Hex32]


class ActRecord(Base):
    """The log of administrative acts over the whole cloud, chained as a job's log is."""

    __tablename__ = "acts"

    number: Mapped[Large] = mapped_column(primary_key=True, autoincrement=False)
    record: Mapped[Raw]
    hash: Mapped[Hex32]


class AgentHead(Base):
    """Where a hospital's own log stood, by its last signed claim in a job: a record's number, and the head with it."""

    __tablename__ = "agent_heads"
    __table_args__ = (Index("ix_agent_heads_agent_number", "agent", "number"),)

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True)
    number: Mapped[Large]
    head: Mapped[Hex32]


class JobCost(Base):
    """What a job has cost so far, by kind: `in:<type>`, `out:<type>` (bytes) and `cpu:<work>` (microseconds)."""

    __tablename__ = "job_costs"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    kind: Mapped[Word] = mapped_column(primary_key=True)
    count: Mapped[Large]
    amount: Mapped[Large]


class PublishedTree(Base):
    """The tree as a member attested it, where the study publishes it."""

    __tablename__ = "published_trees"

    job: Mapped[JobRef] = mapped_column(primary_key=True)
    agent: Mapped[Name] = mapped_column(primary_key=True)
    sha256: Mapped[Hex32]
    tree: Mapped[Long]


class Lease(Base):
    """One kind of work of one job that a single replica does at a time; nobody has it once `until` is past.

    `until`: Unix milliseconds of the database's own clock. No foreign key: it says nothing about a job.
    """

    __tablename__ = "leases"

    kind: Mapped[Word] = mapped_column(primary_key=True)
    job: Mapped[JobKey] = mapped_column(primary_key=True)
    holder: Mapped[Word]
    address: Mapped[Long]
    until: Mapped[Large]
