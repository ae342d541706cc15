"""The same made-up ward in DuckDB and in PostgreSQL, for what must not depend on the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from hospital_agent.records.source import DataSettings
from tests.support.databases import postgres_database

Fill = Callable[[Callable[[str], object]], None]
"""Makes the table `ward` by statements that it executes."""


def insert(execute: Callable[[str], object], rows: Sequence[Sequence[Any]]) -> None:
    """Put rows of texts, numbers and None into the table."""
    shown = (", ".join("NULL" if field is None else repr(field) for field in row) for row in rows)
    execute(f"INSERT INTO ward VALUES {', '.join(f'({row})' for row in shown)}")


def file_ward(folder: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> DataSettings:
    """The same rows in a file of delimited text."""
    path = folder / "ward.csv"
    lines = [",".join("" if field is None else str(field) for field in row) for row in rows]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return DataSettings(path=path, has_header=True)


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
