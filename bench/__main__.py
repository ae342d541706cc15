"""`python -m bench`: every figure that docs/performance.md quotes, in one run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from bench.counting import measure_counting
from bench.gain_ratio_sweeps import measure_gain_ratio, print_gain_ratio
from bench.level import CELLS, QUICK_CELLS, measure_level, print_level
from bench.machine import describe_machine
from bench.mpc_id3 import figures as id3_figures
from bench.mpc_id3 import measure_id3, print_id3
from bench.mpc_primitives import measure_mpc_primitives, print_mpc_primitives
from bench.ppsdt import compare, print_comparison
from bench.primitives import PrimitiveCosts, measure_primitives, print_table
from bench.relay import measure_relay, print_relay
from bench.scaling import measure_scaling, plot, print_scaling
from bench.source_ways import measure_ways, print_ways
from bench.sources import figures_of, measure_sources, print_sources
from shared.crypto.paillier import KEY_BITS

WIDTH: Final = 118
COUNTED_ROWS: Final = 10**7
QUICK_COUNTED_ROWS: Final = 10**6
PLOT_FILE: Final = Path(".bench/scaling.svg")
MPC_PLOT_FILE: Final = Path(".bench/mpc-scaling.svg")


class Part(StrEnum):
    """What to measure."""

    PRIMITIVES = "primitives"
    PPSDT = "ppsdt"
    LEVEL = "level"
    SCALING = "scaling"
    COUNTING = "counting"
    SOURCES = "sources"
    SOURCE_WAYS = "source-ways"
    RELAY = "relay"
    MPC_PRIMITIVES = "mpc-primitives"
    ID3 = "id3"
    GAIN_RATIO = "gain-ratio"
    PREDICT = "predict"
    LOAD = "load"
    ALL = "all"


@dataclass(slots=True)
class Bench:
    """One run: what was asked, what was found. Primitives are measured once for each key size."""

    key_bits: tuple[int, ...]
    quick: bool
    long: bool
    soak: bool
    svg: Path
    mpc_svg: Path
    console: Console = field(default_factory=lambda: Console(width=WIDTH, highlight=False))
    found: dict[str, Any] = field(default_factory=dict)
    _primitives: dict[int, PrimitiveCosts] = field(default_factory=dict)

    def primitives_at(self, bits: int) -> PrimitiveCosts:
        """The primitives' costs at a key size."""
        if bits not in self._primitives:
            self._primitives[bits] = measure_primitives(bits)
        return self._primitives[bits]

    def primitives(self) -> None:
        """What one operation costs."""
        costs = [self.primitives_at(bits) for bits in self.key_bits]
        print_table(costs, self.console)
        self.found["primitives"] = [asdict(cost) for cost in costs]

    def ppsdt(self) -> None:
        """The published protocol, plain and in both profiles."""
        self.found["ppsdt"] = []
        for bits in self.key_bits:
            made = compare(self.primitives_at(bits), quick=self.quick)
            print_comparison(made, self.console)
            self.found["ppsdt"].append(made.figures())

    def level(self) -> None:
        """One large level, at the smallest key size asked for."""
        made = measure_level(self.primitives_at(min(self.key_bits)), QUICK_CELLS if self.quick else CELLS)
        print_level(made, self.console)
        self.found["level"] = made.figures()

    def scaling(self) -> None:
        """How cost grows."""
        sweeps = measure_scaling(min(self.key_bits), quick=self.quick)
        print_scaling(sweeps, self.console)
        self._draw(self.svg, plot(sweeps))
        self.found["scaling"] = [sweep.figures() for sweep in sweeps]

    def counting(self) -> None:
        """The counting of one level of 64 open nodes over 30 attributes."""
        rows = QUICK_COUNTED_ROWS if self.quick else COUNTED_ROWS
        figures = measure_counting(rows, 30, 5, 2, 6, 1 if self.quick else 2)
        floor = figures["plain numpy"][0]
        table = Table(title=f"Counting 64 open nodes, 30 attributes, {rows:,} rows")
        for name in ("way", "CPU s", "wall s", "CPU over plain numpy"):
            table.add_column(name, justify="left" if name == "way" else "right")
        for name, (cpu, wall) in figures.items():
            table.add_row(name, f"{cpu:.3f}", f"{wall:.3f}", f"{cpu / floor:.2f}")
        self.console.print(table)
        self.found["counting"] = {"rows": rows, "cpu_and_wall_seconds": figures}

    def sources(self) -> None:
        """Files and databases, counted where they are."""
        found = measure_sources(*((10**5, 10**4) if self.quick else (COUNTED_ROWS, QUICK_COUNTED_ROWS)))
        print_sources(found, self.console)
        self.found["sources"] = figures_of(found)

    def source_ways(self) -> None:
        """A contract's numbers, an evaluation and a hold-out, told to a database and from a copy."""
        found = measure_ways(10**4 if self.quick else QUICK_COUNTED_ROWS)
        print_ways(found, self.console)
        self.found["source_ways"] = [asdict(figure) for figure in found]

    def relay(self) -> None:
        """Frames of three parties, directly and through the cloud."""
        figures = measure_relay(quick=self.quick)
        print_relay(figures, self.console)
        self.found["relay"] = [asdict(figure) for figure in figures]

    def id3(self) -> None:
        """Mode I beside MPyC's secure ID3."""
        compared = measure_id3(quick=self.quick)
        print_id3(compared, self.console)
        self.found["id3"] = id3_figures(compared)

    def mpc_primitives(self) -> None:
        """What each primitive of the secret-sharing engine costs, beside MPyC's."""
        found = measure_mpc_primitives(quick=self.quick)
        print_mpc_primitives(found, self.console)
        self.found["mpc_primitives"] = found.figures()

    def gain_ratio(self) -> None:
        """Mode G by rows, columns and height, beside its floor."""
        found = measure_gain_ratio(quick=self.quick, long=self.long)
        print_gain_ratio(found, self.console)
        self._draw(self.mpc_svg, found.plot())
        self.found["gain_ratio"] = found.figures()

    def predict(self) -> None:
        """A hospital's prediction API beside the bare server. Needs wrk."""
        from bench.predicting import figures, measure_predictions, print_predictions

        found = measure_predictions(quick=self.quick)
        print_predictions(found, self.console)
        self.found["predict"] = figures(found)

    def load(self) -> None:
        """Three replicas of the cloud, with hospitals by the hundred. Needs nginx and PostgreSQL."""
        from bench.load import measure_load, print_load

        found = measure_load(quick=self.quick, soak=self.soak)
        print_load(found, self.console)
        self.found["load"] = found.document()

    def _draw(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.console.print(f"plot: {file}")

    def steps(self, part: Part) -> list[Callable[[], None]]:
        """The measurements of a part, in order; what needs other programs is asked for by itself."""
        order = tuple(each for each in Part if each not in (Part.ALL, Part.PREDICT, Part.LOAD))
        return [getattr(self, each.name.lower()) for each in (order if part is Part.ALL else (part,))]


def main(
    part: Annotated[Part, typer.Argument(help="What to measure.")] = Part.ALL,
    key_bits: Annotated[
        list[int] | None,
        typer.Option(
            "--key-bits", help="2048, 3072 or 4096; repeatable. Default: 2048 and 3072, quick: 2048."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: a few minutes.")] = False,
    long: Annotated[
        bool, typer.Option("--long", help="gain-ratio: up to a million rows; some ten minutes.")
    ] = False,
    soak: Annotated[
        bool, typer.Option("--soak", help="load: also ten minutes of jobs, for the memory.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write all figures to FILE.")
    ] = None,
    svg: Annotated[
        Path, typer.Option("--svg", metavar="FILE", help="Where the plot of `scaling` goes.")
    ] = PLOT_FILE,
    mpc_svg: Annotated[
        Path, typer.Option("--mpc-svg", metavar="FILE", help="Where the plot of `gain-ratio` goes.")
    ] = MPC_PLOT_FILE,
) -> None:
    """Measure Privet's speed and traffic, beside the published protocol done plainly and beside its own floor."""
    chosen = tuple(key_bits or ((2048,) if quick else (2048, 3072)))
    if not set(chosen) <= set(KEY_BITS):
        raise typer.BadParameter("a Paillier key has 2048, 3072 or 4096 bits", param_hint="--key-bits")
    if quick and long:
        raise typer.BadParameter("a run is quick or long, not both", param_hint="--long")
    bench = Bench(chosen, quick, long, soak, svg, mpc_svg)
    bench.console.print(describe_machine())
    begun = time.monotonic()
    for step in bench.steps(part):
        step()
    bench.console.print(f"took {time.monotonic() - begun:.0f} s")
    if json_file is not None:
        document = {"machine": describe_machine(), **bench.found}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
