"""Contributions that passed the door, kept in memory until they are summed.

A cache and nothing more: mask seeds are never stored, and after a restart they are unwrapped again from the stored
messages, as another replica does that sums what was checked here. What does not fit is checked a second time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from shared.ids import AgentId
from shared.protocol.job import Job
from shared.protocol.sums import CheckedContribution

_MAX_BYTES: Final = 256 * 2**20


@dataclass(slots=True)
class _Round:
    """Of the open round and attempt of a job."""

    place: tuple[int, int]
    checked: dict[AgentId, CheckedContribution] = field(default_factory=dict)


class CheckedContributions:
    """By job and agent, of the newest round and attempt; bounded in bytes."""

    def __init__(self) -> None:
        self._kept: dict[str, _Round] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def put(self, job: Job, agent: AgentId, checked: CheckedContribution) -> None:
        """Keep one, if there is room."""
        size, name, place = _size(checked), job.manifest.job, (job.round, job.attempt)
        with self._lock:
            kept = self._kept.get(name)
            if kept is None or kept.place != place:
                # What is left of an earlier round was summed at another replica.
                self._drop(name)
                kept = self._kept[name] = _Round(place)
            if self._bytes + size <= _MAX_BYTES:
                kept.checked[agent] = checked
                self._bytes += size

    def of_round(self, job: Job) -> dict[AgentId, CheckedContribution]:
        """Those of the job's open round and attempt that are here."""
        with self._lock:
            kept = self._kept.get(job.manifest.job)
            return dict(kept.checked) if kept and kept.place == (job.round, job.attempt) else {}

    def forget(self, job_id: str) -> None:
        """All of a job: they are summed, or of no more use."""
        with self._lock:
            self._drop(job_id)

    def jobs(self) -> set[str]:
        """Of which something is kept."""
        with self._lock:
            return set(self._kept)

    def _drop(self, job_id: str) -> None:
        kept = self._kept.pop(job_id, None)
        if kept is not None:
            self._bytes -= sum(map(_size, kept.checked.values()))


def _size(checked: CheckedContribution) -> int:
    return sum(map(len, checked.ciphertexts))
