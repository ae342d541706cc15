"""What the clock brings: deadlines, news from other replicas, and tidying. And the threads that do it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from cloud_service.service.aftermath import Aftermath
from cloud_service.service.each_job import for_each_job
from cloud_service.service.notifier import EVERYTHING
from cloud_service.service.presence import Presence
from cloud_service.service.recording import Recorder
from cloud_service.store import jobs, journal, outbox
from cloud_service.store.database import Database
from shared.ids import JobId
from shared.protocol import coordinator
from shared.protocol.envelopes import Signer

_log = structlog.get_logger()
_PRESENCE_SECONDS: Final = 15


@dataclass(slots=True)
class Housekeeper:
    """Called about once a second."""

    database: Database
    signer: Signer
    aftermath: Aftermath
    presence: Presence
    clock: Callable[[], int]
    _seen: tuple[int, int] = (0, 0)
    _saved: int = field(default=0)

    def keep(self) -> None:
        """One round of everything."""
        now = self.clock()
        with self.database.read() as connection:
            overdue = jobs.overdue(connection, now)
            newest = (outbox.newest(connection), journal.newest_event(connection))
        for_each_job(overdue, self.tick)
        if newest != self._seen:
            # Another replica may have written what somebody waits for here.
            self._seen = newest
            self.aftermath.notifier.wake([EVERYTHING])
        if self.aftermath.was_deleted.is_set():
            self.aftermath.was_deleted.clear()
            self.database.forget_deleted()
        if now - self._saved >= _PRESENCE_SECONDS:
            self._saved = now
            self.presence.save(self.database)

    def tick(self, job_id: JobId) -> None:
        """Let a job see the time."""
        now = self.clock()
        with self.database.write() as connection:
            stored = jobs.load(connection, job_id, lock=True)
            if stored is None:
                return
            step = coordinator.tick(stored.job, now)
            if step.job == stored.job and not step.effects:
                return
            recorder = Recorder(self.database, connection, stored, self.signer, now)
            recorder.take(step)
            news = recorder.finish()
        self.aftermath.follow(job_id, news)


class Worker:
    """A thread that works when woken, and every `seconds` in any case; a fault is logged and survived."""

    def __init__(self, name: str, work: Callable[[], object], seconds: float, wake: threading.Event) -> None:
        self._work = work
        self._seconds = seconds
        self._wake = wake
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin; works at once, for what a stopped process may have left."""
        self._wake.set()
        self._thread.start()

    def stop(self) -> None:
        """End after the work at hand."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(self._seconds)
            self._wake.clear()
            if self._stopping:
                return
            try:
                self._work()
            except (
                Exception
            ) as error:  # the next round may succeed; without the thread every job would stand still
                _log.error("background work failed", error=type(error).__name__)
