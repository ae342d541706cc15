"""Planning: studies that are being written, and requests to start a job that must not start two."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "study_drafts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("fields", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("changed", sa.BigInteger(), nullable=False),
        sa.Column("study", sa.String(length=64)),
        sa.PrimaryKeyConstraint("id", name="pk_study_drafts"),
    )
    op.create_index("ix_study_drafts_owner", "study_drafts", ["owner"])
    op.create_table(
        "job_requests",
        sa.Column("actor", sa.String(length=255), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("actor", "key", name="pk_job_requests"),
    )


def downgrade() -> None:
    op.drop_table("job_requests")
    op.drop_index("ix_study_drafts_owner", "study_drafts")
    op.drop_table("study_drafts")
