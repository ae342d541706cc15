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
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Final, TypeVar

from hospital_agent.keyring.meter import Meter, Spent
from shared.crypto.key_holder import KeyHolder, pool_secrets, prepare_worker
from shared.crypto.paillier import PublicKey
from shared.crypto.paillier_private import PrivateKey

Item = TypeVar("Item")
Result = TypeVar("Result")

POOL_FROM: Final = 1500
"""Batches of at least so many ciphertexts start the pool: about a second of work, as long as its start takes."""


@dataclass(slots=True)
class MeteredCipher:
    """A `CountCipher` that spreads large batches and meters itself. Close it to end its processes."""

    holder: KeyHolder = field(repr=False)
    pool_from: int = POOL_FROM
    _meter: Meter = field(default_factory=Meter, repr=False)
    _pool: ProcessPoolExecutor | None = field(default=None, repr=False)

    @classmethod
    def create(cls, private: PrivateKey) -> MeteredCipher:
        """For a checked key; its tables are built by the first batches that repay them."""
        return cls(KeyHolder(private, workers=os.cpu_count() or 1))

    @property
    def public(self) -> PublicKey:
        """The key under which it works."""
        return self.holder.public

    @property
    def spent(self) -> Spent:
        """What its work has cost so far."""
        return self._meter.spent

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts, same order."""
        self._direct(len(plaintexts))
        with self._meter.encrypting(len(plaintexts)):
            return self.holder.encrypt(plaintexts)

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts in [0, n), same order."""
        self._direct(len(ciphertexts))
        with self._meter.decrypting(len(ciphertexts)):
            return self.holder.decrypt(ciphertexts)

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Signed plaintexts below half the key's length, same order; confirmed by `all_zero`."""
        self._direct(0)
        with self._meter.decrypting(len(ciphertexts)):
            return self.holder.decrypt_small(ciphertexts)

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """Whether all of these valid ciphertexts encrypt 0."""
        self._direct(0)
        with self._meter.decrypting(1):
            return self.holder.all_zero(ciphertexts)

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

    def _direct(self, size: int) -> None:
        """Point the key holder at the pool, or at this process."""
        pooled = self.holder.workers > 1 and (size >= self.pool_from or self._pool is not None)
        self.holder.map = self._spread if pooled else None

    def _spread(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.holder.workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=prepare_worker,
                initargs=pool_secrets(self.holder.private),
            )
        yield from self._meter.of_helpers(self._pool.map(partial(_timed, function), items))


def _timed(function: Callable[[Item], Result], item: Item) -> tuple[Result, float]:
    """In a worker: the result and the CPU seconds it took."""
    start = time.process_time()
    return function(item), time.process_time() - start
