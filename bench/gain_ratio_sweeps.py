"""`python -m bench gain-ratio`: mode G along rows, columns and height, how it grows, as tables, plot and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.gain_ratio import CLASSES, Case, Figure, measure_case
from bench.mpc_fits import Fit, Law, linear, n_log_n
from bench.svg import Panel, Series, draw
from shared.mpc.local import run_local
from shared.mpc.ring import U8, U16
from shared.mpc.sharing import split_binary
from shared.rng import random_bytes
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.tree.gain_ratio_growing import GainRatioRules

COLUMNS: Final = 10
HEIGHT: Final = 5
CENTRE: Final = Case(10**4, COLUMNS, HEIGHT)

ROWS: Final = (10**3, 3 * 10**3, 10**4, 3 * 10**4, 10**5)
LONG_ROWS: Final = (*ROWS, 3 * 10**5, 10**6)
QUICK_ROWS: Final = (10**3, 2 * 10**3, 4 * 10**3)
BY_COLUMNS: Final = (5, 10, 20, 50)
BY_HEIGHT: Final = (3, 4, 5, 6, 8)
LONG_CASES: Final = (Case(10**5, 50, HEIGHT), Case(10**5, COLUMNS, 8))
ROUND_COLUMNS: Final = (1, 2, 4, 5, 8, 10, 16, 32, 50, 64)
_ROUND_ROWS: Final = 64
_ROUND_HEIGHT: Final = 2


@dataclass(frozen=True, slots=True)
class Sweep:
    """Cases that differ in one size."""

    title: str
    unit: str
    laws: tuple[Law, ...]
    size: Callable[[Case], int]
    figures: tuple[Figure, ...]

    def points(self, value: Callable[[Figure], float]) -> list[tuple[float, float]]:
        """(size, value) of every case."""
        return [(self.size(figure.case), value(figure)) for figure in self.figures]

    def fits(self) -> dict[str, list[Fit]]:
        """By what is measured, with its unit, each law."""
        measured: dict[str, Callable[[Figure], float]] = {
            "s": lambda figure: figure.seconds,
            "CPU s a party": lambda figure: figure.cpu_seconds,
            "MB": lambda figure: figure.sent / 1e6,
        }
        return {
            unit: [Fit.of(law, self.points(value)) for law in self.laws] for unit, value in measured.items()
        }

    def panel(self) -> Panel:
        """Time, floor and the law of the time that fits best."""
        fit = min(self.fits()["s"], key=lambda each: each.worst)
        series = (
            Series("measured", tuple(self.points(lambda figure: figure.seconds))),
            Series("floor", tuple(self.points(lambda figure: figure.floor_seconds))),
            Series("fit", tuple((x, fit.at(x)) for x, _ in self.points(lambda figure: figure.seconds))),
        )
        return Panel(self.title, self.unit, "seconds", series)


@dataclass(frozen=True, slots=True)
class ColumnRounds:
    """Rounds of one layer: of the attribute maximum, and of all else."""

    columns: int
    maximum: int
    rest: int


@dataclass(frozen=True, slots=True)
class GainRatioFigures:
    """All that was measured. `extra`: cases that belong to no sweep."""

    sweeps: tuple[Sweep, ...]
    extra: tuple[Figure, ...]
    rounds: tuple[ColumnRounds, ...]

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sweeps": [
                {
                    "title": sweep.title,
                    "fits": {unit: [fit.figures() for fit in fits] for unit, fits in sweep.fits().items()},
                    "cases": [figure.figures() for figure in sweep.figures],
                }
                for sweep in self.sweeps
            ],
            "extra": [figure.figures() for figure in self.extra],
            "rounds_a_layer": [
                {"columns": each.columns, "attribute maximum": each.maximum, "rest": each.rest}
                for each in self.rounds
            ],
        }

    def plot(self) -> str:
        """As one SVG document: the sweeps, and memory by rows."""
        rows = self.sweeps[0]
        memory = Series("measured", tuple(rows.points(lambda figure: figure.peak_bytes / 1e6)))
        panels = [sweep.panel() for sweep in self.sweeps]
        return draw([*panels, Panel("Memory of a party", rows.unit, "megabytes", (memory,))])


def measure_gain_ratio(*, quick: bool, long: bool) -> GainRatioFigures:
    """All sweeps through the centre; quick: one of rows alone, small; long: with the largest cases."""
    measured: dict[Case, Figure] = {}

    def figures(cases: Iterable[Case]) -> tuple[Figure, ...]:
        for case in cases:
            if case not in measured:
                measured[case] = measure_case(case)
        return tuple(measured[case] for case in cases)

    rows = LONG_ROWS if long else QUICK_ROWS if quick else ROWS
    by_rows = figures([Case(n, COLUMNS, HEIGHT) for n in rows])
    around = f"{COLUMNS} columns, height {HEIGHT}"
    sweeps = [Sweep(f"Rows ({around})", "rows", (linear, n_log_n), lambda case: case.records, by_rows)]
    if not quick:
        by_columns = figures([Case(CENTRE.records, m, HEIGHT) for m in BY_COLUMNS])
        by_height = figures([Case(CENTRE.records, COLUMNS, h) for h in BY_HEIGHT])
        sweeps += [
            Sweep("Columns (10⁴ rows)", "columns", (linear,), lambda case: case.columns, by_columns),
            Sweep("Height (10⁴ rows)", "height", (linear,), lambda case: case.height, by_height),
        ]
    extra = figures(LONG_CASES) if long else ()
    columns = ROUND_COLUMNS[:4] if quick else ROUND_COLUMNS
    return GainRatioFigures(tuple(sweeps), extra, tuple(rounds_of(m) for m in columns))


def rounds_of(columns: int) -> ColumnRounds:
    """Rounds of one layer for so many columns, all three parties in this process: a look at the first of two layers."""
    plan = GainRatioPlan(_ROUND_ROWS, (8,) * columns, CLASSES, GainRatioRules(height=_ROUND_HEIGHT))
    keys = [split_binary(np.zeros(_ROUND_ROWS, U16), random_bytes) for _ in range(columns)]
    labels = split_binary(np.zeros(_ROUND_ROWS, U8), random_bytes)
    run = run_local(
        lambda party: secret_gain_ratio(
            party, SharedRows(tuple(key[party.index] for key in keys), labels[party.index]), plan
        ),
        random_bytes,
    )
    rounds = {name: cost.rounds for name, cost in run.meters[0].by_phase.items()}
    maximum = rounds.pop("attribute maximum") // _ROUND_HEIGHT
    layered = sum(count for name, count in rounds.items() if name not in ("sort", "labels"))
    return ColumnRounds(columns, maximum, layered // _ROUND_HEIGHT)


def print_gain_ratio(found: GainRatioFigures, console: Console) -> None:
    """Every case, the phases of the centre and of the largest, the laws of growth, the rounds."""
    figures = {str(figure.case): figure for sweep in found.sweeps for figure in sweep.figures}
    figures |= {str(figure.case): figure for figure in found.extra}
    console.print(_cases_table(list(figures.values())))
    shown = {str(CENTRE), str(max((f.case for f in figures.values()), key=_volume))} & figures.keys()
    for name in sorted(shown or figures):
        console.print(_phases_table(figures[name]))
    for sweep in found.sweeps:
        console.print(f"{sweep.title}:")
        for unit, fits in sweep.fits().items():
            for fit in fits:
                console.print(f"  {fit.describe(unit)}")
    console.print(_rounds_table(found.rounds))


def _volume(case: Case) -> int:
    return case.records * case.columns * case.height


def _cases_table(figures: Sequence[Figure]) -> Table:
    table = Table(title="Mode G, three processes: time, memory, traffic")
    for heading in (
        "rows x columns",
        "seconds",
        "floor",
        "ratio",
        "CPU s a party",
        "CPU ratio",
        "MB a party",
        "MB sent, all",
        "rounds",
    ):
        table.add_column(heading, justify="left" if heading == "rows x columns" else "right")
    for figure in figures:
        table.add_row(
            str(figure.case),
            f"{figure.seconds:.2f}",
            f"{figure.floor_seconds:.2f}",
            f"{figure.over_floor:.2f}",
            f"{figure.cpu_seconds:.2f}",
            f"{figure.cpu_over_floor:.2f}",
            f"{figure.peak_bytes / 1e6:.0f}",
            f"{figure.sent / 1e6:.1f}",
            f"{figure.rounds}",
        )
    return table


def _phases_table(figure: Figure) -> Table:
    table = Table(title=f"Phases of {figure.case}")
    for heading in (
        "phase",
        "seconds",
        "computed",
        "waited",
        "floor",
        "ratio",
        "rounds",
        "MB sent, all",
        "MB, formula",
    ):
        table.add_column(heading, justify="left" if heading == "phase" else "right")
    for name, phase in figure.phases.items():
        table.add_row(
            name,
            f"{phase.seconds:.2f}",
            f"{phase.computed:.2f}",
            f"{phase.waited:.2f}",
            f"{phase.floor_seconds:.3f}",
            f"{phase.seconds / phase.floor_seconds:.1f}",
            f"{phase.rounds}",
            f"{phase.sent / 1e6:.2f}",
            f"{phase.floor_sent / 1e6:.2f}",
        )
    table.caption = "floor, CPU s of all parties: " + ", ".join(
        f"{name} {seconds:.2f}" for name, seconds in figure.floor_cpu.items()
    )
    return table


def _rounds_table(rounds: Sequence[ColumnRounds]) -> Table:
    table = Table(title=f"Rounds of a layer by columns ({_ROUND_ROWS} rows)")
    for heading in ("columns", "attribute maximum", "all else"):
        table.add_column(heading, justify="right")
    for each in rounds:
        table.add_row(str(each.columns), str(each.maximum), str(each.rest))
    return table
