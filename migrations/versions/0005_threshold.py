"""Key mode threshold: partial decryptions of a round, one of each member.

Down: the version before knows no state OPENING, so jobs in it end.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_INDEX = "uq_messages_in_once_a_round"
_COLUMNS = ["job", "type", "round", "attempt", "sender"]
_BEFORE = sa.text("type IN ('contribution', 'decision', 'notify') AND refused IS NULL")
_AFTER = sa.text("type IN ('contribution', 'partial', 'decision', 'notify') AND refused IS NULL")


def upgrade() -> None:
    op.add_column("job_members", sa.Column("partial", sa.LargeBinary()))
    _index_again(_AFTER)


def downgrade() -> None:
    jobs = sa.table(
        "jobs", sa.column("state", sa.String()), sa.column("failure", sa.String()), sa.column("paused_since")
    )
    op.execute(
        jobs.update()
        .where(jobs.c.state == "OPENING")
        .values(state="FAILED", failure="cancelled", paused_since=None)
    )
    _index_again(_BEFORE)
    op.drop_column("job_members", "partial")


def _index_again(taken_once: sa.TextClause) -> None:
    op.drop_index(_INDEX, "messages_in")
    op.create_index(
        _INDEX, "messages_in", _COLUMNS, unique=True, sqlite_where=taken_once, postgresql_where=taken_once
    )
