"""`python -m bench mpc-primitives`: what each primitive of the engine costs, three real processes, beside MPyC's.

Peers' figures that were measured elsewhere stand in docs/performance.md as quoted; a ratio is printed only against
what ran in the same minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.mpc_primitive_programs import plain_inputs, primitives
from bench.parties import run_three

SIZES: Final = (10**6, 10**5)
QUICK_SIZES: Final = (10**4, 10**3)
"""Elements of the cheap primitives, and of those that move or look up."""
REPEATS: Final = 5
COMPARISONS: Final = 1000
QUICK_COMPARISONS: Final = 20
"""That MPyC makes; it takes milliseconds for one."""
COUNTERPARTS: Final = {
    "multiply": "multiply, 64 bit",
    "less than": "less than, 64 bit",
    "equal": "equal, 64 bit",
}


@dataclass(frozen=True, slots=True)
class PrimitiveFigure:
    """One primitive; times of the slowest party, CPU of the mean one. sent: bytes an element, all parties."""

    name: str
    elements: int
    wall_nanoseconds: float
    cpu_nanoseconds: float
    sent: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """MPyC on one operation, an element; how many times ours is as fast."""

    name: str
    elements: int
    wall_nanoseconds: float
    cpu_nanoseconds: float
    ratio: float
    cpu_ratio: float


@dataclass(frozen=True, slots=True)
class PrimitiveFigures:
    """All of them."""

    ours: tuple[PrimitiveFigure, ...]
    mpyc: tuple[Baseline, ...]

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measure_mpc_primitives(*, quick: bool) -> PrimitiveFigures:
    """Ours, then MPyC's."""
    ours = measure_ours(*(QUICK_SIZES if quick else SIZES))
    return PrimitiveFigures(ours, measure_mpyc(ours, QUICK_COMPARISONS if quick else COMPARISONS))


def measure_ours(large: int, small: int, repeats: int = REPEATS) -> tuple[PrimitiveFigure, ...]:
    """Three processes run all primitives one after the other."""
    shares, binary = plain_inputs(large, small)
    arguments = {"large": large, "small": small, "repeats": repeats}
    results = run_three("bench.mpc_primitive_programs:time_all", arguments, shares=shares, binary=binary)
    figures = []
    for primitive in primitives(large, small):
        name, elements = primitive.name, primitive.elements or primitive.size
        runs = [result.value[name] for result in results]
        costs = [result.costs[name] for result in results]
        times = runs[0][2]
        figures.append(
            PrimitiveFigure(
                name,
                elements,
                max(wall for wall, _, _ in runs) / elements * 1e9,
                sum(cpu for _, cpu, _ in runs) / len(runs) / elements * 1e9,
                sum(cost.sent_bytes for cost in costs) / times / elements,
                costs[0].rounds // times,
            )
        )
    return tuple(figures)


def measure_mpyc(ours: Sequence[PrimitiveFigure], comparisons: int) -> tuple[Baseline, ...]:
    """Three processes that MPyC starts itself, over TCP on loopback."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result")
        script = Path(__file__).with_name("mpyc_primitives.py")
        subprocess.run(
            [sys.executable, str(script), "-M3", str(result), str(comparisons)],
            check=True,
            capture_output=True,
            timeout=600,
        )
        parties = [json.loads(Path(f"{result}.{party}").read_text(encoding="utf-8")) for party in range(3)]
    by_name = {figure.name: figure for figure in ours}
    return tuple(_baseline(name, parties, by_name[ours_name]) for name, ours_name in COUNTERPARTS.items())


def _baseline(name: str, parties: Sequence[dict[str, Any]], ours: PrimitiveFigure) -> Baseline:
    spent = [party[name] for party in parties]
    elements = spent[0]["elements"]
    wall = max(one["wall_seconds"] for one in spent) / elements * 1e9
    cpu = sum(one["cpu_seconds"] for one in spent) / len(spent) / elements * 1e9
    return Baseline(name, elements, wall, cpu, wall / ours.wall_nanoseconds, cpu / ours.cpu_nanoseconds)


def print_mpc_primitives(found: PrimitiveFigures, console: Console) -> None:
    """As tables."""
    table = Table(title="The engine's primitives, three processes")
    for heading in ("primitive", "elements", "ns an element", "CPU ns a party", "bytes, all", "rounds"):
        table.add_column(heading, justify="left" if heading == "primitive" else "right")
    for figure in found.ours:
        table.add_row(
            figure.name,
            f"{figure.elements:,}",
            f"{figure.wall_nanoseconds:,.1f}",
            f"{figure.cpu_nanoseconds:,.1f}",
            f"{figure.sent:,.3f}",
            f"{figure.rounds}",
        )
    console.print(table)
    beside = Table(title="MPyC 0.11, secure arrays of 64-bit integers, three processes, same run")
    for heading in ("operation", "elements", "ns an element", "CPU ns a party", "ours as fast", "by CPU"):
        beside.add_column(heading, justify="left" if heading == "operation" else "right")
    for each in found.mpyc:
        beside.add_row(
            each.name,
            f"{each.elements:,}",
            f"{each.wall_nanoseconds:,.0f}",
            f"{each.cpu_nanoseconds:,.0f}",
            f"{each.ratio:,.0f} times",
            f"{each.cpu_ratio:,.0f} times",
        )
    console.print(beside)
