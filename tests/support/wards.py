"""The same made-up ward in DuckDB and in PostgreSQL, for what must not depend on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg

from hospital_agent.records.source import DataSettings
from tests.support.databases import postgres_database

Fill = Callable[[Callable[[str], object]], None]
"""Makes the table `ward` by statements that it executes."""


def duck_ward(folder: Path, fill: Fill) -> DataSettings:
    """The table in a file of DuckDB."""
    path = folder / "ward.duckdb"
    with duckdb.connect(str(path)) as connection:
        fill(connection.execute)
    return DataSettings(url=f"duckdb://{path}", table="ward")


@contextmanager
def postgres_ward(server: str, fill: Fill) -> Iterator[DataSettings]:
    """The table in a database of its own on a PostgreSQL server. Args: server: its URL."""
    with postgres_database(server) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            fill(connection.execute)
        yield DataSettings(url=url, table="ward")
