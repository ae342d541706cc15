"""The same computation over the direct transport and through a cloud: rounds a second, megabytes a second.

Three parties are one process each, and the cloud is one more; all of them share this machine.
"""

from __future__ import annotations

import logging
import multiprocessing
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.parties import run_three
from bench.party import NAMES, Relay

_PROGRAM: Final = "bench.mpc_programs:products"
WAYS: Final = ("direct", "websocket", "long-poll")


@dataclass(frozen=True, slots=True)
class RelayCase:
    """One message of `words` 64-bit words to a neighbour a round, at all three parties."""

    name: str
    words: int
    rounds: int


@dataclass(frozen=True, slots=True)
class RelayFigure:
    """Of the slowest party. megabytes: that it sent. cpu_seconds: of one party."""

    case: str
    way: str
    seconds: float
    round_milliseconds: float
    megabytes: float
    cpu_seconds: float


CASES: Final = (
    RelayCase("small rounds", 16, 2000),
    RelayCase("80 kB rounds", 10_000, 300),
    RelayCase("8 MB rounds", 1_000_000, 30),
)
QUICK_CASES: Final = (RelayCase("small rounds", 16, 200), RelayCase("8 MB rounds", 1_000_000, 3))


def measure_relay(*, quick: bool) -> list[RelayFigure]:
    """Every case by every way."""
    cases = QUICK_CASES if quick else CASES
    with _cloud() as relays:
        return [_measure(case, way, relays[way]) for case in cases for way in WAYS]


def _measure(case: RelayCase, way: str, relay: Relay | None) -> RelayFigure:
    x = np.arange(case.words, dtype=np.uint64)
    results = run_three(_PROGRAM, {"times": case.rounds}, shares={"x": x, "y": x}, relay=relay)
    seconds = max(result.wall_seconds for result in results)
    return RelayFigure(
        case.name,
        way,
        seconds,
        1000 * seconds / case.rounds,
        results[0].sent_bytes / 1e6,
        results[0].cpu_seconds,
    )


@contextmanager
def _cloud() -> Iterator[dict[str, Relay | None]]:
    """A cloud in a process of its own, with one computing job for each way."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,))
    process.start()
    try:
        yield {"direct": None, **{way: Relay(**spec) for way, spec in here.recv().items()}}
    finally:
        here.send("end")
        process.join(30)


def _serve(pipe: Connection) -> None:
    import structlog

    from tests.support.cloud_server import running_cloud
    from tests.support.relays import computing_job

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory() as folder, running_cloud(Path(folder), hospitals=NAMES) as cloud:
        keys = tuple(cloud.parties.identities[name].to_raw().hex() for name in NAMES)
        specs: dict[str, Any] = {
            way: {"url": cloud.base_url, "job": computing_job(cloud, NAMES), "keys": keys, "way": way}
            for way in WAYS[1:]
        }
        pipe.send(specs)
        pipe.recv()


def print_relay(figures: list[RelayFigure], console: Console) -> None:
    """As a table."""
    table = Table(title="Three parties, frames directly and through the cloud")
    for heading in ("", "way", "seconds", "ms a round", "MB sent a party", "MB/s a party", "CPU s a party"):
        table.add_column(heading, justify="left" if heading in ("", "way") else "right")
    for figure in figures:
        table.add_row(
            figure.case,
            figure.way,
            f"{figure.seconds:.2f}",
            f"{figure.round_milliseconds:.2f}",
            f"{figure.megabytes:.1f}",
            f"{figure.megabytes / figure.seconds:.1f}",
            f"{figure.cpu_seconds:.2f}",
        )
    console.print(table)
