"""How the journal's database is opened, and brought to this version by the steps that it lacks."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from hospital_agent.journal.steps import STEPS
from machine.files import PRIVATE
from shared.errors import InputError

VERSION: Final = len(STEPS)
"""Of a journal that this program has opened, in SQLite's `user_version`."""


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the journal: write-ahead log, every commit synced, deleted content overwritten.

    Raises: InputError: it cannot be opened, or was written by a newer version.
    """
    if not path.exists():
        path.touch(mode=PRIVATE)
    try:
        connection = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        full = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL
        raise InputError(
            f"the journal cannot be opened ({error.sqlite_errorname})",
            where=str(path),
            remedy="Make room on the disk."
            if full
            else "Restore the folder from a backup; never copy the journal of a running agent.",
            number="A019" if full else "A012",
        ) from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Take the steps that the journal lacks, all or none. Raises: InputError: a newer version wrote it."""
    # Without a lock where nothing is to be done: whoever only reads never waits for the daemon's writes.
    if _version(connection, path) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for step in STEPS[_version(connection, path) :]:  # another process may have been quicker
        for statement in step.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """How many steps the journal has taken. Raises: InputError: more than there are here."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise InputError(
            "the journal was written by a newer version of Privet",
            where=str(path),
            remedy="Run that version, or a newer one.",
            number="A013",
        )
    return int(version)
