"""Upkeep: which code fits these tables, and when the messages of a finished job were deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    window = op.create_table(
        "schema_window",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("oldest", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schema_window"),
    )
    op.bulk_insert(window, [{"id": 1, "oldest": revision}])
    op.add_column("jobs", sa.Column("cleared", sa.BigInteger()))


def downgrade() -> None:
    op.drop_column("jobs", "cleared")
    op.drop_table("schema_window")
