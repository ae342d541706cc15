"""All tables of the first version."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TAKEN_ONCE = sa.text("type IN ('contribution', 'decision', 'notify') AND refused IS NULL")


def upgrade() -> None:
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("revoked", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
        sa.UniqueConstraint("label", name="uq_api_tokens_label"),
        sa.UniqueConstraint("sha256", name="uq_api_tokens_sha256"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "federation_documents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("root_sha256", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("certificate", sa.LargeBinary(), nullable=False),
        sa.Column("stored", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_federation_documents"),
        sa.UniqueConstraint("sha256", name="uq_federation_documents_sha256"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_federation_documents_key_id", "federation_documents", ["key_id"])
    op.create_table(
        "hospitals",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("certificate", sa.LargeBinary(), nullable=False),
        sa.Column("certificate_sha256", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=32), nullable=False),
        sa.Column("registered", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_hospitals"),
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("schema", sa.LargeBinary(), nullable=False),
        sa.Column("publish_tree", sa.Boolean(), nullable=False),
        sa.Column("disclosure", sa.String(length=32), nullable=False),
        sa.Column("synthetic", sa.Boolean(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("manifest", sa.LargeBinary(), nullable=False),
        sa.Column("mh", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("roster", sa.Text(), nullable=False),
        sa.Column("slots", sa.BigInteger(), nullable=False),
        sa.Column("prompts", sa.Text(), nullable=False),
        sa.Column("expected_state", sa.String(length=64), nullable=False),
        sa.Column("shrinks", sa.Integer(), nullable=False),
        sa.Column("deadline", sa.BigInteger(), nullable=False),
        sa.Column("waiting_since", sa.BigInteger(), nullable=False),
        sa.Column("paused_since", sa.BigInteger()),
        sa.Column("failure", sa.String(length=32)),
        sa.Column("chain_seq", sa.BigInteger(), nullable=False),
        sa.Column("chain_prev", sa.String(length=64), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.Column("audited", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger()),
        sa.Column("finished", sa.BigInteger()),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_jobs_study"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state_deadline", "jobs", ["state", "deadline"])
    op.create_index("ix_jobs_study", "jobs", ["study"])
    op.create_table(
        "aggregates",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("roster_hash", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_aggregates_job"),
        sa.PrimaryKeyConstraint("job", "round", name="pk_aggregates"),
    )
    op.create_table(
        "audit",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_audit_job"),
        sa.PrimaryKeyConstraint("job", "number", name="pk_audit"),
    )
    op.create_table(
        "contributions",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_contributions_job"),
        sa.PrimaryKeyConstraint("job", "agent", name="pk_contributions"),
    )
    op.create_table(
        "evidence",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("first_sha256", sa.String(length=64), nullable=False),
        sa.Column("first_raw", sa.LargeBinary()),
        sa.Column("second_sha256", sa.String(length=64), nullable=False),
        sa.Column("second_raw", sa.LargeBinary()),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_evidence_job"),
        sa.PrimaryKeyConstraint("id", name="pk_evidence"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_evidence_job", "evidence", ["job"])
    op.create_table(
        "job_costs",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_job_costs_job"),
        sa.PrimaryKeyConstraint("job", "kind", name="pk_job_costs"),
    )
    op.create_table(
        "job_events",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_job_events_job"),
        sa.PrimaryKeyConstraint("id", name="pk_job_events"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_events_job_id", "job_events", ["job", "id"])
    op.create_table(
        "job_members",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("certificate", sa.LargeBinary(), nullable=False),
        sa.Column("chain_seq", sa.BigInteger(), nullable=False),
        sa.Column("chain_prev", sa.String(length=64), nullable=False),
        sa.Column("accept", sa.LargeBinary()),
        sa.Column("declined", sa.String(length=32)),
        sa.Column("contributed", sa.String(length=64)),
        sa.Column("decision", sa.LargeBinary()),
        sa.Column("attested", sa.String(length=64)),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_job_members_job"),
        sa.PrimaryKeyConstraint("job", "agent", name="pk_job_members"),
    )
    op.create_index("ix_job_members_agent", "job_members", ["agent"])
    op.create_table(
        "messages_in",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("sender", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("raw", sa.LargeBinary()),
        sa.Column("refused", sa.String(length=32)),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_messages_in_job"),
        sa.PrimaryKeyConstraint("id", name="pk_messages_in"),
        sa.UniqueConstraint("job", "sender", "seq", name="uq_messages_in_job_sender_seq"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_messages_in_once_a_round",
        "messages_in",
        ["job", "type", "round", "attempt", "sender"],
        unique=True,
        sqlite_where=_TAKEN_ONCE,
        postgresql_where=_TAKEN_ONCE,
    )
    op.create_table(
        "outbox",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_outbox_job"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_job", "outbox", ["job"])
    op.create_table(
        "published_trees",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("tree", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_published_trees_job"),
        sa.PrimaryKeyConstraint("job", "agent", name="pk_published_trees"),
    )
    op.create_table(
        "deliveries",
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("message", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["message"], ["outbox.id"], name="fk_deliveries_message"),
        sa.PrimaryKeyConstraint("agent", "message", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_message", "deliveries", ["message"])


def downgrade() -> None:
    op.drop_table("deliveries")
    op.drop_table("published_trees")
    op.drop_table("outbox")
    op.drop_table("messages_in")
    op.drop_table("job_members")
    op.drop_table("job_events")
    op.drop_table("job_costs")
    op.drop_table("evidence")
    op.drop_table("contributions")
    op.drop_table("audit")
    op.drop_table("aggregates")
    op.drop_table("jobs")
    op.drop_table("studies")
    op.drop_table("hospitals")
    op.drop_table("federation_documents")
    op.drop_table("api_tokens")
