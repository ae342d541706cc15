"""Mode G with three real processes over the direct transport: time, rounds and bytes by phase, and how they grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log2
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.parties import opened, run_three
from bench.party import PartyResult
from bench.svg import Panel, Series, draw
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, class_words
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio

WIDTH_BITS: Final = 16
CLASSES: Final = 2
BASE_ROWS: Final = 10**4
BASE_COLUMNS: Final = 10
BASE_HEIGHT: Final = 5
ROWS: Final = (10**3, 10**4, 10**5)
COLUMNS: Final = (5, 10, 50)
HEIGHTS: Final = (3, 5, 8)
LONG_ROWS: Final = 10**6
MEGA: Final = 10**6


@dataclass(frozen=True, slots=True)
class PhaseCost:
    """One phase: seconds of the slowest party (computing and waiting), rounds, bytes of all three."""

    seconds: float
    rounds: int
    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Case:
    """One training. CPU seconds and bytes are of all three parties, memory of the largest; `tree_bytes` is checked."""

    rows: int
    columns: int
    height: int
    wall_seconds: float
    cpu_seconds: float
    rounds: int
    sent_bytes: int
    peak_bytes: int
    phases: dict[str, PhaseCost]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One way to grow. `unit_of`: how cost should grow with the size, for the last column."""

    title: str
    unit: str
    cases: tuple[Case, ...]
    sizes: tuple[int, ...]
    shares: tuple[float, ...]


def measure_case(rows: int, columns: int, height: int) -> Case:
    """Train on random records of a planted tree, and hold the opened tree to the plain one.

    Raises: RuntimeError: the trees differ.
    """
    keys, labels = _records(rows, columns)
    rules = {"height": height, "min_node": 10, "min_child": 5}
    binary = {f"column{index}": column.astype(np.uint16) for index, column in enumerate(keys)}
    results = run_three(
        "bench.gain_ratio_program:gain_ratio",
        {"widths": [WIDTH_BITS] * columns, "classes": CLASSES, "rules": rules},
        binary={**binary, "labels": class_words(labels, CLASSES)},
    )
    plan = GainRatioPlan(rows, (WIDTH_BITS,) * columns, CLASSES, GainRatioRules(**rules))
    arrays = [opened(shares) for shares in zip(*(result.value for result in results), strict=True)]
    if layers_of(plan, arrays) != grow_by_gain_ratio(keys, labels, CLASSES, plan.rules):
        raise RuntimeError(f"{rows} rows, {columns} columns, height {height}: not the plain tree")
    return _case(rows, columns, height, results)


def _records(rows: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows + columns)
    keys = rng.integers(0, 2**WIDTH_BITS, (columns, rows)).astype(np.uint32)
    planted = (keys[0] > 30_000) ^ (keys[1] > 40_000)
    return keys, (planted ^ (rng.random(rows) < 0.1)).astype(np.int64)


def _case(rows: int, columns: int, height: int, results: Sequence[PartyResult]) -> Case:
    return Case(
        rows,
        columns,
        height,
        wall_seconds=max(result.wall_seconds for result in results),
        cpu_seconds=sum(result.cpu_seconds for result in results),
        rounds=results[0].rounds,
        sent_bytes=sum(result.sent_bytes for result in results),
        peak_bytes=max(result.peak_bytes for result in results),
        phases={name: _phase(name, results) for name in results[0].costs},
    )


def _phase(name: str, results: Sequence[PartyResult]) -> PhaseCost:
    times = [result.seconds[name] for result in results]
    return PhaseCost(
        max(time.computed + time.waited for time in times),
        results[0].costs[name].rounds,
        sum(result.costs[name].sent_bytes for result in results),
    )


def measure_gain_ratio(*, quick: bool, long: bool = False) -> list[Sweep]:
    """Three sweeps; quick: without the largest sizes; long: also 10^6 rows."""
    rows = ROWS[:-1] if quick else (*ROWS, LONG_ROWS) if long else ROWS
    columns, heights = (COLUMNS[:-1], HEIGHTS[:-1]) if quick else (COLUMNS, HEIGHTS)
    by_rows = tuple(measure_case(n, BASE_COLUMNS, BASE_HEIGHT) for n in rows)
    base = by_rows[rows.index(BASE_ROWS)]
    by_columns = tuple(
        base if m == BASE_COLUMNS else measure_case(BASE_ROWS, m, BASE_HEIGHT) for m in columns
    )
    by_height = tuple(base if h == BASE_HEIGHT else measure_case(BASE_ROWS, BASE_COLUMNS, h) for h in heights)
    return [
        Sweep("Rows", "rows", by_rows, rows, tuple(n * log2(n) for n in rows)),
        Sweep("Attributes", "attributes", by_columns, columns, columns),
        Sweep("Height", "layers", by_height, heights, heights),
    ]


def print_gain_ratio(sweeps: Sequence[Sweep], console: Console) -> None:
    """One table a sweep, and the phases of the largest number of rows."""
    for sweep in sweeps:
        console.print(_table(sweep))
    console.print(_phases(sweeps[0].cases[-1]))


def _table(sweep: Sweep) -> Table:
    what = "row and log2 row" if sweep.unit == "rows" else sweep.unit.rstrip("s")
    table = Table(title=f"Mode G, {sweep.title.lower()}: three processes over the direct transport")
    for name in (sweep.unit, "wall s", "CPU s", "rounds", "MB sent", "peak MB", f"bytes a {what}"):
        table.add_column(name, justify="right")
    for size, share, case in zip(sweep.sizes, sweep.shares, sweep.cases, strict=True):
        table.add_row(
            f"{size:,}",
            f"{case.wall_seconds:.2f}",
            f"{case.cpu_seconds:.2f}",
            f"{case.rounds:,}",
            f"{case.sent_bytes / MEGA:.1f}",
            f"{case.peak_bytes / MEGA:.0f}",
            f"{case.sent_bytes / share:,.0f}",
        )
    return table


def _phases(case: Case) -> Table:
    table = Table(
        title=f"Mode G, {case.rows:,} rows × {case.columns} attributes, height {case.height}: phases"
    )
    for name in ("phase", "wall s", "rounds", "MB sent", "bytes a row"):
        table.add_column(name, justify="left" if name == "phase" else "right")
    for name, cost in case.phases.items():
        table.add_row(
            name,
            f"{cost.seconds:.2f}",
            f"{cost.rounds:,}",
            f"{cost.sent_bytes / MEGA:.1f}",
            f"{cost.sent_bytes / case.rows:,.0f}",
        )
    return table


def figures(sweeps: Sequence[Sweep]) -> list[dict[str, Any]]:
    """For JSON."""
    return [{"title": sweep.title, "cases": [asdict(case) for case in sweep.cases]} for sweep in sweeps]


def plot_gain_ratio(sweeps: Sequence[Sweep]) -> str:
    """CPU seconds and megabytes of all three parties, as one SVG document."""
    return draw(
        [
            Panel(
                f"Mode G: {sweep.title.lower()}",
                sweep.unit,
                "CPU seconds, MB",
                (
                    Series(
                        "CPU s", tuple(zip(sweep.sizes, (c.cpu_seconds for c in sweep.cases), strict=True))
                    ),
                    Series(
                        "MB", tuple(zip(sweep.sizes, (c.sent_bytes / MEGA for c in sweep.cases), strict=True))
                    ),
                ),
            )
            for sweep in sweeps
        ]
    )
