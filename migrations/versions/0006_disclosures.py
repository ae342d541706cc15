"""The log of administrative acts, a way to find a head in a job's log, and the hospitals' heads."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "acts",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_acts"),
    )
    op.create_index("ix_audit_job_hash", "audit", ["job", "hash"])
    op.create_table(
        "agent_heads",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_agent_heads_job_jobs"),
        sa.PrimaryKeyConstraint("job", "agent", name="pk_agent_heads"),
    )
    op.create_index("ix_agent_heads_agent_number", "agent_heads", ["agent", "number"])


def downgrade() -> None:
    op.drop_index("ix_agent_heads_agent_number", "agent_heads")
    op.drop_table("agent_heads")
    op.drop_index("ix_audit_job_hash", "audit")
    op.drop_table("acts")
