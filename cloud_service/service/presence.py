"""When each hospital was last heard of; kept in memory and written to the database now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from cloud_service.service import proofs
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.ids import AgentId

AWAY_SECONDS: Final = 120
"""Agents ask again at once when a poll has ended, after a minute at the latest; who is silent for longer is away."""


class Presence:
    """Unix seconds by agent."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._seen: dict[str, int] = {}
        self._unsaved: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._lock = threading.Lock()

    def saw(self, agent: AgentId) -> None:
        """A signed request of the agent has come, and was verified."""
        proofs.given()
        with self._lock:
            now = self._clock()
            if now - self._seen.get(agent, 0) > AWAY_SECONDS:
                self._since[agent] = now
            self._seen[agent] = self._unsaved[agent] = now

    def last_seen(self, agent: str, stored: int) -> int:
        """The newer of what is stored and what is known here."""
        return max(stored, self._seen.get(agent, 0))

    def online_since(self, agent: str) -> int | None:
        """Since when this process has heard of it without a gap; None: it is away, or another replica hears it."""
        is_here = self._clock() - self._seen.get(agent, 0) <= AWAY_SECONDS
        return self._since.get(agent) if is_here else None

    def save(self, database: Database) -> None:
        """Write what is new."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        if unsaved:
            with database.write() as connection:
                # In one order at every replica, so that two of them never wait for each other.
                directory.touch_hospitals(connection, dict(sorted(unsaved.items())))
