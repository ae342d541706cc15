"""The journal's tables, and how its database is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from hospital_agent.files import PRIVATE
from shared.errors import InputError

VERSION: Final = 1

_TABLES: Final = """
CREATE TABLE place (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE jobs (
    job TEXT PRIMARY KEY, mh TEXT NOT NULL, study TEXT NOT NULL, question TEXT NOT NULL, offer BLOB NOT NULL,
    status TEXT NOT NULL, phase TEXT NOT NULL, round INTEGER NOT NULL, participation TEXT,
    snapshot_sha256 TEXT, records_identity TEXT, certificates TEXT NOT NULL, code TEXT, reason TEXT,
    tally TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL
) STRICT;
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, type TEXT NOT NULL, round INTEGER NOT NULL,
    attempt INTEGER NOT NULL, seq INTEGER NOT NULL, sha256 TEXT NOT NULL, raw BLOB, state TEXT NOT NULL,
    receipt BLOB, UNIQUE (job, seq)
) STRICT;
CREATE UNIQUE INDEX one_contribution ON outbox (job, round, attempt) WHERE type = 'contribution';
CREATE TABLE answers (job TEXT PRIMARY KEY, approve INTEGER NOT NULL, reason TEXT NOT NULL) STRICT;
CREATE TABLE seen_rosters (
    records_identity TEXT NOT NULL, roster TEXT NOT NULL, job TEXT NOT NULL,
    PRIMARY KEY (records_identity, roster, job)
) STRICT;
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY, job TEXT NOT NULL, code TEXT NOT NULL, raw BLOB NOT NULL
) STRICT;
CREATE TABLE audit (n INTEGER PRIMARY KEY, record TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
"""


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
        raise InputError(
            f"the journal cannot be opened ({error.sqlite_errorname})",
            where=str(path),
            remedy="Restore the folder from a backup; never copy the journal of a running agent.",
        ) from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    if version > VERSION:
        raise InputError(
            "the journal was written by a newer version of Privet",
            where=str(path),
            remedy="Run that version, or a newer one.",
        )
