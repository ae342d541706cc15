"""Transactions behave alike on both databases."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from cloud_service.store import directory, schema
from cloud_service.store.database import AuditUnavailableError, Database


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
    with pytest.raises(AuditUnavailableError), database.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))


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
