"""Whether the database has the tables that this code needs, and how it gets them.

The steps are Alembic's, in the package `migrations`, found beside this one in a checkout and in an installed wheel.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from cloud_service.store.database import Database
from cloud_service.store.tables import Base
from shared.errors import InputError, TemporaryError

_REMEDY: Final = "Run: privet cloud migrate FOLDER"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`current`: revision of the database, None when it is empty. `head`: what this code needs."""

    current: str | None
    head: str
    differences: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether this code can work with the database."""
        return self.current == self.head and not self.differences


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The newest revision that this code knows."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def upgrade(database: Database) -> SchemaState:
    """Bring the tables to the newest revision; safe to repeat."""
    _run(database.engine, "head")
    return state(database)


def downgrade(database: Database, revision: str = "base") -> None:
    """Take steps back; `base` leaves no table."""
    _run(database.engine, revision, down=True)


def _run(engine: Engine, revision: str, *, down: bool = False) -> None:
    try:
        with engine.begin() as connection:
            (command.downgrade if down else command.upgrade)(_config(connection), revision)
    except OperationalError:
        raise _unreachable() from None


def state(database: Database, *, compare: bool = False) -> SchemaState:
    """Where the database stands. `compare`: also name every difference between its tables and the models."""
    try:
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            current = context.get_current_revision()
            found = compare_metadata(context, Base.metadata) if compare and current == head() else []
    except OperationalError:
        raise _unreachable() from None
    return SchemaState(current, head(), tuple(_name(difference) for difference in found))


def _name(difference: object) -> str:
    # A difference is ("add_table", Table) or a list of ("modify_type", schema, table, column, ...).
    parts = difference[0] if isinstance(difference, list) else difference
    return " ".join(str(part) for part in parts[:4]) if isinstance(parts, tuple) else str(parts)


def require_current(database: Database) -> None:
    """Raises: InputError: the tables are not those of this code."""
    found = state(database)
    if not found.is_current:
        was = "has no tables yet" if found.current is None else f"is at revision {found.current}"
        raise InputError(
            f"the database {was}, this version needs {found.head}", where="database_url", remedy=_REMEDY
        )


def _unreachable() -> TemporaryError:
    return TemporaryError("the database cannot be reached: check database_url and that the server runs")
