"""The log of administrative acts, on SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection

from cloud_service.service import acts
from cloud_service.store import acts as store
from cloud_service.store import schema
from cloud_service.store.database import Database
from cloud_service.store.journal import Entry
from shared.errors import InternalError


@pytest.fixture
def database(database_url: str) -> Database:
    database = Database(database_url)
    schema.upgrade(database)
    return database


def _record(database: Database, subject: str) -> str:
    with database.write() as connection:
        return acts.record(connection, actor="ana", act="token_created", subject=subject, now=1_800_000_000)


def _record_and_stumble(connection: Connection) -> None:
    acts.record(connection, actor="ana", act="study_created", subject="s", now=1)
    raise InternalError("the change itself went wrong")


def _entries(database: Database) -> list[Entry]:
    with database.read() as connection:
        return list(store.all_of(connection))


def test_acts_of_many_writers_are_one_chain(database: Database) -> None:
    with ThreadPoolExecutor(4) as pool:
        heads = list(pool.map(lambda i: _record(database, f"token-{i}"), range(12)))
    entries, head = _entries(database), "0" * 64
    assert [entry.number for entry in entries] == list(range(12))
    for entry in entries:
        head = hashlib.sha256(bytes.fromhex(head) + entry.record).hexdigest()
        assert entry.hash == head
    assert {entry.hash for entry in entries} == set(heads)
    database.dispose()


def test_an_act_and_its_record_go_together(database: Database) -> None:
    with pytest.raises(InternalError), database.write() as connection:
        _record_and_stumble(connection)
    assert _entries(database) == []
    database.dispose()


def test_details_stand_beside_the_record_and_cannot_replace_it(database: Database) -> None:
    with database.write() as connection:
        acts.record(
            connection, actor="ana", act="key_rotated", subject="cloud", now=7, details={"sha256": "ab"}
        )
        with pytest.raises(InternalError):
            acts.record(connection, actor="ana", act="x", subject="s", now=1, details={"actor": "eve"})
        with pytest.raises(InternalError):
            acts.record(connection, actor="ana", act="No word", subject="s", now=1)
    (entry,) = _entries(database)
    expected = {
        "n": 0,
        "time": 7,
        "actor": "ana",
        "act": "key_rotated",
        "subject": "cloud",
        "sha256": "ab",
    }
    assert json.loads(entry.record) == expected
    database.dispose()
