"""Background work over many jobs: the fault of one does not keep the others waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog

from cloud_service.store.database import kind_of
from shared.ids import JobId

_log = structlog.get_logger()


def for_each_job(jobs: Iterable[JobId], work: Callable[[JobId], object]) -> int:
    """Do `work` for each job; for how many it came to something. A fault is logged, and met again next time."""
    done = 0
    for job in jobs:
        try:
            done += bool(work(job))
        except Exception as error:
            _log.error("background work failed", job=job, error=kind_of(error))
    return done
