"""Transactions behave alike on both databases."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from cloud_service.store import directory, schema
from cloud_service.store.database import AuditUnavailableError, Database, kind_of


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    found = Database(database_url)
    schema.upgrade(found)
    yield found
    found.dispose()


def _labels(database: Database) -> list[str]:
    with database.read() as connection:
        return [row.label for row in directory.tokens(connection)]


def test_a_write_commits_as_a_whole(database: Database) -> None:
    with database.write() as connection:
        directory.add_token(connection, "one", "1" * 64, 5)
        directory.add_token(connection, "two", "2" * 64, 5)
    assert _labels(database) == ["one", "two"]


def test_an_exception_leaves_no_trace(database: Database) -> None:
    def write_and_fail() -> None:
        with database.write() as connection:
            directory.add_token(connection, "one", "1" * 64, 5)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert _labels(database) == []


def test_a_missing_table_is_told_as_unavailable(database: Database) -> None:
    with pytest.raises(AuditUnavailableError) as found, database.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))
    cause = "OperationalError SQLITE_ERROR" if database.is_sqlite else "UndefinedTable 42P01"
    assert kind_of(found.value) == cause


def test_writers_wait_for_each_other(database: Database) -> None:
    def write(number: int) -> None:
        with database.write() as connection:
            directory.add_token(connection, f"t{number}", f"{number:064x}", 5)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(_labels(database)) == 12


def test_sqlite_is_durable_and_forgets(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    with database.engine.connect() as connection:
        wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted}
    assert found == wanted
    database.dispose()


def test_a_reader_of_sqlite_never_waits_for_a_writer(sqlite_url: str) -> None:
    """Not even to open its connection; it did, and after ten seconds the cloud answered 503."""
    writer, reader = Database(sqlite_url), Database(sqlite_url)
    schema.upgrade(writer)
    with writer.write() as connection:
        directory.add_token(connection, "one", "1" * 64, 5)
        began = time.monotonic()
        assert _labels(reader) == []
        assert time.monotonic() - began < 5
    assert _labels(reader) == ["one"]
    for database in (writer, reader):
        database.dispose()


def test_an_older_file_of_sqlite_gives_pages_back_once_it_was_written_anew(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as older:
        older.execute("CREATE TABLE t (x)")
    database = Database(f"sqlite:///{tmp_path / 'old.db'}")

    def mode() -> int:
        with database.engine.connect() as connection:
            return int(connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one())

    assert mode() == 0
    database.give_back_space()
    assert mode() == 0
    database.give_back_space(whole=True)
    database.dispose()
    assert mode() == 2
    database.dispose()
