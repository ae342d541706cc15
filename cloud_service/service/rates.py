"""How often one agent, one person or one address may ask."""

from __future__ import annotations

from typing import Final

from machine.rates import Buckets
from shared.errors import ErrorCode, TemporaryError

BURST_SECONDS: Final = 10
"""Seconds' worth of requests that may come at once."""


class RateLimitedError(TemporaryError):
    """Too many requests of one caller."""

    code = ErrorCode.RATE_LIMITED


class Rates:
    """Buckets of which the empty one is an error."""

    def __init__(self, per_second: float, burst_seconds: float = BURST_SECONDS) -> None:
        self._buckets = Buckets(per_second, burst_seconds)

    def check(self, caller: str) -> None:
        """Whether one more could be counted. Raises: RateLimitedError: with the seconds to wait."""
        _refuse(self._buckets.look(caller))

    def charge(self, caller: str) -> None:
        """Count one that was served already."""
        self._buckets.charge(caller)

    def spend(self, caller: str) -> None:
        """Count one request. Raises: RateLimitedError: with the seconds to wait."""
        _refuse(self._buckets.take(caller))


def _refuse(wait_seconds: float) -> None:
    if wait_seconds:
        raise RateLimitedError("too many requests; slow down", retry_after_seconds=max(1.0, wait_seconds))
