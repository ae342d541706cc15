"""How cost grows: with hospitals, attributes, depth and rows; as a table and as a plot.

CPU seconds of one round. Three sweeps of big numbers at one hospital and at the cloud, all else held at its base; one
sweep of the counting kernel, which alone depends on the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.counting import make_codes, measured, paths_of
from bench.rounds import run_round
from bench.svg import Panel, Series, draw
from hospital_agent.records.counting import count_codes
from shared.crypto.key_holder import KeyHolder
from shared.tree.frontier import NodeQuery
from tests.support.toy_keys import fixed_key

HOSPITALS: Final = (3, 10, 30)
ATTRIBUTES: Final = (5, 20, 50, 100, 200)
DEPTHS: Final = (0, 1, 2, 3, 4, 5, 6)
ROWS: Final = (10**3, 10**4, 10**5, 10**6, 10**7)
BASE_HOSPITALS: Final = 3
BASE_ATTRIBUTES: Final = 20
VALUES: Final = 5
CLASSES: Final = 4
REPEATS: Final = 3
COUNTED_ATTRIBUTES: Final = 30
COUNTED_DEPTH: Final = 6
"""64 open nodes of binary splits."""


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a sweep. `cells`: counts asked in the round. CPU seconds by who spends them."""

    size: int
    cells: int
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True)
class Sweep:
    """One way to grow."""

    title: str
    unit: str
    points: tuple[Point, ...]
    per_row: bool = False

    def panel(self) -> Panel:
        """As a plot."""
        names = list(self.points[0].seconds)
        series = tuple(
            Series(name, tuple((point.size, point.seconds[name]) for point in self.points)) for name in names
        )
        return Panel(self.title, self.unit, "CPU seconds a round", series)

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "unit": self.unit,
            "points": [{"size": p.size, "cells": p.cells, **p.seconds} for p in self.points],
        }


def measure_scaling(key_bits: int, *, quick: bool) -> list[Sweep]:
    """All four sweeps; quick: the largest sizes are left out."""
    cut = -1 if quick else None
    base = BASE_ATTRIBUTES * VALUES * CLASSES
    holder = KeyHolder(fixed_key(key_bits))
    by_hospitals = tuple(_point(holder, n, n, base) for n in HOSPITALS[:cut])
    by_attributes = tuple(_point(holder, n, BASE_HOSPITALS, n * VALUES * CLASSES) for n in ATTRIBUTES[:cut])
    by_nodes = tuple(_point(holder, 2**d, BASE_HOSPITALS, _cells_at(d)) for d in DEPTHS[:cut])
    by_rows = tuple(_counting_point(rows) for rows in ROWS[:cut])
    wide = f"{BASE_ATTRIBUTES} attributes"
    return [
        Sweep(f"Hospitals ({base} cells)", "hospitals", by_hospitals),
        Sweep(f"Attributes ({VALUES} values, {CLASSES} classes)", "attributes", by_attributes),
        Sweep(f"Depth ({wide}, binary)", "open nodes = 2 ^ depth", by_nodes),
        Sweep(
            f"Rows ({COUNTED_ATTRIBUTES} attributes, 64 nodes)", "rows of one hospital", by_rows, per_row=True
        ),
    ]


def _cells_at(depth: int) -> int:
    """All cells of the 2^depth open nodes of binary attributes; each path has used up `depth` of them."""
    return (1 << depth) * (BASE_ATTRIBUTES - depth) * 2 * CLASSES


def _point(holder: KeyHolder, size: int, hospitals: int, cells: int) -> Point:
    played = [run_round(holder, hospitals, cells)[0] for _ in range(REPEATS)]
    return Point(
        size,
        cells,
        {
            "a hospital": median(costs.hospital.cpu for costs in played),
            "the cloud": median(costs.add.cpu for costs in played),
        },
    )


def _counting_point(rows: int) -> Point:
    codes = make_codes(rows, COUNTED_ATTRIBUTES, VALUES, CLASSES, COUNTED_DEPTH, 2)
    every, labels = tuple(range(COUNTED_ATTRIBUTES)), tuple(range(CLASSES))
    paths = paths_of(COUNTED_DEPTH, 2, COUNTED_ATTRIBUTES)
    queries = [NodeQuery(path, every, labels) for path in paths]
    sizes = [VALUES] * COUNTED_ATTRIBUTES
    cpu, _ = measured(lambda: count_codes(codes, sizes, CLASSES, queries), 1 if rows > 10**6 else REPEATS)
    cells = len(queries) * COUNTED_ATTRIBUTES * VALUES * CLASSES
    return Point(rows, cells, {"counting": cpu})


def print_scaling(sweeps: Sequence[Sweep], console: Console) -> None:
    """One table a sweep."""
    for sweep in sweeps:
        console.print(_table(sweep))


def _table(sweep: Sweep) -> Table:
    names = list(sweep.points[0].seconds)
    share, scale = ("ns a row", 1e9) if sweep.per_row else ("µs a cell", 1e6)
    table = Table(title=f"{sweep.title}: CPU seconds a round")
    for name in (sweep.unit, "cells", *names, *(f"{name}, {share}" for name in names)):
        table.add_column(name, justify="right")
    for point in sweep.points:
        over = point.size if sweep.per_row else point.cells
        seconds = [f"{point.seconds[name]:.4f}" for name in names]
        each = [f"{point.seconds[name] / over * scale:.1f}" for name in names]
        table.add_row(f"{point.size:,}", f"{point.cells:,}", *seconds, *each)
    return table


def plot(sweeps: Sequence[Sweep]) -> str:
    """The sweeps as one SVG document."""
    return draw([sweep.panel() for sweep in sweeps])
