"""Wakes the long polls of other replicas at once: the keys of `notifier` travel by the database's LISTEN and NOTIFY.

A hint only, sent after the commit and without a promise. Whoever hears nothing finds the news by looking, once a second
(`cloud_service.service.housekeeping`). A replica knows that it hears because it hears itself: through a pool of
connections that hands out another one at each turn, for example, it would not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final

import structlog

from cloud_service.service.housekeeping import Worker
from cloud_service.service.notifier import EVERYTHING, Notifier
from cloud_service.store import hints
from cloud_service.store.database import AuditUnavailableError, Database
from shared.rng import random_bytes

_log = structlog.get_logger()
_TURN_SECONDS: Final = 0.25
_ECHO_SECONDS: Final = 2.0
"""How often it tells itself something."""
_DEAF_SECONDS: Final = 5.0
"""After so long without an echo it looks for itself."""
_AGAIN_SECONDS: Final = 1.0


class Hints:
    """Of one replica. `spread` and `hear` each belong to a worker's thread; `put` may come from any."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self.is_due = threading.Event()
        self._database = database
        self._notifier = notifier
        self._me = random_bytes(8).hex()
        self._keys: set[str] = set()
        self._lock = threading.Lock()
        self._ear: hints.Ear | None = None
        self._echo = self._told = float("-inf")
        self._is_over = False
        if not database.is_sqlite:
            notifier.spread = self.put

    def workers(self) -> tuple[Worker, ...]:
        """The threads that do it; none where one process is all there is."""
        if self._database.is_sqlite:
            return ()
        return (
            Worker("hints told", self.spread, _AGAIN_SECONDS, self.is_due),
            Worker("hints heard", self.hear, 0.0, threading.Event()),
        )

    @property
    def is_hearing(self) -> bool:
        """Whether what other replicas tell comes here."""
        return time.monotonic() - self._echo < _DEAF_SECONDS

    def put(self, keys: Iterable[str]) -> None:
        """Let other replicas wake who waits under these keys."""
        with self._lock:
            self._keys.update(keys)
        self.is_due.set()

    def spread(self) -> None:
        """Tell what was put. Raises: AuditUnavailableError: then nobody is told."""
        with self._lock:
            keys, self._keys = self._keys, set()
        if keys:
            hints.tell(self._database, list(_texts(self._me, sorted(keys))))

    def hear(self) -> None:
        """Listen for a moment."""
        try:
            self._hear()
        except AuditUnavailableError:
            if self._ear is not None:
                _log.warning("hints of other replicas do not come; looking once a second")
            self.close()
            time.sleep(_AGAIN_SECONDS)

    def close(self) -> None:
        """Listen no more."""
        self._echo = float("-inf")
        if self._ear is not None:
            self._ear.close()
            self._ear = None

    def end(self) -> None:
        """Listen no more, whatever a thread that outlives the stop does yet."""
        self._is_over = True
        self.close()

    def _hear(self) -> None:
        if self._is_over:
            return
        if self._ear is None:
            self._ear = hints.open_ear(self._database)
            self._told = float("-inf")
            self._notifier.wake_here([EVERYTHING])  # for what was told while nobody listened
        if time.monotonic() - self._told > _ECHO_SECONDS:
            self._told = time.monotonic()
            self._ear.tell(self._me)
        for text in self._ear.texts(_TURN_SECONDS):
            sender, *keys = text.split("\n")
            if sender != self._me:
                self._notifier.wake_here(keys)
            elif not keys:
                self._echo = time.monotonic()


def _texts(me: str, keys: Iterable[str]) -> Iterator[str]:
    text = me
    for key in keys:
        if len(text) + len(key) >= hints.MOST_BYTES:
            yield text
            text = me
        text += "\n" + key
    yield text
