"""The door to SQL engines: an Ibis connection for one piece of work, its errors turned into ours.

Ibis is the extra `sql` and is imported only here, when a URL is used. Engines' messages may quote records or
passwords and are never passed on.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hospital_agent.records.source import DataSettings
from hospital_agent.records.sql_spark import SCHEME, spark_connection
from shared.errors import InputError, TemporaryError

MAX_COLUMNS: Final = 800
"""Sums in one query; engines stop between 1000 and 1664 columns."""
_ERROR_ROOTS: Final = (
    ("ibis.common.exceptions", "IbisError"),
    ("ibis.common.exceptions", "TableNotFound"),
    ("sqlglot.errors", "SqlglotError"),
    ("duckdb", "Error"),
    ("psycopg", "Error"),
    ("pyspark.errors", "PySparkException"),
    ("py4j.protocol", "Py4JError"),
)
_OUTAGES: Final = (
    ("duckdb", "IOException"),
    ("psycopg", "OperationalError"),
    ("psycopg", "InterfaceError"),
    ("py4j.protocol", "Py4JNetworkError"),
)
_DUCKDB_OPTIONS: Final = {"autoinstall_known_extensions": False}
"""Nothing is fetched over the network."""
_IN_MEMORY: Final = ("duckdb://", "duckdb://:memory:")
"""No database at all: the query names files, such as `SELECT * FROM read_parquet('/data/*.parquet')`."""


def ibis() -> Any:
    """The Ibis module. Raises: InputError: the extra is not installed."""
    try:
        return importlib.import_module("ibis")
    except ImportError:
        raise InputError(
            "records in a database need the extra `sql`.",
            where="data settings, url",
            remedy='Install it with: pip install "privet[sql]"',
        ) from None


@contextmanager
def opened(settings: DataSettings) -> Iterator[Any]:
    """The Ibis expression of the records, on a connection that is closed afterwards.

    Raises: InputError: no such table, or a query that the engine refuses. TemporaryError: cannot be reached.
    """
    connection = _connect(settings)
    try:
        yield _records(connection, settings)
    except _errors(_OUTAGES) as error:
        raise TemporaryError(f"{place(settings)}: the database went away ({type(error).__name__}).") from None
    except _errors(_ERROR_ROOTS) as error:
        raise InputError(
            f"the database cannot count these records ({type(error).__name__}).",
            where=place(settings),
            remedy="Check the types of the columns, and casts in the query.",
        ) from None
    finally:
        if not _is_spark(settings):  # its session is kept
            connection.disconnect()


def place(settings: DataSettings) -> str:
    """What messages call the records."""
    return "the query of the data settings" if settings.table is None else f"table {settings.table!r}"


def is_engine_error(error: Exception) -> bool:
    """Whether an engine in use says so, of a statement or of its data."""
    return isinstance(error, _errors(_ERROR_ROOTS))


def _connect(settings: DataSettings) -> Any:
    if _is_spark(settings):
        return spark_connection(settings.url or "")
    url = settings.url or ""
    options = _duckdb_options(url) if url.startswith("duckdb:") else {}
    engine = ibis()
    failures: tuple[type[Exception], ...] = (OSError, *_errors(_ERROR_ROOTS))
    try:
        return engine.connect(url, **options)
    except (ImportError, ValueError):
        raise InputError(
            "no engine is installed for this kind of URL.",
            where="data settings, url",
            remedy="Install the Ibis backend of that database, or correct the beginning of the URL.",
        ) from None
    except failures as error:
        raise TemporaryError(
            f"data settings, url: the database cannot be opened ({type(error).__name__}). "
            "See that it runs, and check the URL."
        ) from None


def _is_spark(settings: DataSettings) -> bool:
    return (settings.url or "").startswith(SCHEME)


def _duckdb_options(url: str) -> dict[str, bool]:
    """Nothing is written into the hospital's database; one in memory can only be opened for writing."""
    return _DUCKDB_OPTIONS | ({} if url in _IN_MEMORY else {"read_only": True})


def _records(connection: Any, settings: DataSettings) -> Any:
    try:
        return (
            connection.sql(settings.query) if settings.table is None else _table(connection, settings.table)
        )
    except _errors(_ERROR_ROOTS):
        raise InputError(
            "the database does not know it, or refuses it.",
            where=place(settings),
            remedy="Check its name, or the query, and the rights of the agent's user.",
        ) from None


def _table(connection: Any, name: str) -> Any:
    """`table`, or `schema.table`."""
    schema, _, table = name.rpartition(".")
    return connection.table(table, database=schema or None)


def _errors(names: tuple[tuple[str, str], ...]) -> tuple[type[Exception], ...]:
    """The error classes of those engines that are in use."""
    return tuple(getattr(sys.modules[module], name) for module, name in names if module in sys.modules)
