"""What the clock brings: deadlines, news from other replicas, and tidying. And the threads that do it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from cloud_service.service.aftermath import Aftermath
from cloud_service.service.each_job import for_each_job
from cloud_service.service.meters import turn_of
from cloud_service.service.notifier import EVERYTHING
from cloud_service.service.presence import Presence
from cloud_service.service.recording import Recorder
from cloud_service.store import jobs, journal, outbox
from cloud_service.store.database import Database, kind_of
from shared.ids import JobId
from shared.protocol import coordinator
from shared.protocol.envelopes import Signer
from shared.protocol.states import CloudState

_log = structlog.get_logger()
_PRESENCE_SECONDS: Final = 15
_LOOK_SECONDS: Final = 5


@dataclass(slots=True)
class Housekeeper:
    """Called about once a second. is_hearing: whether other replicas tell at once what they write."""

    database: Database
    signer: Signer
    aftermath: Aftermath
    presence: Presence
    clock: Callable[[], int]
    is_hearing: Callable[[], bool] = bool
    _seen: tuple[int, int] = (0, 0)
    _looked: int = 0
    _saved: int = field(default=0)

    def keep(self) -> None:
        """One round of everything."""
        now = self.clock()
        with self.database.read() as connection:
            overdue = jobs.overdue(connection, now)
            newest = (outbox.newest(connection), journal.newest_event(connection))
        for_each_job(overdue, self.tick)
        if newest != self._seen and self._must_look(now):
            # Another replica may have written what somebody waits for here.
            self._seen = newest
            self.aftermath.notifier.wake_here([EVERYTHING])
        if self.aftermath.was_deleted.is_set():
            self.aftermath.was_deleted.clear()
            self.database.forget_deleted()
        if abs(now - self._saved) >= _PRESENCE_SECONDS:  # also after the clock was put back
            self._saved = now
            self.presence.save(self.database)
            self._forget_checked()

    def _forget_checked(self) -> None:
        """Contributions that were checked here and summed at another replica."""
        kept = self.aftermath.checked.jobs()
        with self.database.read() as connection:
            over = [job for job in kept if jobs.state(connection, job) is not CloudState.COLLECTING]
        for job in over:
            self.aftermath.checked.forget(job)

    def _must_look(self, now: int) -> bool:
        """Every time, or now and then while other replicas tell what they write."""
        if self.is_hearing() and abs(now - self._looked) < _LOOK_SECONDS:
            return False
        self._looked = now
        return True

    def tick(self, job_id: JobId) -> None:
        """Let a job see the time; not while another replica has it at hand."""
        now = self.clock()
        with self.database.write() as connection:
            stored = jobs.load_free(connection, job_id)
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

    def end(self) -> None:
        """Begin no more work."""
        self._stopping = True
        self._wake.set()

    def stop(self, seconds: float | None = None) -> None:
        """End after the work at hand. Args: seconds: how long to wait for that; the process may end without it."""
        self.end()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(self._seconds)
            self._wake.clear()
            if self._stopping:
                return
            try:
                with turn_of(self._thread.name):
                    self._work()
            except (
                Exception
            ) as error:  # the next round may succeed; without the thread every job would stand still
                _log.error("background work failed", error=kind_of(error))
