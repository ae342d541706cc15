"""Contributions that passed the door, kept in memory until they are summed.

A cache and nothing more: mask seeds are never stored, and after a restart they are unwrapped again from the stored
messages. What does not fit is checked a second time.
"""

from __future__ import annotations

import threading
from typing import Final

from shared.ids import AgentId
from shared.protocol.job import Job
from shared.protocol.sums import CheckedContribution

_MAX_BYTES: Final = 256 * 2**20

Key = tuple[str, int, int, AgentId]


class CheckedContributions:
    """By (job, round, attempt, agent); bounded in bytes."""

    def __init__(self) -> None:
        self._kept: dict[Key, CheckedContribution] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, job: Job, agent: AgentId, checked: CheckedContribution) -> None:
        """Keep one, if there is room."""
        size = _size(checked)
        with self._lock:
            if self._bytes + size <= _MAX_BYTES:
                self._kept[job.manifest.job, job.round, job.attempt, agent] = checked
                self._bytes += size

    def of_round(self, job: Job) -> dict[AgentId, CheckedContribution]:
        """Those of the job's open round and attempt that are here."""
        here = (job.manifest.job, job.round, job.attempt)
        with self._lock:
            return {key[3]: checked for key, checked in self._kept.items() if key[:3] == here}

    def forget(self, job_id: str) -> None:
        """All of a job: they are summed, or of no more use."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == job_id]:
                self._bytes -= _size(self._kept.pop(key))


def _size(checked: CheckedContribution) -> int:
    return sum(map(len, checked.ciphertexts))
