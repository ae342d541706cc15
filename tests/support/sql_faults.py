"""Let every SQL statement of a program fail once: of each transaction its first, at the next try its second, and so on.

    with failing_database(database) as faults: ...      # the cloud's, SQLite or PostgreSQL
    with failing_journal(hospital) as faults: ...       # an agent's

A transaction is known by the code that began it and, where `anew`, by how many of jobs were committed before: then
each step of a job fails anew, an agent's at each of its statements, the cloud's at every fourth, commits included. What
only reads fails by its code alone.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from cloud_service.store.database import Database
from hospital_agent.journal.store import JOURNAL_FILE
from tests.support.federation import Hospital
from tests.support.lives import writes_of_a_job

Site = tuple[str, ...]
_PLACE = "fault_place"
_FRAMES = 3
_STRIDE = 4
"""Of a step of a job at the cloud every fourth statement fails, beginning with another one at the next step."""
_START = "._check_own_certificate"
"""What an agent reads before it works, and may refuse to begin over."""


@dataclass
class SqlFaults:
    """`failed`: how many statements of each place in the code have failed. `is_on`: set False to end it.

    `rooms`: the packages whose code tells transactions apart; `anew`: a job's commit makes all places that write new.
    `stride`: of such a place every so many statements. `records`: of an agent's log at the last commit.
    """

    rooms: tuple[str, ...]
    anew: bool
    stride: int = 1
    is_on: bool = False
    commits: int = 0
    records: int = 0
    failed: Counter[Site] = field(default_factory=Counter)
    _passed: Counter[tuple[Site, int]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_due(self, place: dict[str, Any], writes: bool) -> bool:
        """Whether the next statement of a transaction fails. Args: place: what is remembered of the transaction."""
        with self._lock:
            if not self.is_on:
                return False
            if not place:
                site = self._site()
                if any(name.endswith(_START) for name in site):
                    return False
                key = site, self.commits if self.anew and writes else 0
                stride = self.stride if self.anew and writes else 1
                victim = key[1] % stride + stride * self._passed[key]
                place.update(site=site, count=0, key=key, victim=victim)
            due = bool(place["count"] == place["victim"])
            place["count"] += 1
            if due:
                self._passed[place["key"]] += 1
                self.failed[place["site"]] += 1
            return due

    def _site(self) -> Site:
        names: list[str] = []
        frame = sys._getframe(2)
        while frame is not None and len(names) < _FRAMES:
            module = str(frame.f_globals.get("__name__", ""))
            if module.startswith(self.rooms) and not module.endswith(("store.database", "journal.store")):
                names.append(f"{module}.{frame.f_code.co_name}")
            frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
        return tuple(names)


@contextmanager
def failing_database(database: Database, *, anew: bool = False) -> Iterator[SqlFaults]:
    """Statements and commits of a cloud's engine. On PostgreSQL the connection is gone with the statement."""
    faults = SqlFaults(("cloud_service",), anew, _STRIDE)

    def execute(connection: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        place = connection.info.setdefault(_PLACE, {})
        place_is_due = faults.is_due(place, _writes(connection))
        if writes_of_a_job(statement):
            connection.info["fault_writes"] = True
        if place_is_due:
            _fail(connection)

    def commit(connection: Connection) -> None:
        if faults.is_due(connection.info.setdefault(_PLACE, {}), _writes(connection)):
            _fail(connection)
            return  # PostgreSQL's driver refuses it next; nothing was committed
        faults.commits += bool(connection.info.pop("fault_writes", False))
        connection.info.pop(_PLACE, None)

    def rollback(connection: Connection) -> None:
        if not connection.invalidated:
            connection.info.pop(_PLACE, None)
            connection.info.pop("fault_writes", None)

    def _fail(connection: Connection) -> None:
        if database.is_sqlite:
            raise OperationalError("a statement", {}, _input_output_error())
        driver: Any = connection.connection.driver_connection
        driver.close()

    hooks = (("before_cursor_execute", execute), ("commit", commit), ("rollback", rollback))
    for name, hook in hooks:
        event.listen(database.engine, name, hook)
    faults.is_on = True
    try:
        yield faults
    finally:
        faults.is_on = False
        for name, hook in hooks:
            event.remove(database.engine, name, hook)


@contextmanager
def failing_journal(
    hospital: Hospital, patch: pytest.MonkeyPatch, *, anew: bool = False
) -> Iterator[SqlFaults]:
    """Statements and commits of one agent's journal, in its own thread; it must not have been started."""
    faults, connect = SqlFaults(("hospital_agent",), anew), sqlite3.connect

    class Failing(sqlite3.Connection):
        place: dict[str, Any]

        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            is_own = threading.current_thread().name == hospital.id
            is_asked = statement != "ROLLBACK" and not statement.startswith("PRAGMA")
            if not self.in_transaction:
                self.place = {}
            if (
                is_own
                and is_asked
                and faults.is_due(self.place, self.in_transaction or statement.startswith("BEGIN"))
            ):
                raise _input_output_error()
            cursor = super().execute(statement, *values)
            if is_own and statement == "COMMIT":
                self._note_commit()
            return cursor

        def _note_commit(self) -> None:
            """Of the agent itself and with new records in its log; others bring no job on, and come at every turn."""
            with suppress(sqlite3.OperationalError):  # before the tables are there
                found = int(super().execute("SELECT count(*) FROM audit").fetchone()[0])
                faults.commits += found > faults.records
                faults.records = found

    def failing(path: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        if Path(path) == hospital.folder / JOURNAL_FILE:
            options["factory"] = Failing
        connection: sqlite3.Connection = connect(path, *arguments, **options)
        return connection

    patch.setattr(sqlite3, "connect", failing)
    faults.is_on = True
    try:
        yield faults
    finally:
        faults.is_on = False


def _writes(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get("privet_writes"))


def _input_output_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_IOERR, "SQLITE_IOERR"
    return error
