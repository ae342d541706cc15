"""Mode G at many sizes: three real processes over the direct transport, phase by phase beside the floor.

Records are random with a fixed seed; labels follow two columns with some noise, so that the tree has something to
find. What a training costs does not depend on that: its messages are the same for all records of one shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.gain_ratio_floor import floor_of
from bench.mpc_rates import measure_rates
from bench.mpc_work import Work, total
from bench.parties import opened, run_three
from bench.party import PartyResult
from shared.secure_tree.gain_ratio.opened import layers_of
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, class_words, key_input_dtype
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio

PROGRAM: Final = "bench.gain_ratio_program:gain_ratio"
WIDTH_BITS: Final = 16
CLASSES: Final = 2
_SEED: Final = 20261130
_NOISE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Case:
    """One size."""

    records: int
    columns: int
    height: int

    def __str__(self) -> str:
        return f"{self.records:,} x {self.columns}, height {self.height}"

    @property
    def plan(self) -> GainRatioPlan:
        """Its public side: two classes, 16-bit codes."""
        return GainRatioPlan(
            self.records, (WIDTH_BITS,) * self.columns, CLASSES, GainRatioRules(height=self.height)
        )

    @property
    def repeats(self) -> int:
        """Runs of which the median counts; long ones are run once."""
        return 3 if self.records * self.columns * self.height <= 10**6 else 1


@dataclass(frozen=True, slots=True)
class PhaseFigure:
    """One phase at the party in the middle of the three by time. sent, floor_sent: bytes of all parties.

    floor_seconds: by the clock (`Rates.wall_seconds`).
    """

    seconds: float
    computed: float
    waited: float
    rounds: int
    sent: int
    floor_sent: float
    floor_seconds: float


@dataclass(frozen=True)
class Figure:
    """One case. cpu_seconds: a party. peak_bytes, own_bytes: of the largest party, all, and without what it starts
    with. floor_cpu: by kind of work, all parties.
    """

    case: Case
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    own_bytes: int
    rounds: int
    sent: int
    floor_seconds: float
    floor_cpu: dict[str, float]
    phases: dict[str, PhaseFigure] = field(repr=False)

    @cached_property
    def over_floor(self) -> float:
        """How many times the floor it takes."""
        return self.seconds / self.floor_seconds

    @cached_property
    def cpu_over_floor(self) -> float:
        """The same of CPU seconds, rounds not counted: hardly changed by what else the machine does."""
        return 3 * self.cpu_seconds / sum(self.floor_cpu.values())

    def figures(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "over_floor": self.over_floor, "cpu_over_floor": self.cpu_over_floor}


def records_of(case: Case) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Codes, shape (columns, n), and labels."""
    random = np.random.default_rng(_SEED)
    keys = random.integers(0, 1 << WIDTH_BITS, (case.columns, case.records), dtype=np.uint32)
    second = keys[min(1, case.columns - 1)]
    labels = ((keys[0] > 30_000) & (second > 20_000)) ^ (random.random(case.records) < _NOISE)
    return keys, labels.astype(np.int64)


def measure_case(case: Case) -> Figure:
    """Train at three parties; the run of median time.

    Raises: RuntimeError: the opened tree is not the one that the plain trainer grows.
    """
    keys, labels = records_of(case)
    runs = [train(case.plan, keys, labels) for _ in range(case.repeats)]
    runs.sort(key=lambda results: results[0].wall_seconds)
    results = runs[len(runs) // 2]
    plain = grow_by_gain_ratio(keys, labels, CLASSES, case.plan.rules)
    arrays = [opened(shares) for shares in zip(*(result.value for result in results), strict=True)]
    if layers_of(case.plan, arrays) != plain:
        raise RuntimeError(f"{case}: the secret tree is not the plain one")
    return figure_of(case, results)


def train(plan: GainRatioPlan, keys: NDArray[np.uint32], labels: NDArray[np.int64]) -> list[PartyResult]:
    """One training by three processes."""
    binary = {
        f"column{index}": key.astype(key_input_dtype(width))
        for index, (key, width) in enumerate(zip(keys, plan.widths, strict=True))
    }
    arguments = {
        "widths": list(plan.widths),
        "classes": plan.classes,
        "rules": {
            "height": plan.rules.height,
            "min_node": plan.rules.min_node,
            "min_child": plan.rules.min_child,
        },
    }
    return run_three(PROGRAM, arguments, binary={**binary, "labels": class_words(labels, plan.classes)})


def figure_of(case: Case, results: Sequence[PartyResult]) -> Figure:
    """What a run cost, beside its floor."""
    rates = measure_rates(case.records)
    floors = floor_of(case.plan)
    works = total(list(floors.values()))
    middle = sorted(results, key=lambda result: result.wall_seconds)[1]
    phases = {}
    for name, cost in middle.costs.items():
        spent, floor = middle.seconds[name], floors.get(name, Work())
        phases[name] = PhaseFigure(
            seconds=spent.computed + spent.waited,
            computed=spent.computed,
            waited=spent.waited,
            rounds=cost.rounds,
            sent=sum(result.costs[name].sent_bytes for result in results),
            floor_sent=floor.sent,
            floor_seconds=rates.wall_seconds(floor, cost.rounds),
        )
    return Figure(
        case=case,
        seconds=middle.wall_seconds,
        cpu_seconds=sum(result.cpu_seconds for result in results) / len(results),
        peak_bytes=max(result.peak_bytes for result in results),
        own_bytes=max(result.peak_bytes - result.base_bytes for result in results),
        rounds=middle.rounds,
        sent=sum(result.sent_bytes for result in results),
        floor_seconds=rates.wall_seconds(works, middle.rounds),
        floor_cpu=rates.parts(works),
        phases=phases,
    )
