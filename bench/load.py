"""A cloud of three replicas under load: rounds, messages, CPU and memory by hospitals and by jobs, and over a soak."""

from __future__ import annotations

import asyncio
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from rich.console import Console
from rich.table import Table

from bench.load_cloud import LoadedCloud, loaded_cloud
from bench.load_hospitals import Figures, Load, Pool, without_pair_masks
from shared.crypto.key_holder import KeyHolder
from shared.ids import AgentId
from shared.protocol.polling import Registration, sign_registration
from shared.wire.base import encode_base64url
from tests.support.clinic import ROWS, SCHEMA

REPLICAS: Final = 3
HOSPITALS: Final = (20, 100, 300)
QUICK_HOSPITALS: Final = (5, 10, 20)
MANY_JOBS: Final = 50
QUICK_MANY_JOBS: Final = 5
HOSPITALS_OF_MANY: Final = 10
SOAK_SECONDS: Final = 600.0
QUICK_SOAK_SECONDS: Final = 30.0
SOAK_HOSPITALS: Final = 20
SOAK_JOBS: Final = 4
_SAMPLE_SECONDS: Final = 5.0
_WARM_SHARE: Final = 1 / 4
"""Of a soak, before memory is compared: caches and pools fill."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One scenario. Seconds; `replica_cpu`, `database_cpu`, `simulator_cpu`: CPU seconds in all; MiB resident in all.

    messages: taken with a receipt. again: requests that were sent again.
    """

    hospitals: int
    jobs: int
    wall: float
    rounds: int
    round_p50: float
    round_p95: float
    round_p99: float
    message_p50: float
    message_p95: float
    message_p99: float
    messages: int
    again: int
    replica_cpu: float
    database_cpu: float
    simulator_cpu: float
    resident: float

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.wall


@dataclass(frozen=True, slots=True)
class Soaked:
    """Jobs one after the other for a while. resident: (seconds since the start, MiB of all replicas)."""

    loaded: Loaded
    seconds: float
    resident: tuple[tuple[float, float], ...]

    @property
    def growth(self) -> float:
        """MiB an hour after the warm-up, by least squares."""
        warm = [point for point in self.resident if point[0] >= self.seconds * _WARM_SHARE]
        return 3600 * statistics.linear_regression(*zip(*warm, strict=True)).slope


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """All of a run."""

    by_hospitals: tuple[Loaded, ...]
    many_jobs: Loaded
    soak: Soaked | None

    def exponent(self, name: str) -> float:
        """With which power of the number of hospitals a figure grows."""
        points = [(math.log(one.hospitals), math.log(getattr(one, name))) for one in self.by_hospitals]
        return statistics.linear_regression(*zip(*points, strict=True)).slope

    def document(self) -> dict[str, Any]:
        """For the file of figures."""
        return asdict(self)


def measure_load(*, quick: bool, soak: bool) -> LoadFigures:
    """Every scenario at one cloud."""
    sizes = QUICK_HOSPITALS if quick else HOSPITALS
    with (
        tempfile.TemporaryDirectory(prefix="privet-load-") as folder,
        without_pair_masks(),
        loaded_cloud(Path(folder), max(sizes), REPLICAS) as cloud,
    ):
        bench = _Bench(cloud)
        by_hospitals = [bench.run(size, jobs=1, repeats=1 if quick else 3) for size in sizes]
        many = bench.run(HOSPITALS_OF_MANY, jobs=QUICK_MANY_JOBS if quick else MANY_JOBS)
        soaked = bench.soak(QUICK_SOAK_SECONDS if quick else SOAK_SECONDS) if soak else None
    return LoadFigures(tuple(by_hospitals), many, soaked)


class _Bench:
    def __init__(self, cloud: LoadedCloud) -> None:
        self._cloud = cloud
        self._pool = Pool(KeyHolder(cloud.parties.key))
        self._studies = 0
        self._cursors: dict[AgentId, int] = {}
        _register(cloud)

    def run(self, hospitals: int, *, jobs: int, repeats: int = 1) -> Loaded:
        """So many jobs at once, and that again and again."""
        names = self._cloud.parties.names[:hospitals]
        load = self._load(names, lines=4 if jobs > 1 else 1)
        with self._metered(load, hospitals, jobs) as made:
            asyncio.run(self._repeat(load, names, jobs, repeats))
        return made[0]

    def soak(self, seconds: float) -> Soaked:
        """A few jobs at once, as many as there is time for."""
        names = self._cloud.parties.names[:SOAK_HOSPITALS]
        load = self._load(names, lines=2)
        sizes: list[tuple[float, float]] = []
        with self._metered(load, len(names), 0) as made:
            asyncio.run(self._go_on(load, names, seconds, sizes))
        return Soaked(made[0], seconds, tuple(sizes))

    def _load(self, names: Sequence[AgentId], lines: int) -> Load:
        url = urlsplit(self._cloud.url)
        place = str(url.hostname), int(url.port or 0)
        return Load(self._cloud.parties, names, self._pool, place, ROWS, lines, self._cursors)

    async def _repeat(self, load: Load, names: Sequence[AgentId], jobs: int, repeats: int) -> None:
        async with load.running():
            for turn in range(1, repeats + 1):
                await asyncio.to_thread(self._start, names, jobs)
                await load.until(turn * jobs)

    async def _go_on(
        self, load: Load, names: Sequence[AgentId], seconds: float, sizes: list[tuple[float, float]]
    ) -> None:
        began, started, sampled = time.monotonic(), 0, 0.0
        async with load.running():
            while (since := time.monotonic() - began) < seconds or load.figures.jobs < started:
                if since < seconds and started - load.figures.jobs < SOAK_JOBS:
                    await asyncio.to_thread(self._start, names, 1)
                    started += 1
                if since - sampled > _SAMPLE_SECONDS:
                    sampled = since
                    sizes.append((since, self._cloud.usage().resident / 2**20))
                load.check()
                await asyncio.sleep(0.05)

    def _start(self, names: Sequence[AgentId], jobs: int) -> None:
        self._studies += 1
        study = {
            "id": f"load-{self._studies}",
            "question": "does it bear it?",
            "schema": SCHEMA,
            "synthetic": True,
        }
        rules = {"min_node": 1, "min_child": 1, "max_depth": None, "invited": names, "max_shrinks": 0}
        with self._cloud.people() as people:
            _expect(people.post("/v1/studies", json=study))
            for _ in range(jobs):
                _expect(people.post(f"/v1/studies/{study['id']}/jobs", json=rules))

    @contextmanager
    def _metered(self, load: Load, hospitals: int, jobs: int) -> Iterator[list[Loaded]]:
        before, own, began = self._cloud.usage(), time.process_time(), time.monotonic()
        made: list[Loaded] = []
        yield made
        wall, used = time.monotonic() - began, self._cloud.usage().since(before)
        cpu = (used.replicas, used.database, time.process_time() - own)
        made.append(_loaded(load.figures, hospitals, jobs or load.figures.jobs, wall, cpu, used.resident))


def _loaded(
    figures: Figures, hospitals: int, jobs: int, wall: float, cpu: tuple[float, float, float], resident: int
) -> Loaded:
    return Loaded(
        hospitals,
        jobs,
        wall,
        len(figures.rounds) // hospitals,
        *_percentiles(figures.rounds),
        *_percentiles(figures.messages),
        len(figures.messages),
        figures.again,
        *cpu,
        resident / 2**20,
    )


def _percentiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """The 50th, 95th and 99th."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return cuts[49], cuts[94], cuts[98]


def _register(cloud: LoadedCloud) -> None:
    with cloud.people() as people:
        for name in cloud.parties.names:
            claim = Registration(
                certificate=encode_base64url(cloud.parties.certificates[name]),
                version="0.1.0",
                time=int(time.time()),
            )
            signed = sign_registration(claim, cloud.parties.identities[name]).canonical()
            answer = people.post(
                "/v1/hospitals", content=signed, headers={"content-type": "application/json"}
            )
            answer.raise_for_status()


def _expect(answer: httpx2.Response) -> None:
    if answer.status_code != 201:
        raise RuntimeError(f"{answer.request.url.path} answers {answer.status_code}: {answer.text[:300]}")


def print_load(figures: LoadFigures, console: Console) -> None:
    """As tables."""
    table = Table(title=f"{REPLICAS} replicas, PostgreSQL, nginx: one job, then many at once")
    for name in ("hospitals", "jobs", "rounds", "round s p50", "p95", "p99", "message s p50", "p95", "p99"):
        table.add_column(name, justify="right")
    for name in ("messages/s", "again", "CPU s replicas", "database", "simulation", "MiB"):
        table.add_column(name, justify="right")
    soak = () if figures.soak is None else (figures.soak.loaded,)
    for one in (*figures.by_hospitals, figures.many_jobs, *soak):
        table.add_row(*_cells(one))
    console.print(table)
    for name in ("round_p50", "round_p95", "replica_cpu", "database_cpu"):
        console.print(f"{name} grows with hospitals to the power {figures.exponent(name):.2f}")
    if figures.soak is not None:
        sizes = [size for _, size in figures.soak.resident]
        console.print(
            f"soak: {figures.soak.loaded.jobs} jobs in {figures.soak.seconds:.0f} s; resident from {sizes[0]:.0f} to "
            f"{sizes[-1]:.0f} MiB, after the warm-up {figures.soak.growth:+.1f} MiB an hour"
        )


def _cells(one: Loaded) -> list[str]:
    seconds = (one.round_p50, one.round_p95, one.round_p99, one.message_p50, one.message_p95, one.message_p99)
    cpu = (one.replica_cpu, one.database_cpu, one.simulator_cpu, one.resident)
    return [
        *map(str, (one.hospitals, one.jobs, one.rounds)),
        *(f"{value:.3f}" for value in seconds),
        f"{one.rate:.0f}",
        str(one.again),
        *(f"{value:.0f}" for value in cpu),
    ]
