"""The Paillier key at work: small batches in this process, large ones on every core, and what they cost.

The pool is started by the first batch that repays it and then kept. Its processes are spawned, never forked,
because the agent has threads; they get the key through a pipe of their own and write it nowhere.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Final, TypeVar

from shared.crypto.key_holder import KeyHolder, pool_secrets, prepare_worker
from shared.crypto.paillier import PublicKey
from shared.crypto.paillier_private import PrivateKey

Item = TypeVar("Item")
Result = TypeVar("Result")

POOL_FROM: Final = 1500
"""Batches of at least so many ciphertexts start the pool: about a second of work, as long as its start takes."""


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
class MeteredCipher:
    """A `CountCipher` that spreads large batches and meters itself. Close it to end its processes."""

    holder: KeyHolder = field(repr=False)
    spent: Spent = field(default_factory=Spent)
    pool_from: int = POOL_FROM
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)
    _pool_cpu_seconds: float = 0.0

    @classmethod
    def create(cls, private: PrivateKey) -> MeteredCipher:
        """For a checked key; its tables are built by the first batches that repay them."""
        return cls(KeyHolder(private, workers=os.cpu_count() or 1))

    @property
    def public(self) -> PublicKey:
        """The key under which it works."""
        return self.holder.public

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts, same order."""
        with self._batch(len(plaintexts)) as cost:
            ciphertexts = self.holder.encrypt(plaintexts)
        self.spent.encrypt_seconds += cost.wall_seconds
        self.spent.encrypt_cpu_seconds += cost.cpu_seconds
        self.spent.encryptions += len(plaintexts)
        return ciphertexts

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts in [0, n), same order."""
        with self._batch(len(ciphertexts)) as cost:
            plaintexts = self.holder.decrypt(ciphertexts)
        self._add_decryption(cost, len(ciphertexts))
        return plaintexts

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Signed plaintexts below half the key's length, same order; confirmed by `all_zero`."""
        with self._batch(0) as cost:
            plaintexts = self.holder.decrypt_small(ciphertexts)
        self._add_decryption(cost, len(ciphertexts))
        return plaintexts

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """Whether all of these valid ciphertexts encrypt 0."""
        with self._batch(0) as cost:
            verdict = self.holder.all_zero(ciphertexts)
        self._add_decryption(cost, 1)
        return verdict

    @property
    def processes(self) -> list[BaseProcess]:
        """The pool's processes that live."""
        # The executor has no public way to end a batch under way (terminate_workers comes with Python 3.14).
        started = {} if self._pool is None else self._pool._processes or {}
        return [process for process in started.values() if process.is_alive()]

    def close(self) -> None:
        """End the pool's processes, a batch under way included."""
        processes = self.processes
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        for process in processes:
            process.terminate()
            process.join()

    def _add_decryption(self, cost: _Cost, count: int) -> None:
        self.spent.decrypt_seconds += cost.wall_seconds
        self.spent.decrypt_cpu_seconds += cost.cpu_seconds
        self.spent.decryptions += count

    @contextmanager
    def _batch(self, size: int) -> Iterator[_Cost]:
        """Point the key holder at the pool or at this process, and take the times."""
        pooled = self.holder.workers > 1 and (size >= self.pool_from or self._pool is not None)
        self.holder.map = self._spread if pooled else None
        cost, before = _Cost(), self._pool_cpu_seconds
        wall, cpu = time.perf_counter(), time.thread_time()
        yield cost
        cost.wall_seconds = time.perf_counter() - wall
        cost.cpu_seconds = time.thread_time() - cpu + self._pool_cpu_seconds - before

    def _spread(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.holder.workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=prepare_worker,
                initargs=pool_secrets(self.holder.private),
            )
        for result, cpu_seconds in self._pool.map(partial(_timed, function), items):
            self._pool_cpu_seconds += cpu_seconds
            yield result


@dataclass(slots=True)
class _Cost:
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


def _timed(function: Callable[[Item], Result], item: Item) -> tuple[Result, float]:
    """In a worker: the result and the CPU seconds it took."""
    start = time.process_time()
    return function(item), time.process_time() - start
