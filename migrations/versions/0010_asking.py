"""Asking: the jobs by which hospitals ask shared trees by themselves, counted apart from a study's other jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "asked_questions",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("hospital", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=32), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("job", name="pk_asked_questions"),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_asked_questions_job_jobs"),
    )
    op.create_index("ix_asked_questions_study_hospital", "asked_questions", ["study", "hospital"])


def downgrade() -> None:
    op.drop_index("ix_asked_questions_study_hospital", "asked_questions")
    op.drop_table("asked_questions")
