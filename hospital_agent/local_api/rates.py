"""At most so many requests a second of each caller; who asks more is told when to come again."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hospital_agent.local_api.problems import RefusedError

_BURST_SECONDS = 2.0
_MOST_CALLERS = 1000


@dataclass(slots=True)
class Rates:
    """Token buckets by caller, of two seconds' requests each. `per_second`: 0 for no limit. `clock`: rising seconds."""

    per_second: float
    clock: Callable[[], float]
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def take(self, caller: str) -> None:
        """One request. Raises: RefusedError: 429, too many."""
        if not self.per_second:
            return
        now, most = self.clock(), max(1.0, self.per_second * _BURST_SECONDS)
        with self._lock:
            if len(self._buckets) > _MOST_CALLERS:
                self._buckets.clear()
            left, then = self._buckets.get(caller, (most, now))
            left = min(most, left + (now - then) * self.per_second)
            self._buckets[caller] = (max(0.0, left - 1), now) if left >= 1 else (left, now)
        if left < 1:
            raise RefusedError(
                429,
                "too_many_requests",
                "More requests than local.requests_per_second allows.",
                remedy="Ask several records in one request, or wait.",
                headers={"retry-after": str(math.ceil((1 - left) / self.per_second))},
            )
