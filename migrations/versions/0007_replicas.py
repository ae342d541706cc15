"""Replicas: who holds which job's work at the moment."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "leases",
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("job", sa.String(32), nullable=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "job", name="pk_leases"),
    )


def downgrade() -> None:
    op.drop_table("leases")
