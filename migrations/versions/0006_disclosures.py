"""The log of administrative acts, and a way to find a head in a job's log."""

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


def downgrade() -> None:
    op.drop_index("ix_audit_job_hash", "audit")
    op.drop_table("acts")
