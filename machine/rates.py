"""How often each caller may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_MAX_BUCKETS: Final = 10_000


class Buckets:
    """`per_second`: tokens that flow into each; `burst_seconds`: as many seconds' worth, and at least one, find room.

    A bucket is of a caller whose identity was proved, or of an address, so nobody can empty another's. `clock`: rising
    seconds.
    """

    def __init__(
        self, per_second: float, burst_seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = per_second
        self._full = max(1.0, per_second * burst_seconds)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, caller: str) -> float:
        """Count one request. Returns: 0, or the seconds until there is one to take; it was not counted then."""
        now = self._clock()
        with self._lock:
            level = self._level(caller, now)
            self._put(caller, level if level < 1 else level - 1, now)
        return self._missing(level)

    def look(self, caller: str) -> float:
        """As `take`, counting nothing."""
        with self._lock:
            return self._missing(self._level(caller, self._clock()))

    def charge(self, caller: str) -> None:
        """Count one that was served already."""
        now = self._clock()
        with self._lock:
            self._put(caller, max(0.0, self._level(caller, now) - 1), now)

    def _level(self, caller: str, now: float) -> float:
        level, since = self._buckets.get(caller, (self._full, now))
        return min(self._full, level + (now - since) * self._rate)

    def _put(self, caller: str, level: float, now: float) -> None:
        self._buckets[caller] = (level, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)

    def _missing(self, level: float) -> float:
        return 0.0 if level >= 1 else (1 - level) / self._rate
