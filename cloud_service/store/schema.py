"""Whether the database has the tables that this code can work with, and how it gets them.

The steps are Alembic's, in the package `migrations`, found beside this one in a checkout and in an installed wheel.

Expand and contract: a step adds what older code may leave out (columns that may be null or have a default, new
tables); what older code still uses goes a release later. So the code of one release runs on its own tables and on
those of the next, and a rolling upgrade migrates first and then replaces one replica after another. The one row of
`schema_window` names the oldest revision whose code still fits; a step that takes something away moves it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import DatabaseError, OperationalError

from cloud_service.store import people_tables, planning_tables, quality_tables, study_tables
from cloud_service.store.database import Database
from cloud_service.store.tables import Base, SchemaWindow, table_of
from shared.errors import InputError, TemporaryError

TABLE_MODULES: Final = (people_tables, planning_tables, quality_tables, study_tables)
"""Modules beside `tables` whose import adds their tables to `Base`."""
_REMEDY: Final = "Run: privet cloud migrate FOLDER"
_CLOSED: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY)
_NEWER: Final = (
    "Run the version of Privet that wrote it, or a newer one; going back, let that version take its steps back first: "
    "privet cloud migrate FOLDER --to "
)
_MIGRATION_LOCK: Final = 0x70726D67
"""Key of the PostgreSQL advisory lock of who migrates; a second one waits for it and finds the work done."""
_WINDOW: Final = table_of(SchemaWindow)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """`current`: revision of the database, None when it is empty. `head`: what this code brings.

    `oldest`: the oldest revision whose code works with these tables; None where the database does not say.
    """

    current: str | None
    head: str
    differences: tuple[str, ...] = ()
    oldest: str | None = None

    @property
    def is_current(self) -> bool:
        """Whether the tables are those of this code."""
        return self.current == self.head and not self.differences

    @property
    def is_newer(self) -> bool:
        """Whether a newer version has migrated the database."""
        return self.current is not None and self.current not in revisions()

    @property
    def is_usable(self) -> bool:
        """Whether this code can work with the database: its own tables, or newer ones that still suit it."""
        # Revisions are numbers of four digits, so they compare as texts.
        if self.is_current or self.current is None or self.oldest is None:
            return self.is_current
        return self.is_newer and self.oldest <= self.head < self.current


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.attributes["connection"] = connection
    return config


@cache
def _scripts() -> ScriptDirectory:
    """The steps as they are installed, read once a process."""
    return ScriptDirectory.from_config(_config())


@cache
def head() -> str:
    """The newest revision that this code knows."""
    return _scripts().get_current_head() or ""


@cache
def revisions() -> tuple[str, ...]:
    """All revisions that this code knows, the first one first."""
    steps = _scripts().walk_revisions()
    return tuple(reversed([step.revision for step in steps]))


def upgrade(database: Database, revision: str = "head") -> SchemaState:
    """Bring the tables to a revision, the newest by default; safe to repeat, and from two places at once.

    Raises: InputError: the database was migrated by a version that this code does not know.
    """
    found = state(database)
    refuse_newer(found)
    if revision == "head" and found.is_current:
        return found
    _run(database, revision)
    return state(database)


def downgrade(database: Database, revision: str = "base") -> SchemaState:
    """Take steps back, to a revision or by `-1`; `base` leaves no table.

    Raises: InputError: the database was migrated by a version that this code does not know.
    """
    refuse_newer(state(database))
    _run(database, revision, down=True)
    return state(database)


def refuse_newer(found: SchemaState) -> None:
    """Raises: InputError: the database has a revision that this code does not know."""
    if found.is_newer:
        raise InputError(
            f"the database is at revision {found.current}, this version knows revisions up to {found.head}",
            where="database_url",
            remedy=f"{_NEWER}{found.head}",
            number="C013",
        )


def _run(database: Database, revision: str, *, down: bool = False) -> None:
    try:
        with database.migrating(_MIGRATION_LOCK) as connection:
            (command.downgrade if down else command.upgrade)(_config(connection), revision)
    except DatabaseError as error:
        raise _unusable(error) from None


def state(database: Database, *, compare: bool = False) -> SchemaState:
    """Where the database stands. `compare`: also name every difference between its tables and the models."""
    try:
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            current = context.get_current_revision()
            found = compare_metadata(context, Base.metadata) if compare and current == head() else []
            oldest = _oldest(connection)
    except DatabaseError as error:
        raise _unusable(error) from None
    return SchemaState(current, head(), tuple(_name(difference) for difference in found), oldest)


def _oldest(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_WINDOW.name):
        return None
    found: str | None = connection.scalar(select(_WINDOW.c.oldest))
    return found


def _name(difference: object) -> str:
    # A difference is ("add_table", Table) or a list of ("modify_type", schema, table, column, ...).
    parts = difference[0] if isinstance(difference, list) else difference
    return " ".join(str(part) for part in parts[:4]) if isinstance(parts, tuple) else str(parts)


def require_current(database: Database) -> SchemaState:
    """Where the database stands, if this code can work with it. Raises: InputError: it cannot."""
    found = state(database)
    if found.is_usable:
        return found
    refuse_newer(found)
    was = "has no tables yet" if found.current is None else f"is at revision {found.current}"
    raise InputError(
        f"the database {was}, this version needs {found.head}",
        where="database_url",
        remedy=_REMEDY,
        number="C012",
    )


def _unusable(error: DatabaseError) -> Exception:
    """Why the database cannot be worked with, without the driver's words, which may hold a password."""
    extended = getattr(error.orig, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if code == sqlite3.SQLITE_FULL or extended == sqlite3.SQLITE_IOERR_SHMSIZE:
        return InputError(
            "the disk is full", where="database_url", remedy="Make room, then start again.", number="C019"
        )
    if code in _CLOSED:
        return InputError(
            "this user cannot open or write the database's file",
            where="database_url",
            remedy="Give the file and its folder to the user that runs the cloud.",
            number="C018",
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return InputError(
            "the database's file is damaged, or not a database",
            where="database_url",
            remedy="Restore it from a backup, or correct database_url.",
            number="C020",
        )
    if not isinstance(error, OperationalError):
        return error
    return TemporaryError(
        "the database cannot be reached: check database_url and that the server runs", number="C011"
    )
