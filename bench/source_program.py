"""One source frozen and counted in a process of its own, so that its memory can be told: prints one JSON line.

    python -m bench.source_program PATH_OR_URL TABLE_OR_QUERY FOLDER

An empty second argument means that the first is a file.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

from bench.sources_data import ATTRIBUTES, schema
from hospital_agent.records import DataSettings, open_source
from shared.tree.frontier import NodeQuery


def peak_bytes() -> int:
    """The most memory that this process ever had resident, shared anonymous memory included."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


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
    place, words, folder = sys.argv[1:]
    idle = peak_bytes()
    begun = time.perf_counter()
    snapshot = open_source(settings_of(place, words), Path(folder)).freeze(schema(), bytes(16))
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
                "cells": [sum(root), sum(level), *root[:6], *level[:6]],
            }
        )
    )


if __name__ == "__main__":
    main()
