"""When each hospital was last heard of; kept in memory and written to the database now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cloud_service.service import proofs
from cloud_service.store import directory
from cloud_service.store.database import Database
from shared.ids import AgentId


class Presence:
    """Unix seconds by agent."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._seen: dict[str, int] = {}
        self._unsaved: dict[str, int] = {}
        self._lock = threading.Lock()

    def saw(self, agent: AgentId) -> None:
        """A signed request of the agent has come, and was verified."""
        proofs.given()
        with self._lock:
            self._seen[agent] = self._unsaved[agent] = self._clock()

    def last_seen(self, agent: str, stored: int) -> int:
        """The newer of what is stored and what is known here."""
        return max(stored, self._seen.get(agent, 0))

    def save(self, database: Database) -> None:
        """Write what is new."""
        with self._lock:
            unsaved, self._unsaved = self._unsaved, {}
        if unsaved:
            with database.write() as connection:
                # In one order at every replica, so that two of them never wait for each other.
                directory.touch_hospitals(connection, dict(sorted(unsaved.items())))
