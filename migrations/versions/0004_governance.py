"""Study documents, answers of hospitals, withdrawals and consents."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "study_documents",
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("closed", sa.BigInteger()),
        sa.Column("change", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_study_documents_study_studies"),
        sa.PrimaryKeyConstraint("study", name="pk_study_documents"),
        sa.UniqueConstraint("sha256", name="uq_study_documents_sha256"),
    )
    op.create_index("ix_study_documents_change", "study_documents", ["change"])
    op.create_table(
        "study_members",
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_study_members_study_studies"),
        sa.PrimaryKeyConstraint("study", "agent", name="pk_study_members"),
    )
    op.create_index("ix_study_members_agent", "study_members", ["agent"])
    op.create_table(
        "study_readers",
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("agent", name="pk_study_readers"),
    )
    op.create_table(
        "study_answers",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("study", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.String(length=32), nullable=False),
        sa.Column("code", sa.String(length=32)),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_study_answers_study_studies"),
        sa.PrimaryKeyConstraint("id", name="pk_study_answers"),
        sa.UniqueConstraint("study", "agent", "time", name="uq_study_answers_study_agent_time"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "study_consents",
        sa.Column("id", _ROW_ID, nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("with_sha256", sa.String(length=64), nullable=False),
        sa.Column("without_sha256", sa.String(length=64), nullable=False),
        sa.Column("consent", sa.LargeBinary(), nullable=False),
        sa.Column("signature", sa.String(length=128), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_study_consents"),
        sa.UniqueConstraint(
            "agent",
            "with_sha256",
            "without_sha256",
            name="uq_study_consents_agent_with_sha256_without_sha256",
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_study_consents_without_sha256", "study_consents", ["without_sha256"])
    op.create_index("ix_study_consents_with_sha256", "study_consents", ["with_sha256"])


def downgrade() -> None:
    for table in (
        "study_consents",
        "study_answers",
        "study_readers",
        "study_members",
        "study_documents",
    ):
        op.drop_table(table)
