"""Copies of the whole database, taken while the cloud serves, and put back while it does not.

SQLite: the online backup of its own library. PostgreSQL: pg_dump and pg_restore, which must not be older than the
server; the heads of the jobs are read in the very snapshot that is dumped.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, inspect, make_url, select, text

from cloud_service.store.database import Database
from cloud_service.store.tables import JobRow, table_of
from shared.errors import InputError, TemporaryError

_J: Final = table_of(JobRow).c
_HEADS: Final = select(_J.id, _J.state, _J.round, _J.chain_seq, _J.head).order_by(_J.id)
_UNFINISHED: Final = "privet_restore"
"""A schema beside the tables while a restore goes on: what was put back must not be served before it was looked at."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Where every job stood in the copy, and the revision of the tables. Nothing of what was computed."""

    revision: str
    jobs: dict[str, dict[str, Any]]


def take(database: Database, file: Path) -> Heads:
    """Copy the database into `file`, as it is at one moment.

    Raises: InputError: no pg_dump, or an older one than the server. TemporaryError: the server cannot be reached.
    """
    return _take_sqlite(database, file) if database.is_sqlite else _take_postgres(database, file)


def _take_sqlite(database: Database, file: Path) -> Heads:
    with closing(sqlite3.connect(file)) as copy:
        source = database.engine.raw_connection()
        try:
            driver = source.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.backup(copy)
        finally:
            source.close()
        copy.execute("PRAGMA journal_mode=DELETE")
    copied = Database(f"sqlite:///{file.absolute()}")
    try:
        with copied.read() as connection:
            return _heads(connection)
    finally:
        copied.dispose()
        _fold(file)


def _take_postgres(database: Database, file: Path) -> Heads:
    with database.engine.connect() as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        heads = _heads(connection)
        snapshot = str(connection.scalar(text("SELECT pg_export_snapshot()")))
        options = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}")
        _tool("pg_dump", database.engine, *options, f"--file={file}")
    return heads


def _heads(connection: Connection) -> Heads:
    revision = str(connection.scalar(text("SELECT version_num FROM alembic_version")))
    jobs = {
        row.id: {"state": row.state, "round": row.round, "seq": row.chain_seq, "head": row.head}
        for row in connection.execute(_HEADS)
    }
    return Heads(revision, jobs)


def is_empty(database: Database) -> bool:
    """Whether nothing was ever kept here: no tables, or none of the federation's documents."""
    with database.read() as connection:
        if not inspect(connection).has_table("federation_documents"):
            return True
        return not connection.scalar(text("SELECT count(*) FROM federation_documents"))


def require_alone(database: Database) -> None:
    """Raises: InputError: somebody is connected to the database, most likely a cloud that serves."""
    if database.is_sqlite:
        _require_alone_sqlite(Path(str(database.engine.url.database)))
        return
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    with database.engine.connect() as connection:
        if connection.scalar(others):
            raise _in_use()


def _require_alone_sqlite(path: Path) -> None:
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=0)) as connection:
        try:
            # Only the last connection can leave the write-ahead log, which is folded into the file by that.
            (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError:
            raise _in_use() from None
    if mode != "delete":
        raise _in_use()


def _in_use() -> InputError:
    return InputError(
        "a cloud is using this database",
        where="database_url",
        remedy="Stop every replica first, then restore.",
    )


def put_back(database: Database, file: Path, kept: Path, examine: Callable[[Database], None]) -> None:
    """Replace the database by a copy, once `examine` has gone through it; what was there stays in `kept`.

    Killed at any moment, either the old database is served or none is: `is_unfinished` says so, and a repeat mends it.
    """
    if database.is_sqlite:
        _put_back_sqlite(Path(str(database.engine.url.database)), file, kept, examine)
    else:
        _put_back_postgres(database, file, kept, examine)


def _put_back_sqlite(path: Path, file: Path, kept: Path, examine: Callable[[Database], None]) -> None:
    fresh = path.with_name(f"{path.name}.restoring")
    for leftover in (fresh, *_companions(fresh)):
        leftover.unlink(missing_ok=True)
    shutil.copyfile(file, fresh)
    fresh.chmod(0o600)
    restored = Database(f"sqlite:///{fresh.absolute()}")
    try:
        examine(restored)
    finally:
        restored.dispose()
    _fold(fresh)
    if path.exists():
        path.replace(kept)
    for leftover in _companions(path):
        leftover.unlink(missing_ok=True)
    fresh.replace(path)


def _fold(path: Path) -> None:
    """One file and no write-ahead log beside it, all on disk."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _companions(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _put_back_postgres(
    database: Database, file: Path, kept: Path, examine: Callable[[Database], None]
) -> None:
    if not is_unfinished(database) and not is_empty(database):
        take(database, kept)
    with database.write() as connection:
        connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {_UNFINISHED}"))
    database.engine.dispose()
    with database.write() as connection:
        # Whatever a newer version has made goes too; its copy is kept.
        connection.execute(text("DROP SCHEMA public CASCADE"))
        connection.execute(text("CREATE SCHEMA public"))
    database.engine.dispose()
    options = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")
    with _without_public(file) as listing:
        _tool("pg_restore", database.engine, *options, f"--use-list={listing}", str(file))
    examine(database)
    with database.write() as connection:
        connection.execute(text(f"DROP SCHEMA {_UNFINISHED} CASCADE"))


@contextmanager
def _without_public(file: Path) -> Iterator[Path]:
    """The list of what to put back, without the schemas themselves: one is there, one must not come along."""
    listing = file.with_name(f"{file.name}.list")
    found = subprocess.run([_found("pg_restore"), "--list", str(file)], capture_output=True, text=True)  # noqa: S603
    if found.returncode:
        raise _tool_failed("pg_restore", found.stderr)
    kept = [line for line in found.stdout.splitlines() if " SCHEMA - " not in line]
    listing.write_text("\n".join(kept))
    try:
        yield listing
    finally:
        listing.unlink(missing_ok=True)


def is_unfinished(database: Database) -> bool:
    """Whether a restore was begun here and not ended."""
    if database.is_sqlite:
        return False
    with database.read() as connection:
        return _UNFINISHED in inspect(connection).get_schema_names()


def _tool(name: str, engine: Engine, *options: str) -> None:
    """Run a PostgreSQL program against the engine's database; the password goes by the environment."""
    url = make_url(engine.url).set(drivername="postgresql")
    environment = dict(os.environ)
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
        url = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    target = f"--dbname={url.render_as_string(hide_password=False)}"
    done = subprocess.run(  # noqa: S603 - a program found by name, with arguments of our own
        [_found(name), target, *options], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise _tool_failed(name, done.stderr)


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise InputError(
            f"{name} is not on this machine",
            remedy="Install the PostgreSQL client programs of the server's version, or newer.",
        )
    return path


def _tool_failed(name: str, told: str) -> InputError | TemporaryError:
    if "version mismatch" in told:
        return InputError(
            f"{name} on this machine is older than the PostgreSQL server",
            remedy="Install the PostgreSQL client programs of the server's version, and put them first in PATH.",
        )
    if "connection" in told and "failed" in told:
        return TemporaryError("the database cannot be reached: check database_url and that the server runs")
    first = next(iter(told.strip().splitlines()), "no reason given")
    return InputError(
        f"{name} failed: {first[:200]}", remedy="Mend what it names, and run the command again."
    )
