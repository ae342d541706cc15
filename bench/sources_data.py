"""Made-up records of 30 attributes with five values each, as Parquet, CSV, a DuckDB database and a PostgreSQL table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from shared.tree.schema import Attribute, Schema

ATTRIBUTES = 30
VALUES = 5
NAMES = [f"a{index}" for index in range(ATTRIBUTES)]


def schema() -> Schema:
    """The schema of the records."""
    values = tuple(map(str, range(VALUES)))
    return Schema.create([Attribute(name, values) for name in NAMES], "ill", ["no", "yes"])


def write_files(rows: int, folder: Path) -> dict[str, Path]:
    """The records as files, each kind once."""
    columns = ", ".join(
        f"(hash(i * 31 + {index}) % {VALUES})::TINYINT AS {name}" for index, name in enumerate(NAMES)
    )
    source = f"SELECT {columns}, CASE WHEN hash(i * 7) % 10 < 3 THEN 'yes' ELSE 'no' END AS ill FROM range({rows}) t(i)"
    files = {kind: folder / f"records.{kind}" for kind in ("parquet", "csv", "duckdb")}
    with duckdb.connect(str(files["duckdb"])) as engine:
        engine.execute("SET enable_progress_bar = false")
        engine.execute(f"CREATE TABLE records AS {source}")
        engine.execute(f"COPY records TO '{files['parquet']}'")
        engine.execute(f"COPY records TO '{files['csv']}' (HEADER)")
    return files


def fill_postgres(connection: Any, csv: Path) -> None:
    """The records of a CSV file as the table `records`."""
    columns = ", ".join(f"{name} SMALLINT" for name in NAMES)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE UNLOGGED TABLE records ({columns}, ill TEXT)")
        with csv.open("rb") as stream, cursor.copy("COPY records FROM STDIN (FORMAT csv, HEADER)") as copy:
            while chunk := stream.read(1 << 20):
                copy.write(chunk)
    connection.commit()
