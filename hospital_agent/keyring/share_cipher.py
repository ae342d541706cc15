"""A share of the Paillier key at work (key mode threshold): on every core by threads, and what it costs.

Threads are enough here, unlike for the whole key: the work is whole powers of big numbers, during which the interpreter
is free. So the share stays in this one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hospital_agent.keyring.cipher import Spent
from shared.crypto.paillier import PublicKey
from shared.crypto.share_holder import ShareHolder
from shared.crypto.threshold import Partial, ThresholdKey

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True)
class MeteredShare:
    """A `ShareCipher` that spreads its powers over the cores and meters itself. Close it to end its threads.

    Decryptions are counted by the ciphertexts that it has decrypted its part of.
    """

    holder: ShareHolder = field(repr=False)
    spent: Spent = field(default_factory=Spent)
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)
    _pool_cpu_seconds: float = 0.0

    @classmethod
    def create(cls, key: ThresholdKey, index: int, share: int) -> MeteredShare:
        """Raises: InputError: not the share that the federation document vouches for."""
        metered = cls(ShareHolder.create(key, index, share))
        workers = os.cpu_count() or 1
        if workers > 1:
            metered.holder.map, metered.holder.workers = metered._spread, workers
        return metered

    @property
    def public(self) -> PublicKey:
        """The key under which it works."""
        return self.holder.public

    @property
    def threshold_key(self) -> ThresholdKey:
        """The key that it holds a share of."""
        return self.holder.threshold_key

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts, same order."""
        with self._timed() as cost:
            ciphertexts = self.holder.encrypt(plaintexts)
        self.spent.encrypt_seconds += cost.wall_seconds
        self.spent.encrypt_cpu_seconds += cost.cpu_seconds
        self.spent.encryptions += len(plaintexts)
        return ciphertexts

    def partial(self, ciphertexts: Sequence[int], ctx: bytes) -> Partial:
        """Its partial decryptions of a round's sums."""
        with self._timed() as cost:
            decrypted = self.holder.partial(ciphertexts, ctx)
        self.spent.decrypt_seconds += cost.wall_seconds
        self.spent.decrypt_cpu_seconds += cost.cpu_seconds
        self.spent.decryptions += len(ciphertexts)
        return decrypted

    def close(self) -> None:
        """End its threads; powers under way are waited for."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    @contextmanager
    def _timed(self) -> Iterator[_Cost]:
        cost, before = _Cost(), self._pool_cpu_seconds
        wall, cpu = time.perf_counter(), time.thread_time()
        yield cost
        cost.wall_seconds = time.perf_counter() - wall
        cost.cpu_seconds = time.thread_time() - cpu + self._pool_cpu_seconds - before

    def _spread(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.holder.workers, thread_name_prefix="powers")
        for result, cpu_seconds in self._pool.map(partial(_measured, function), items):
            self._pool_cpu_seconds += cpu_seconds
            yield result


@dataclass(slots=True)
class _Cost:
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


def _measured(function: Callable[[Item], Result], item: Item) -> tuple[Result, float]:
    """In a thread: the result and the CPU seconds it took."""
    start = time.thread_time()
    return function(item), time.thread_time() - start
