"""What takes several requests: a generator yields a call or a pause, and is sent the answer or thrown the refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from privet.client import calls
from privet.client.answers import Event, Job, JobSummary, Result, SignedIn
from privet.client.calls import Call
from privet.client.errors import ConflictError, JobFailedError, JobTimeoutError, SecondFactorError
from shared.errors import TemporaryError

T = TypeVar("T")
Progress = Callable[[Event], object]
"""Told of every event of a job, in order; `print` will do."""

LONG_WAIT_SECONDS: Final = 25.0
_PAGE: Final = 100
_QUICK_SECONDS: Final = 1.0
_LAST_EVENTS: Final = frozenset({"done", "ended"})


@dataclass(frozen=True, slots=True)
class Pause:
    """Do nothing for so many seconds."""

    seconds: float


Steps = Generator[Call[Any] | Pause, Any, T]


def sign_in(name: str, password: str, code: str) -> Steps[str]:
    """A session's token. Raises: SecondFactorError: the account needs one first. NotSignedInError."""
    found: SignedIn = yield calls.sign_in(name, password, code)
    if found.token is None:
        raise SecondFactorError(found.second_factor or "")
    return found.token


def job_pages(study_id: str | None, state: str | None) -> Steps[tuple[JobSummary, ...]]:
    """All jobs, page after page."""
    found: list[JobSummary] = []
    while True:
        page = yield calls.jobs(study_id, state, found[-1].id if found else None, _PAGE)
        found.extend(page)
        if len(page) < _PAGE:
            return tuple(found)


def cancel(job_id: str) -> Steps[Job]:
    """End a job; of one that is cancelled already, say so, since a lost answer is asked for again."""
    try:
        cancelled: Job = yield calls.cancel_job(job_id)
    except ConflictError:
        cancelled = yield calls.job(job_id)
        if cancelled.state != "CANCELLED":
            raise
    return cancelled


def next_events(job_id: str, after: int, until: float | None = None) -> Steps[tuple[Event, ...]]:
    """News of a job after an event; none where a long poll brought none.

    A proxy that holds no long polls cuts every quiet one, however long one is patient; so a poll is not repeated, and a
    short look follows it.
    Args: until: a time of the monotonic clock, after which nothing is waited for.
    """
    left = _left(until)
    wait = LONG_WAIT_SECONDS if left is None else min(LONG_WAIT_SECONDS, left)
    begun = time.monotonic()
    try:
        found: tuple[Event, ...] = yield calls.events(job_id, after, wait, within_seconds=0)
    except TemporaryError:
        found = yield calls.events(job_id, after, 0, left)
    if not found and time.monotonic() - begun < min(_QUICK_SECONDS, wait):
        yield Pause(_QUICK_SECONDS if left is None else min(_QUICK_SECONDS, left))
    return found


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.0, until - time.monotonic())


def is_last(events: Iterable[Event]) -> bool:
    """Whether the job is over by these."""
    return any(event.kind in _LAST_EVENTS for event in events)


def wait(job_id: str, timeout: float | None, progress: Progress | None) -> Steps[Job]:
    """Until a job is done.

    Raises: JobFailedError: it ended without a tree. JobTimeoutError: not over after `timeout` seconds.
    """
    watch = _Watch(job_id, timeout, progress)
    return (yield from watch.to_the_end())


def wait_for_result(job_id: str, timeout: float | None, progress: Progress | None) -> Steps[Result]:
    """Until every hospital of a job has attested its tree. Raises: as `wait`."""
    watch = _Watch(job_id, timeout, progress)
    job = yield from watch.to_the_end()
    while True:
        result: Result = yield calls.result(job_id)
        if not result.missing:
            yield from watch.the_rest()
            return result
        watch.check_time(job)
        yield from watch.hear()


class _Watch:
    """A job's story as far as it was told, and until when it is listened to."""

    def __init__(self, job_id: str, timeout: float | None, progress: Progress | None) -> None:
        self._job_id = job_id
        self._timeout = timeout
        self._until = None if timeout is None else time.monotonic() + timeout
        self._progress = progress
        self._last = 0

    def to_the_end(self) -> Steps[Job]:
        """Until the job is over, and all of its story is told."""
        while True:
            job: Job = yield replace(calls.job(self._job_id), within_seconds=_left(self._until))
            if job.is_over:
                yield from self.the_rest()
                if job.state != "DONE":
                    raise JobFailedError(job)
                return job
            self.check_time(job)
            while not is_last(found := (yield from self.hear())) and found and not self._is_late:
                pass

    def the_rest(self) -> Steps[None]:
        """Tell what there is and was not told."""
        while self._tell((yield calls.events(self._job_id, self._last, 0))):
            pass

    def hear(self) -> Steps[tuple[Event, ...]]:
        """Wait for news, and tell them."""
        return self._tell((yield from next_events(self._job_id, self._last, self._until)))

    def _tell(self, found: tuple[Event, ...]) -> tuple[Event, ...]:
        for event in found:
            self._last = event.id
            if self._progress is not None:
                self._progress(event)
        return found

    @property
    def _is_late(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def check_time(self, job: Job) -> None:
        """Raises: JobTimeoutError: the time to wait is over."""
        if self._is_late:
            raise JobTimeoutError(job, self._timeout or 0.0)
