"""What work with a key costs, in this thread and in those that help."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(slots=True)
class Spent:
    """What encryption and decryption have cost so far. Seconds; `_cpu` counts every process."""

    encrypt_seconds: float = 0.0
    decrypt_seconds: float = 0.0
    encrypt_cpu_seconds: float = 0.0
    decrypt_cpu_seconds: float = 0.0
    encryptions: int = 0
    decryptions: int = 0

    def since(self, earlier: Spent) -> Spent:
        """What was spent after `earlier`, a copy of this made then."""
        return Spent(*(now - then for now, then in zip(astuple(self), astuple(earlier), strict=True)))


@dataclass(slots=True)
class Meter:
    """Takes the times of one key's batches."""

    spent: Spent = field(default_factory=Spent)
    _helpers_cpu_seconds: float = 0.0

    @contextmanager
    def encrypting(self, count: int) -> Iterator[None]:
        """A batch of so many plaintexts."""
        with self._timed() as cost:
            yield
        self.spent.encrypt_seconds += cost.wall_seconds
        self.spent.encrypt_cpu_seconds += cost.cpu_seconds
        self.spent.encryptions += count

    @contextmanager
    def decrypting(self, count: int) -> Iterator[None]:
        """A batch of so many ciphertexts."""
        with self._timed() as cost:
            yield
        self.spent.decrypt_seconds += cost.wall_seconds
        self.spent.decrypt_cpu_seconds += cost.cpu_seconds
        self.spent.decryptions += count

    def of_helpers(self, done: Iterable[tuple[Result, float]]) -> Iterator[Result]:
        """Results that came with the CPU seconds they took elsewhere."""
        for result, cpu_seconds in done:
            self._helpers_cpu_seconds += cpu_seconds
            yield result

    @contextmanager
    def _timed(self) -> Iterator[_Cost]:
        cost, before = _Cost(), self._helpers_cpu_seconds
        wall, cpu = time.perf_counter(), time.thread_time()
        yield cost
        cost.wall_seconds = time.perf_counter() - wall
        cost.cpu_seconds = time.thread_time() - cpu + self._helpers_cpu_seconds - before


@dataclass(slots=True)
class _Cost:
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
