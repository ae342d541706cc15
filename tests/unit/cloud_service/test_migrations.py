"""Steps of the tables with rows in them, from two places at once, and beside code that is a version older."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from cloud_service.__main__ import app
from cloud_service.store import schema
from cloud_service.store.database import Database
from shared.errors import InputError
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import running_cloud
from tests.support.http_hospital import hospitals_of, run_together

NAMES = ("h1", "h2", "h3")
NEWER = "0999"


def counts(database: Database) -> dict[str, int]:
    """Rows of each table of the first version: what no step may lose."""
    with database.read() as connection:
        names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        return {name: connection.scalar(text(f'SELECT count(*) FROM "{name}"')) or 0 for name in names}


def test_a_running_job_survives_down_and_up(tmp_path: Path, database_url: str) -> None:
    with running_cloud(tmp_path, database_url, hospitals=NAMES, bits=512) as cloud:
        cloud.study(SCHEMA)
        with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
            job = cloud.job()
            for hospital in hospitals:
                hospital.fetch(wait=5)
                hospital.send_all()
            cloud.people.close()
            cloud.stop()
            database = Database(cloud.settings.database)
            before = counts(database)
            assert not schema.downgrade(database, "0007").is_usable
            assert schema.downgrade(database, "0007").current == "0007"
            assert schema.upgrade(database).is_current
            assert schema.state(database, compare=True).differences == ()
            after = counts(database)
            assert {name: after[name] for name in before} == before
            database.dispose()
            cloud.start()
            cloud._connect()
            for hospital in hospitals:
                hospital.reconnect()
            run_together(hospitals)
            assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"


def test_who_migrates_second_waits(empty_database_url: str) -> None:
    database, faults = Database(empty_database_url), list[BaseException]()

    def migrate() -> None:
        own = Database(empty_database_url)
        try:
            schema.upgrade(own)
        except BaseException as fault:
            faults.append(fault)
        finally:
            own.dispose()

    threads = [threading.Thread(target=migrate) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert schema.state(database, compare=True).is_current
    database.dispose()


def step_ahead(database: Database, oldest: str) -> None:
    """What the next version's step leaves: a column more, its revision, and which code still fits."""
    with database.write() as connection:
        connection.execute(text("ALTER TABLE hospitals ADD COLUMN surplus INTEGER"))
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{NEWER}'"))
        connection.execute(text(f"UPDATE schema_window SET oldest = '{oldest}'"))


def test_newer_tables_that_still_suit_are_served(tmp_path: Path, database_url: str) -> None:
    with running_cloud(tmp_path, database_url, hospitals=NAMES, bits=512) as cloud:
        step_ahead(cloud.services.database, schema.head())
        assert schema.require_current(cloud.services.database).is_newer
        # Or a balancer would take all replicas out at once.
        assert cloud.people.get("/readyz").status_code == 200
        cloud.restart()
        cloud.register("h1")
        cloud.study(SCHEMA)
        assert cloud.job()


def test_newer_tables_that_do_not_are_refused(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    schema.upgrade(database)
    step_ahead(database, NEWER)
    for refused in (schema.require_current, schema.upgrade, schema.downgrade):
        with pytest.raises(InputError, match=f"at revision {NEWER}, this version knows.*migrate FOLDER --to"):
            refused(database)
    database.dispose()


@pytest.mark.parametrize("wanted", ["-1", "0007"])
def test_the_command_takes_steps_back_only_when_told(tmp_path: Path, wanted: str) -> None:
    from tests.support.programs import command

    folder = tmp_path / "cloud"
    command("cloud", "init", folder)
    assert command("cloud", "migrate", folder)["revision"] == schema.head()
    from privet.__main__ import run

    assert run(["cloud", "migrate", str(folder), "--to", wanted]) != 0
    before = schema.revisions()[-2]
    assert command("cloud", "migrate", folder, "--to", wanted, "--yes")["revision"] == (
        before if wanted == "-1" else "0007"
    )
    assert run(["cloud", "migrate", str(folder), "--check"]) != 0
    assert run(["cloud", "migrate", str(folder), "--to", "0998"]) != 0
    assert command("cloud", "migrate", folder, "--to", "head")["revision"] == schema.head()
    assert "migrate" in {command.callback.__name__ for command in app.registered_commands if command.callback}


def test_steps_only_add_what_older_code_may_leave_out(sqlite_url: str) -> None:
    """From 0009 on: columns of older tables can be null or have a default, unless the step moves the window."""
    database = Database(sqlite_url)
    schema.upgrade(database, "0008")
    known = {
        name: {c["name"] for c in inspect(database.engine).get_columns(name)} for name in tables(database)
    }
    schema.upgrade(database)
    state = schema.state(database)
    if state.oldest == "0008":
        for name, columns in known.items():
            now = {column["name"]: column for column in inspect(database.engine).get_columns(name)}
            assert columns <= now.keys(), name
            added = [now[column] for column in now.keys() - columns]
            assert all(column["nullable"] or column["default"] is not None for column in added), name
    database.dispose()


def tables(database: Database) -> list[str]:
    return inspect(database.engine).get_table_names()
