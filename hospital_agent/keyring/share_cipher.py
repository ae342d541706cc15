"""A share of the Paillier key at work (key mode threshold): on every core by threads, and what it costs.

Threads are enough here, unlike for the whole key: the work is whole powers of big numbers, during which the interpreter
is free. So the share stays in this one process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from hospital_agent.keyring.meter import Meter, Spent
from shared.crypto.paillier import PublicKey
from shared.crypto.share_holder import ShareHolder
from shared.crypto.threshold import Partial, ThresholdKey

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(slots=True)
class MeteredShare:
    """A `ShareCipher` that spreads its powers over the cores and meters itself. Close it to end its threads."""

    holder: ShareHolder = field(repr=False)
    _meter: Meter = field(default_factory=Meter, repr=False)
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)

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

    @property
    def spent(self) -> Spent:
        """What its work has cost so far. Decryptions: ciphertexts that it has decrypted its part of."""
        return self._meter.spent

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts, same order."""
        with self._meter.encrypting(len(plaintexts)):
            return self.holder.encrypt(plaintexts)

    def partial(self, ciphertexts: Sequence[int], ctx: bytes) -> Partial:
        """Its partial decryptions of a round's sums."""
        with self._meter.decrypting(len(ciphertexts)):
            return self.holder.partial(ciphertexts, ctx)

    def close(self) -> None:
        """End its threads; powers under way are waited for."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _spread(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.holder.workers, thread_name_prefix="powers")
        yield from self._meter.of_helpers(self._pool.map(partial(_measured, function), items))


def _measured(function: Callable[[Item], Result], item: Item) -> tuple[Result, float]:
    """In a thread: the result and the CPU seconds it took."""
    start = time.thread_time()
    return function(item), time.thread_time() - start
