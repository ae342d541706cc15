"""Counting one level of open nodes: ours, plain numpy histograms, DuckDB's GROUP BY; CPU seconds and ratios.

The two rivals are given each row's node for nothing, ours has to find it. All three must give the same counts.

    python -m bench.counting                             a quick run
    python -m bench.counting --rows 10000000 --depth 6   the target of the main job: ratio at most 2
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Sequence

import duckdb
import numpy as np
from numpy.typing import NDArray

from hospital_agent.records.counting import count_codes
from shared.tree.frontier import NodeQuery
from shared.tree.paths import NodePath, path_order

Codes = NDArray[np.uint8]
Histograms = list[NDArray[np.int64]]
BLOCKS = (1 << 14, 1 << 15, 1 << 16, 1 << 17)


def paths_of(depth: int, branches: int, attributes: int) -> list[NodePath]:
    """All `branches ** depth` nodes of a tree in which neighbours split on different attributes."""
    per_level = min(2, attributes // depth)
    paths = []
    for values in itertools.product(range(branches), repeat=depth):
        tested = [level * per_level + sum(values[:level]) % per_level for level in range(depth)]
        paths.append(tuple(zip(tested, values, strict=True)))
    return sorted(paths, key=path_order)


def make_codes(rows: int, attributes: int, values: int, classes: int, depth: int, branches: int) -> Codes:
    """Uniform codes; the attributes that the tree tests use `branches` values, so that every row is in some node."""
    generator = np.random.default_rng(1)
    codes = np.empty((attributes + 1, rows), dtype=np.uint8)
    tested = depth * min(2, attributes // depth)
    for index in range(attributes):
        codes[index] = generator.integers(0, branches if index < tested else values, rows, dtype=np.uint8)
    codes[-1] = generator.integers(0, classes, rows, dtype=np.uint8)
    return codes


def nodes_of(codes: Codes, paths: Sequence[NodePath]) -> NDArray[np.int64]:
    """Index of each row's node."""
    nodes = np.full(codes.shape[1], -1, dtype=np.int64)
    for index, path in enumerate(paths):
        inside = np.ones(codes.shape[1], dtype=bool)
        for attribute, value in path:
            inside &= codes[attribute] == value
        nodes[inside] = index
    return nodes


def plain_numpy(codes: Codes, nodes: NDArray[np.int64], values: int, classes: int, block: int) -> Histograms:
    """One histogram of (node, class, value) an attribute and block."""
    cells = (int(nodes.max()) + 1) * classes * values
    found: Histograms = [np.zeros(cells, dtype=np.int64) for _ in codes[:-1]]
    for low in range(0, nodes.size, block):
        base = (nodes[low : low + block] * classes + codes[-1, low : low + block]) * values
        for column, histogram in zip(codes[:-1], found, strict=True):
            histogram += np.bincount(base + column[low : low + block], minlength=cells)
    return found


def group_by(table: duckdb.DuckDBPyConnection, attributes: int) -> list[list[tuple[int, ...]]]:
    """One GROUP BY an attribute."""
    return [
        table.execute(f"SELECT node, label, a{index}, count(*) FROM rows GROUP BY ALL").fetchall()
        for index in range(attributes)
    ]


def measured(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Best (CPU seconds of the process, wall seconds)."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(cpu for cpu, _ in times), min(wall for _, wall in times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (
        ("rows", 1_000_000),
        ("attributes", 30),
        ("values", 5),
        ("classes", 2),
        ("repeats", 3),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--depth", type=int, default=3, choices=(2, 3, 6), help="of the 64 open nodes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures = measure_counting(
        options.rows, options.attributes, options.values, options.classes, options.depth, options.repeats
    )
    report(figures, as_json=options.json)


def measure_counting(
    rows: int, attributes: int, values: int, classes: int, depth: int, repeats: int
) -> dict[str, tuple[float, float]]:
    """Best (CPU, wall) seconds of each way to count 64 open nodes. `depth`: 2, 3 or 6 splits above them."""
    branches = {2: 8, 3: 4, 6: 2}[depth]
    values = max(values, branches)
    paths = paths_of(depth, branches, attributes)
    codes = make_codes(rows, attributes, values, classes, depth, branches)
    nodes = nodes_of(codes, paths)
    every = tuple(range(attributes))
    queries = [NodeQuery(path, every, tuple(range(classes))) for path in paths]
    sizes = [values] * attributes

    def ours(threads: int) -> list[int]:
        return count_codes(codes, sizes, classes, queries, threads=threads)

    def plain(block: int) -> tuple[float, float]:
        return measured(lambda: plain_numpy(codes, nodes, values, classes, block), repeats)

    check(ours(2), plain_numpy(codes, nodes, values, classes, BLOCKS[-1]), len(paths), classes)
    return {
        "ours, 1 thread": measured(lambda: ours(1), repeats),
        "ours, 2 threads": measured(lambda: ours(2), repeats),
        "plain numpy": min(plain(block) for block in BLOCKS),
        "DuckDB GROUP BY": duckdb_time(codes, nodes, attributes),
    }


def check(cells: list[int], histograms: Histograms, nodes: int, classes: int) -> None:
    """Raises SystemExit when the kernel and the plain histograms differ."""
    tables = [histogram.reshape(nodes, classes, -1).transpose(0, 2, 1) for histogram in histograms]
    if cells != np.stack(tables, axis=1).ravel().tolist():
        raise SystemExit("the kernel and the plain histograms differ")


def duckdb_time(codes: Codes, nodes: NDArray[np.int64], attributes: int) -> tuple[float, float]:
    """One run; the table is in DuckDB's memory beforehand."""
    columns = {f"a{index}": codes[index] for index in range(attributes)}
    columns |= {"label": codes[-1], "node": nodes.astype(np.uint8)}
    with duckdb.connect() as engine:
        engine.register("given", columns)
        engine.execute("CREATE TABLE rows AS SELECT * FROM given")
        return measured(lambda: group_by(engine, attributes), 1)


def report(figures: dict[str, tuple[float, float]], *, as_json: bool) -> None:
    """A table, or one JSON document."""
    floor = figures["plain numpy"][0]
    if as_json:
        rows = {
            name: {"cpu": cpu, "wall": wall, "ratio": cpu / floor} for name, (cpu, wall) in figures.items()
        }
        print(json.dumps(rows))
        return
    print(f"{'way':18} {'CPU s':>8} {'wall s':>8} {'CPU / plain numpy':>18}")
    for name, (cpu, wall) in figures.items():
        print(f"{name:18} {cpu:8.3f} {wall:8.3f} {cpu / floor:18.2f}")


if __name__ == "__main__":
    main()
