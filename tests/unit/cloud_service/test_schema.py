"""Migrations: up, down, and equal to the models, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect, text

from cloud_service.store import schema
from cloud_service.store.database import Database
from cloud_service.store.tables import Base
from shared.errors import InputError, TemporaryError


def test_up_gives_the_models_tables_and_down_leaves_none(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    assert schema.state(database).current is None
    with pytest.raises(InputError, match="has no tables yet"):
        schema.require_current(database)
    assert schema.upgrade(database).is_current
    assert schema.upgrade(database).is_current
    assert schema.state(database, compare=True).differences == ()
    assert set(inspect(database.engine).get_table_names()) == {*Base.metadata.tables, "alembic_version"}
    schema.downgrade(database)
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    assert schema.upgrade(database).is_current
    database.dispose()


def test_a_difference_is_named(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    schema.upgrade(database)
    with database.write() as connection:
        connection.execute(text("ALTER TABLE hospitals ADD COLUMN surplus INTEGER"))
    found = schema.state(database, compare=True)
    assert not found.is_current
    assert "surplus" in " ".join(found.differences)
    database.dispose()


def test_another_revision_is_refused(sqlite_url: str) -> None:
    database = Database(sqlite_url)
    schema.upgrade(database)
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0000'"))
    with pytest.raises(InputError, match="is at revision 0000"):
        schema.require_current(database)
    database.dispose()


def test_a_database_that_is_not_there() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    with pytest.raises(TemporaryError):
        schema.state(database)
    database.dispose()


@pytest.mark.parametrize("url", ["nonsense", "oracle://x", "sqlite+nothing:///x"])
def test_a_url_of_no_database(url: str) -> None:
    with pytest.raises(InputError, match="database_url"):
        Database(url)
