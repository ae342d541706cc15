"""Which work of which jobs this replica does: leases that it renews while it lives, and loses when it does not.

A replica believes in a lease for as long as its own monotonic clock says, counted from before it asked for it, so that
it stops no later than another one may begin. On SQLite there is one process, and it holds everything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Final

from sqlalchemy import Connection

from cloud_service.store import leases
from cloud_service.store.database import AuditUnavailableError, Database
from cloud_service.store.leases import Holder, Place
from shared.errors import TemporaryError
from shared.rng import random_bytes

LEASE_SECONDS: Final = 5.0
"""So long nobody takes over from a replica that has died."""
RENEW_SECONDS: Final = 1.0
_FORGET_SECONDS: Final = 600.0
_TRIES: Final = 3


class ElsewhereError(TemporaryError):
    """The job's frames are at another replica, or on their way there: the same request will find them."""

    def __init__(self) -> None:
        super().__init__("the frames of this job move to another replica; ask again", retry_after_seconds=1)


class Leases:
    """Of one replica. Safe in any thread. address: where other replicas reach this one; empty: they cannot.

    clock: monotonic seconds.
    """

    def __init__(self, database: Database, address: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.me = Holder(random_bytes(8).hex(), address)
        self.is_shared = not database.is_sqlite
        self._database = database
        self._clock = clock
        self._until: dict[Place, float] = {}
        self._lock = threading.Lock()
        self._forgot = clock()

    @property
    def held(self) -> int:
        """How many leases this replica holds now."""
        return sum(until > self._clock() for until in list(self._until.values()))

    def holds(self, kind: str, job: str) -> bool:
        """Whether this replica does that work now; asks nobody."""
        return not self.is_shared or self._until.get((kind, job), 0.0) > self._clock()

    def take(self, kind: str, job: str) -> Holder | None:
        """Who does that work: this replica if nobody else does. None: it changed hands again and again.

        Raises: AuditUnavailableError: the database cannot be reached.
        """
        if self.holds(kind, job):
            return self.me
        place = kind, job
        for _ in range(_TRIES):
            began = self._clock()
            with self._database.write() as connection:
                is_mine = leases.take(connection, place, self.me, _milliseconds())
                other = None if is_mine else leases.find(connection, place)
            if is_mine:
                with self._lock:
                    self._until[place] = began + LEASE_SECONDS
                return self.me
            if other is not None:
                return other
        return None

    def find(self, kind: str, job: str) -> Holder | None:
        """Who does that work; None: nobody. Raises: AuditUnavailableError."""
        if self.holds(kind, job):
            return self.me
        with self._database.read() as connection:
            return leases.find(connection, (kind, job))

    def renew(self) -> set[Place]:
        """Prolong what is held; what was lost since. Called about once a second."""
        held = set(self._until)
        if held:
            began = self._clock()
            try:
                with self._database.write() as connection:
                    renewed = leases.renew(connection, held, self.me, _milliseconds())
            except AuditUnavailableError:
                renewed = {place for place in held if self.holds(*place)}  # until their time is over
            else:
                with self._lock:
                    self._until.update((p, began + LEASE_SECONDS) for p in renewed if p in self._until)
            self._drop(held - renewed)
            return held - renewed
        if self.is_shared and self._clock() - self._forgot > _FORGET_SECONDS:
            self._forgot = self._clock()
            with self._database.write() as connection:
                leases.forget_ended(connection)
        return set()

    def release(self, kind: str, job: str) -> None:
        """Give one up. Raises: AuditUnavailableError: then others wait for its end."""
        self._give_up({(kind, job)} & self._until.keys())

    def release_with(self, connection: Connection, kind: str, job: str) -> None:
        """Give one up with the transaction that ends its work."""
        place = kind, job
        if place in self._until:
            self._drop([place])
            leases.release(connection, [place], self.me)

    def release_all(self) -> None:
        """Give all up, for a replica that stops. Raises: AuditUnavailableError."""
        self._give_up(set(self._until))

    def _give_up(self, places: Collection[Place]) -> None:
        if not places:
            return
        self._drop(places)
        with self._database.write() as connection:
            leases.release(connection, places, self.me)

    def _drop(self, places: Collection[Place]) -> None:
        with self._lock:
            for place in places:
                self._until.pop(place, None)


def _milliseconds() -> int:
    return round(LEASE_SECONDS * 1000)
