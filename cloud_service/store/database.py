"""The way to the database: engine, read and write transactions. SQLite and PostgreSQL behave alike from here.

Statements are built once, at import, and run on plain connections: a message costs some ten of them, and building
them anew or passing through the ORM's unit of work took most of its time.

SQLite: WAL with synchronous=FULL (a commit is on disk before its receipt leaves, rule C1), BEGIN IMMEDIATE, one
writer at a time in this process by a lock, so that nobody waits in SQLite's sleeping busy handler. Opening a connection
takes no write lock either, so that readers never wait for writers.
PostgreSQL: read committed; who changes a job locks its row (rule C6).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from shared.errors import ErrorCode, InputError, InternalError, TemporaryError

_BUSY_MILLISECONDS: Final = 10_000
_CONNECTIONS: Final = 50
_KEPT_OPEN: Final = 20
_RETURN_PAGES: Final = "PRAGMA auto_vacuum=INCREMENTAL"
_OUTBOX_LOCK: Final = 0x70726976
"""Key of the PostgreSQL advisory lock under which ids of the outbox are drawn."""


class AuditUnavailableError(TemporaryError):
    """Nothing can be recorded now, so nothing was done.

    `cause`: for the log, the kind of fault and the database's own code, as `OperationalError SQLITE_BUSY` or
    `AdminShutdown 57P01`; its text may quote what was asked and is left out.
    """

    code = ErrorCode.AUDIT_UNAVAILABLE

    def __init__(self, fault: Exception | None = None) -> None:
        super().__init__("the record of this cannot be written now; nothing was done", retry_after_seconds=2)
        self.cause = "" if fault is None else _kind(fault)


def kind_of(error: Exception) -> str:
    """What the log says of an error: its class, or why the database could not be used."""
    return (isinstance(error, AuditUnavailableError) and error.cause) or type(error).__name__


def _kind(fault: Exception) -> str:
    origin = getattr(fault, "orig", None) or fault
    code = getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None)
    return f"{type(origin).__name__} {code or ''}".rstrip()


class Database:
    """One engine. `read` and `write` give connections; leaving `write` without an exception commits.

    `observe`: told `read` or `write`, and the seconds that each transaction took with its waits.
    Args: connections: how many are open at most.
    """

    def __init__(self, url: str, connections: int = _CONNECTIONS) -> None:
        self.engine = _engine(url, connections)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._writing = self.engine.execution_options(privet_writes=True)
        self._one_writer: AbstractContextManager[Any] = threading.Lock() if self.is_sqlite else nullcontext()
        self.observe: Callable[[str, float], None] = _ignore

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that changes nothing.

        Raises: AuditUnavailableError: the database cannot be reached. InputError: a value that no column can hold.
        """
        began = time.perf_counter()
        try:
            with self.engine.connect() as connection:
                yield connection
        except DataError:
            raise _unstorable() from None
        except (OperationalError, InterfaceError, PoolTimeoutError) as fault:
            raise AuditUnavailableError(fault) from None
        finally:
            self.observe("read", time.perf_counter() - began)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that commits at its end, or leaves no trace.

        Raises: AuditUnavailableError: it cannot be written (a violated unique key passes as IntegrityError).
            InputError: a value that no column can hold, whenever it is tried.
        """
        began = time.perf_counter()
        with self._one_writer:
            try:
                with self._writing.begin() as connection:
                    yield connection
            except IntegrityError:
                raise
            except DataError:
                raise _unstorable() from None
            except (DBAPIError, PoolTimeoutError) as fault:
                raise AuditUnavailableError(fault) from None
            finally:
                self.observe("write", time.perf_counter() - began)

    @contextmanager
    def migrating(self, lock: int) -> Iterator[Connection]:
        """A transaction that changes tables, one at a time over all processes; who comes second waits.

        SQLite: foreign keys are checked at the end, because a table that is rebuilt is dropped in between.
        Args: lock: key of a PostgreSQL advisory lock.
        """
        with self._writing.connect() as connection:
            driver = connection.connection.driver_connection
            if self.is_sqlite and driver is not None:
                driver.execute("PRAGMA foreign_keys=OFF")
            try:
                with connection.begin():
                    if not self.is_sqlite:
                        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
                    yield connection
                    if self.is_sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                        raise InternalError("a step of the tables leaves rows that refer to nothing")
            finally:
                if self.is_sqlite and driver is not None:
                    driver.execute("PRAGMA foreign_keys=ON")

    def lock_outbox(self, connection: Connection) -> None:
        """Let ids of the outbox become visible in their order, so that no reader's cursor passes one by.

        PostgreSQL draws ids before commit; held until the commit, this lock keeps a later id from being seen
        first. SQLite has one writer anyway.
        """
        if not self.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_OUTBOX_LOCK})")

    def forget_deleted(self) -> None:
        """SQLite: empty the write-ahead log, so that bytes deleted from the tables are gone from the disk."""
        if self.is_sqlite:
            with self._one_writer, self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def give_back_space(self, *, whole: bool = False) -> None:
        """SQLite: give pages that nothing uses back to the disk.

        `whole`: by writing the file anew, which takes as much room once more and lets writers wait, but also works for
        files that were made before free pages were given back by themselves.
        """
        if self.is_sqlite:
            with self._one_writer, self.engine.connect() as connection:
                driver = connection.connection.driver_connection
                if driver is None:
                    return
                if whole:
                    driver.execute(_RETURN_PAGES)
                driver.execute("VACUUM" if whole else "PRAGMA incremental_vacuum").fetchall()

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _unstorable() -> InputError:
    """Of what was asked: PostgreSQL takes no zero character in a text, and no number beyond its column."""
    return InputError(
        "a text or number is not one that can be stored here", remedy="Leave out control characters."
    )


def _ignore(_kind: str, _seconds: float) -> None:
    """Nobody watches."""


def _engine(url: str, connections: int) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite":
            connections = max(connections, _CONNECTIONS)  # its server is this process
        kept = min(connections, _KEPT_OPEN)
        sizes = {"pool_size": kept, "max_overflow": connections - kept, "pool_timeout": 10}
        is_remote = parsed.get_backend_name() != "sqlite"
        # What was asked is nobody's business in a log that tells of a fault.
        engine = create_engine(parsed, pool_pre_ping=is_remote, hide_parameters=True, **sizes)
    except ModuleNotFoundError:
        raise InputError(
            f"the driver for {parsed.get_backend_name()} is not installed",
            where="database_url",
            remedy="For PostgreSQL: pip install 'privet[postgres]', and postgresql+psycopg://USER@HOST/NAME.",
            number="C010",
        ) from None
    except (ArgumentError, NoSuchModuleError):
        raise InputError(
            "not the URL of a database that can be used",
            where="database_url",
            remedy="Use sqlite:///FILE, or postgresql+psycopg://USER@HOST/NAME with the extra `postgres` installed.",
            number="C010",
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself; _begin_sqlite does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MILLISECONDS}")
    if cursor.execute("PRAGMA page_count").fetchone() == (0,):
        # Only of a file that is made now: even where it is so already, saying it takes the lock for writing.
        cursor.execute(_RETURN_PAGES)
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("privet_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
