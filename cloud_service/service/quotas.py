"""What one hospital may take of the cloud: jobs that run, messages an hour, bytes that are kept of it.

Messages are counted by each replica for itself; jobs and bytes in the database that all share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection

from cloud_service.limit_settings import LimitSettings
from cloud_service.service.rates import RateLimitedError, Rates
from cloud_service.store import usage
from cloud_service.store.database import Database
from shared.errors import ErrorCode, PeerError

_HOUR_SECONDS: Final = 3600
_FRESH_SECONDS: Final = 60.0
"""How long a count of kept bytes is believed; what comes meanwhile is added to it."""
_RETRY_SECONDS: Final = 600.0


class Quotas:
    """Refuses what goes beyond the settings `[limits]`."""

    def __init__(self, database: Database, limits: LimitSettings) -> None:
        self._database = database
        self._limits = limits
        self._messages = Rates(limits.messages_per_hour / _HOUR_SECONDS, burst_seconds=_HOUR_SECONDS)
        self._kept: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def take_message(self, agent: str, size: int) -> None:
        """Count a message of a hospital that has proved who it is.

        Raises: RateLimitedError: too many in an hour. PeerError: `too_large`: too much is kept of it already.
        """
        self._messages.spend(agent)
        kept = self._kept_of(agent, size)
        if kept > self._limits.stored_bytes:
            raise PeerError(
                ErrorCode.TOO_LARGE,
                f"more than {self._limits.stored_bytes} bytes are kept of {agent} in jobs that have not been cleared; "
                "there is room again once jobs have ended and retention has deleted their messages",
            )

    def _kept_of(self, agent: str, size: int) -> int:
        now = time.monotonic()
        with self._lock:
            known, since = self._kept.get(agent, (0, float("-inf")))
        if now - since > _FRESH_SECONDS:
            with self._database.read() as connection:
                known, since = usage.kept_bytes(connection, agent), now
        with self._lock:
            self._kept[agent] = (known + size, since)
        return known + size

    def check_jobs(self, connection: Connection, agents: Iterable[str]) -> None:
        """Whether each of these hospitals may be invited to one job more. Raises: RateLimitedError."""
        running = usage.running_jobs(connection)
        full = sorted(agent for agent in agents if running.get(agent, 0) >= self._limits.running_jobs)
        if full:
            raise RateLimitedError(
                f"{', '.join(full[:5])}: in {self._limits.running_jobs} jobs that run already; begin this one when one "
                "of them has ended, or raise running_jobs under [limits]",
                retry_after_seconds=_RETRY_SECONDS,
            )
