"""The number of the last change of studies, by which agents know that there is something to fetch."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import Connection

from cloud_service.store import directory, governance, schema
from cloud_service.store.database import Database
from cloud_service.store.study_tables import StudyDocumentRow
from cloud_service.store.tables import table_of

_OPEN_SECONDS = 0.5
"""How long the first transaction stays open while the second one does its work, or waits."""


@pytest.fixture
def database(database_url: str) -> Database:
    database = Database(database_url)
    schema.upgrade(database)
    return database


def _create(connection: Connection, name: str) -> None:
    values = {"id": name, "question": "who is ill?", "schema": b"{}", "publish_tree": False}
    directory.add_study(connection, {**values, "disclosure": "class", "synthetic": True, "created": 1})
    governance.add_document(connection, name, name.encode().hex().ljust(64, "0"), b"{}", ["h1"], 2**40)


def test_studies_that_are_created_at_once_are_different_changes(database: Database) -> None:
    """Else an agent that has fetched after the first of them never hears of the second."""
    is_written = threading.Event()

    def first() -> None:
        with database.write() as connection:
            _create(connection, "first")
            is_written.set()
            time.sleep(_OPEN_SECONDS)

    thread = threading.Thread(target=first)
    thread.start()
    assert is_written.wait(30)
    with database.write() as connection:
        _create(connection, "second")
    thread.join()
    documents = table_of(StudyDocumentRow)
    with database.read() as connection:
        changes = {row.study: row.change for row in connection.execute(documents.select())}
        assert changes == {"first": 1, "second": 2}
        assert governance.newest_change(connection) == 2


def test_a_study_is_closed_once(database: Database) -> None:
    with database.write() as connection:
        _create(connection, "study")
        assert governance.close(connection, "study", 10)
        assert not governance.close(connection, "study", 20)
    with database.read() as connection:
        assert governance.newest_change(connection) == 2
        assert governance.document(connection, "study").closed == 10  # type: ignore[union-attr]
