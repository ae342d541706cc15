"""What a contract's numbers, an evaluation and a hold-out cost in a database: told to the engine, and copied as texts.

    make bench BENCH="source-ways"

Both ways must give the same counts. Each is a process of its own, `python -m bench.source_ways URL FOLDER JOB WAY`, so
that its memory can be told, and what it fetched.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.source_program import peak_bytes, watch_answers
from bench.sources import postgres_server
from bench.sources_data import NAMES, fill_postgres, write_files
from hospital_agent.records import DataSettings, open_source
from hospital_agent.records.derived_source import DerivedSource, rows_of
from hospital_agent.records.selecting import Selector
from hospital_agent.records.snapshot import CodedSnapshot
from hospital_agent.records.sql_rows import read_codes
from hospital_agent.records.walking import places_of
from shared.contract.files import contract_of
from shared.contract.schema import schema_of_contract
from shared.protocol.tallies import evaluation_schema
from shared.tree.frontier import NodeQuery
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.schema import Schema
from shared.wire.manifest import ClassSpec
from shared.wire.tally import SelectionSpec

JOBS: Final = ("contract", "evaluation", "hold-out")
WAYS: Final = ("engine", "texts")
_RANGE: Final = {"minimum": "0", "maximum": "4", "missing_codes": ["-9"], "missing_policy": "category"}


def settings_of(url: str) -> DataSettings:
    """The table `records`, its numbers held to a range and a code for missing."""
    numbers = [{"name": name, "kind": "number", "cuts": ["0", "1", "2", "3"]} | _RANGE for name in NAMES]
    target = {"name": "ill", "values": [{"value": "no"}, {"value": "yes"}]}
    contract = contract_of({"name": "bench", "attributes": numbers, "class": target}, "contract")
    return DataSettings(url=url, table="records", contract=contract)


def counted(url: str, folder: Path, job: str, way: str) -> list[int]:
    """Freeze and count the root once."""
    settings, salt = settings_of(url), bytes(16)
    contract = settings.contract
    if contract is None:
        raise SystemExit("the settings have no contract")
    schema, tree = schema_of_contract(contract), Tree(_tree(2))
    selector = Selector(
        SelectionSpec(seed="5e" * 16, parts=10, first=0, last=3, use="test", hash="hmac-sha256"),
        bytes(range(32)),
    )
    if job == "evaluation":
        if way == "engine":
            asked = schema_of_places(tree)
            found = DerivedSource(settings, folder, asked=lambda: (tree, schema)).freeze(asked, salt)
            return found.count(_root(asked))
        records = rows_of(schema, read_codes(schema, settings))
        places = places_of(tree, schema, records)
        return [
            int(((places == place) & (records.classes == label)).sum())
            for place in range(tree.node_count)
            for label in (0, 1)
        ]
    if way == "engine":
        selected = None if job == "contract" else selector
        source = DerivedSource(settings, folder, selected) if selected else open_source(settings, folder)
        return source.freeze(schema, salt).count(_root(schema))
    read = read_codes(schema, settings)
    chosen = read if job == "contract" else selector.take(read, None)
    return CodedSnapshot.write(folder, chosen, schema, salt).count(_root(schema))


def schema_of_places(tree: Tree) -> Schema:
    """The schema of the tree's evaluation."""
    spec = evaluation_schema(ClassSpec(name="ill", labels=["no", "yes"]), tree.node_count)
    return Schema.from_json(spec.model_dump(mode="json", by_alias=True))


def _tree(depth: int) -> Node:
    return Split(depth, tuple(_tree(depth - 1) for _ in range(6))) if depth else Leaf(0)


def _root(schema: Schema) -> list[NodeQuery]:
    return [NodeQuery((), tuple(range(len(schema.attributes))), (0, 1))]


@dataclass(frozen=True, slots=True)
class WayFigure:
    """One job one way. Bytes: of the agent at its peak beyond those when idle; of the answers that it had."""

    engine: str
    rows: int
    job: str
    way: str
    seconds: float
    memory_bytes: int
    fetched_bytes: int


def _measure(engine: str, rows: int, url: str, job: str, way: str) -> tuple[WayFigure, list[int]]:
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as folder:
        command = [sys.executable, "-m", "bench.source_ways", url, folder, job, way]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    told = json.loads(done.stdout.splitlines()[-1])
    figure = WayFigure(engine, rows, job, way, told["seconds"], told["bytes"], told["fetched_bytes"])
    return figure, told["cells"]


def measure_ways(rows: int) -> list[WayFigure]:
    """DuckDB and PostgreSQL, every job both ways. Raises: SystemExit: the ways give different counts."""
    found: list[WayFigure] = []
    with tempfile.TemporaryDirectory(prefix="privet-bench-") as name, postgres_server() as postgres:
        files = write_files(rows, Path(name))
        with importlib.import_module("psycopg").connect(postgres) as connection:
            fill_postgres(connection, files["csv"])
        for engine, url in (("DuckDB", f"duckdb://{files['duckdb']}"), ("PostgreSQL", postgres)):
            for job in JOBS:
                pair = [_measure(engine, rows, url, job, way) for way in WAYS]
                if pair[0][1] != pair[1][1]:
                    raise SystemExit(f"{engine}, {job}: the two ways gave different counts")
                found += [figure for figure, _ in pair]
    return found


def print_ways(figures: list[WayFigure], console: Console) -> None:
    """A table for people."""
    table = Table(
        title="Told to the engine, or copied as texts: 30 numbers under a contract, frozen and counted once"
    )
    for name in ("engine", "rows", "job", "way", "s", "agent's memory MB", "fetched MB"):
        table.add_column(name, justify="left" if name in {"engine", "job", "way"} else "right")
    for one in figures:
        table.add_row(
            one.engine,
            f"{one.rows:,}",
            one.job,
            one.way,
            f"{one.seconds:.1f}",
            f"{one.memory_bytes / 1e6:.0f}",
            f"{one.fetched_bytes / 1e6:.3f}",
        )
    console.print(table)


def main() -> None:
    """One way of one job."""
    warnings.simplefilter("ignore")
    url, folder, job, way = sys.argv[1:]
    fetched = watch_answers()
    idle, begun = peak_bytes(), time.perf_counter()
    cells = counted(url, Path(folder), job, way)
    told = {
        "seconds": time.perf_counter() - begun,
        "bytes": peak_bytes() - idle,
        "fetched_bytes": sum(fetched),
        "cells": cells,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
