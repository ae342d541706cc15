"""At most so many requests a second of each caller; who asks more is told when to come again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from hospital_agent.local_api.problems import RefusedError
from machine.rates import Buckets

_BURST_SECONDS: Final = 2.0


class Rates:
    """Of each caller two seconds' requests at once. `per_second`: 0 for no limit. `clock`: rising seconds."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._buckets = Buckets(per_second, _BURST_SECONDS, clock=clock) if per_second else None

    def take(self, caller: str) -> None:
        """One request. Raises: RefusedError: 429, too many."""
        wait_seconds = self._buckets.take(caller) if self._buckets is not None else 0.0
        if wait_seconds:
            raise RefusedError(
                429,
                "too_many_requests",
                "More requests than local.requests_per_second allows.",
                remedy="Ask several records in one request, or wait.",
                headers={"retry-after": str(math.ceil(wait_seconds))},
            )
