"""Quality: figures of finished jobs that their studies publish, kept once all hospitals have sent the same."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sent_figures",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("document", sa.Text()),
        sa.ForeignKeyConstraint(["job"], ["jobs.id"], name="fk_sent_figures_job"),
        sa.PrimaryKeyConstraint("job", "agent", name="pk_sent_figures"),
    )


def downgrade() -> None:
    op.drop_table("sent_figures")
