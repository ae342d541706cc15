"""People: accounts, sessions, roles and scopes of tokens.

Tokens of before keep what they could do, and end 90 days from this step on.
"""

import time

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_DAYS_LEFT = 90


def upgrade() -> None:
    op.add_column(
        "api_tokens", sa.Column("scopes", sa.Text(), nullable=False, server_default="coordinator analyst")
    )
    op.add_column("api_tokens", sa.Column("hospital", sa.String(length=64)))
    op.add_column("api_tokens", sa.Column("expires", sa.BigInteger()))
    tokens = sa.table("api_tokens", sa.column("expires", sa.BigInteger()))
    op.execute(tokens.update().values(expires=int(time.time()) + _DAYS_LEFT * 86400))
    op.create_table(
        "people",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("hospital", sa.String(length=64)),
        sa.Column("second_factor", sa.LargeBinary()),
        sa.Column("is_enrolled", sa.Boolean(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("disabled", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("name", name="uq_people_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=255), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("hospital", sa.String(length=64)),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_sessions"),
    )
    op.create_index("ix_sessions_person", "sessions", ["person"])
    op.create_table(
        "sign_in_attempts",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("latest", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_sign_in_attempts"),
    )
    op.create_table(
        "sign_in_states",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("browser", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_sign_in_states"),
    )
    op.create_table(
        "people_audit",
        sa.Column("number", _ROW_ID, nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_people_audit"),
    )


def downgrade() -> None:
    op.drop_table("people_audit")
    op.drop_table("sign_in_states")
    op.drop_table("sign_in_attempts")
    op.drop_index("ix_sessions_person", "sessions")
    op.drop_table("sessions")
    op.drop_table("people")
    for column in ("expires", "hospital", "scopes"):
        op.drop_column("api_tokens", column)
