"""One source frozen and counted in a process of its own, so that its memory can be told: prints one JSON line.

    python -m bench.source_program PATH_OR_URL TABLE_OR_QUERY FOLDER [held-out]

An empty second argument means that the first is a file. With the last one three of ten parts are counted.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.sources_data import ATTRIBUTES, schema
from hospital_agent.records import DataSettings, RecordSource, open_source
from hospital_agent.records.derived_source import DerivedSource
from hospital_agent.records.selecting import KEY_BYTES, Selector
from shared.tree.frontier import NodeQuery
from shared.wire.tally import SelectionSpec

HELD_OUT = SelectionSpec(seed="5e" * 16, parts=10, first=0, last=3, use="test", hash="hmac-sha256")


def peak_bytes() -> int:
    """The most memory that this process ever had resident, shared anonymous memory included."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def watch_answers() -> list[int]:
    """Notes from now on the bytes of every answer that an engine gives this process."""
    answers: list[int] = []
    kind: Any = importlib.import_module("ibis").expr.types.Table
    whole, in_runs = kind.to_pyarrow, kind.to_pyarrow_batches

    def to_pyarrow(table: Any, **how: Any) -> Any:
        found = whole(table, **how)
        answers.append(found.nbytes)
        return found

    def to_pyarrow_batches(table: Any, **how: Any) -> Iterator[Any]:
        for run in in_runs(table, **how):
            answers.append(run.nbytes)
            yield run

    kind.to_pyarrow, kind.to_pyarrow_batches = to_pyarrow, to_pyarrow_batches
    return answers


def settings_of(place: str, words: str) -> DataSettings:
    """A file, or a database with a table or a query."""
    if not words:
        return DataSettings(path=Path(place))
    if " " in words:
        return DataSettings(url=place, query=words)
    return DataSettings(url=place, table=words)


def main() -> None:
    """Freeze, count the root and a level of 16 nodes, and tell."""
    warnings.simplefilter("ignore")
    place, words, folder, *part = sys.argv[1:]
    settings, fetched = settings_of(place, words), watch_answers()
    idle = peak_bytes()
    begun = time.perf_counter()
    source: RecordSource = open_source(settings, Path(folder))
    if part:
        source = DerivedSource(settings, Path(folder), Selector(HELD_OUT, bytes(range(KEY_BYTES))))
    snapshot = source.freeze(schema(), bytes(16))
    frozen = time.perf_counter()
    every = tuple(range(ATTRIBUTES))
    root = snapshot.count([NodeQuery((), every, (0, 1))])
    rooted = time.perf_counter()
    paths = [((0, first), (1, second)) for first in range(4) for second in range(4)]
    level = snapshot.count([NodeQuery(path, every[2:], (0, 1)) for path in paths])
    done = time.perf_counter()
    print(
        json.dumps(
            {
                "rows": snapshot.row_count,
                "freeze_seconds": frozen - begun,
                "root_seconds": rooted - frozen,
                "level_seconds": done - rooted,
                "idle_bytes": idle,
                "peak_bytes": peak_bytes(),
                "fetched_bytes": sum(fetched),
                "cells": [sum(root), sum(level), *root[:6], *level[:6]],
            }
        )
    )


if __name__ == "__main__":
    main()
