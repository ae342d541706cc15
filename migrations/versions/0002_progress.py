"""Where the members of a secret job stand, and when each has last told."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("job_members", sa.Column("reported", sa.BigInteger()))
    op.add_column("job_members", sa.Column("progress", sa.LargeBinary()))


def downgrade() -> None:
    op.drop_column("job_members", "progress")
    op.drop_column("job_members", "reported")
