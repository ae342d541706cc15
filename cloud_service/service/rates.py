"""How often one agent or one person may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

from shared.errors import ErrorCode, TemporaryError

BURST_SECONDS: Final = 10
"""Seconds' worth of requests that may come at once."""
_MAX_BUCKETS: Final = 10_000


class RateLimitedError(TemporaryError):
    """Too many requests of one caller."""

    code = ErrorCode.RATE_LIMITED


class Rates:
    """A bucket is of a caller whose identity was proved, or of an address, so nobody can empty another's."""

    def __init__(self, per_second: float, burst_seconds: float = BURST_SECONDS) -> None:
        self._rate = per_second
        self._full = per_second * burst_seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, caller: str) -> None:
        """Whether one more could be counted. Raises: RateLimitedError: with the seconds to wait."""
        with self._lock:
            level = self._level(caller, time.monotonic())
        if level < 1:
            raise self._limited(level)

    def charge(self, caller: str) -> None:
        """Count one that was served already."""
        now = time.monotonic()
        with self._lock:
            self._put(caller, max(0.0, self._level(caller, now) - 1), now)

    def spend(self, caller: str) -> None:
        """Count one request. Raises: RateLimitedError: with the seconds to wait."""
        now = time.monotonic()
        with self._lock:
            level = self._level(caller, now)
            self._put(caller, level if level < 1 else level - 1, now)
        if level < 1:
            raise self._limited(level)

    def _level(self, caller: str, now: float) -> float:
        level, since = self._buckets.get(caller, (self._full, now))
        return min(self._full, level + (now - since) * self._rate)

    def _put(self, caller: str, level: float, now: float) -> None:
        self._buckets[caller] = (level, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.popitem(last=False)

    def _limited(self, level: float) -> RateLimitedError:
        wait = (1 - level) / self._rate
        return RateLimitedError("too many requests; slow down", retry_after_seconds=max(1.0, wait))
