"""Broadcasts are read from the tables once, other messages each time, and what is kept has a bound."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, insert

from cloud_service.store import outbox, recent, schema
from cloud_service.store.database import Database
from cloud_service.store.recent import MOST_BYTES, RecentMessages
from cloud_service.store.tables import Delivery, OutMessage, table_of
from shared.ids import AgentId
from shared.wire.envelope import MessageType

AGENTS = [AgentId("h1"), AgentId("h2")]


def test_a_broadcast_is_read_once_and_a_deleted_one_is_gone(database_url: str) -> None:
    database = Database(database_url)
    schema.upgrade(database)
    kept = RecentMessages()
    kinds = {1: MessageType.ROSTER, 2: MessageType.AGGREGATE}
    with database.write() as connection:
        if not database.is_sqlite:
            connection.exec_driver_sql("SET session_replication_role = replica")  # messages of no job
        else:
            connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
        for number, kind in kinds.items():
            row = {"id": number, "job": "ab" * 16, "type": kind.value, "raw": b"%d" % number, "created": 1}
            connection.execute(insert(table_of(OutMessage)), row)
            connection.execute(insert(table_of(Delivery)), [{"agent": a, "message": number} for a in AGENTS])

        def fetch(agent: AgentId) -> list[bytes]:
            found = outbox.waiting(connection, agent, 0, items=64, max_bytes=2**20, recent=kept)
            return [message.raw for message in found]

        assert fetch(AGENTS[0]) == fetch(AGENTS[1]) == [b"1", b"2"]
        assert kept.of([1, 2]) == {1: b"1"}
        connection.execute(delete(table_of(Delivery)).where(Delivery.message == 1))
        assert fetch(AGENTS[1]) == [b"2"]  # though its bytes are still in memory
        connection.execute(delete(table_of(Delivery)))
        connection.execute(delete(table_of(OutMessage)))
    database.dispose()


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_BYTES", 100)
    kept = RecentMessages()
    for number in range(1000):
        kept.put(number, bytes(30))
        kept.put(number, bytes(30))
        assert kept.length <= 100
    assert sorted(kept.of(range(1000))) == [997, 998, 999]
    kept.put(1000, bytes(MOST_BYTES + 1))
    assert kept.of([1000]) == {}
