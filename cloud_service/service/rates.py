"""How often one agent or one person may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

from shared.errors import ErrorCode, TemporaryError

_BURST: Final = 10
"""Seconds' worth of requests that may come at once."""
_MAX_BUCKETS: Final = 10_000


class RateLimitedError(TemporaryError):
    """Too many requests of one caller."""

    code = ErrorCode.RATE_LIMITED


class Rates:
    """Only callers whose identity was proved have a bucket, so nobody can empty another's."""

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def spend(self, caller: str) -> None:
        """Count one request. Raises: RateLimitedError: with the seconds to wait."""
        now = time.monotonic()
        full = self._rate * _BURST
        with self._lock:
            level, since = self._buckets.pop(caller, (full, now))
            level = min(full, level + (now - since) * self._rate)
            if level < 1:
                self._buckets[caller] = (level, now)
                wait = (1 - level) / self._rate
                raise RateLimitedError("too many requests; slow down", retry_after_seconds=max(1.0, wait))
            self._buckets[caller] = (level - 1, now)
            if len(self._buckets) > _MAX_BUCKETS:
                self._buckets.popitem(last=False)
