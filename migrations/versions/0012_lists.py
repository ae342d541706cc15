"""Lists: the last day of a study beside its document, and indexes by which pages of jobs are read."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_INDEXES = {
    "ix_jobs_created_id": ["created", "id"],
    "ix_jobs_state_created_id": ["state", "created", "id"],
    "ix_jobs_finished_id": ["finished", "id"],
}


def upgrade() -> None:
    op.add_column("study_documents", sa.Column("expires", sa.BigInteger()))
    documents = sa.table(
        "study_documents",
        sa.column("study", sa.String),
        sa.column("document", sa.LargeBinary),
        sa.column("expires", sa.BigInteger),
    )
    connection = op.get_bind()
    for study, raw in connection.execute(sa.select(documents.c.study, documents.c.document)).all():
        last = json.loads(bytes(raw))["expires"]
        connection.execute(documents.update().where(documents.c.study == study).values(expires=last))
    for name, columns in _INDEXES.items():
        op.create_index(name, "jobs", columns)


def downgrade() -> None:
    for name in _INDEXES:
        op.drop_index(name, "jobs")
    op.drop_column("study_documents", "expires")
