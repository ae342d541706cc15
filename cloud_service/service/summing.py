"""The worker that adds: complete rounds in, one aggregate out, off the event loop and outside any lock.

A lease keeps other replicas from summing the same round meanwhile. Should two do it all the same, the job's lock and
the unique key of `aggregates` let one of them win (rule C2).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog
from sqlalchemy.exc import IntegrityError

from cloud_service.service.aftermath import Aftermath
from cloud_service.service.each_job import for_each_job
from cloud_service.service.federation import Membership
from cloud_service.service.leases import Leases
from cloud_service.service.meters import count_sum
from cloud_service.service.recording import Recorder
from cloud_service.service.telemetry import TRACES
from cloud_service.store import jobs, messages
from cloud_service.store.database import Database
from cloud_service.store.jobs import StoredJob
from shared.errors import PeerError
from shared.ids import AgentId, JobId
from shared.protocol import coordinator
from shared.protocol.effects import Forwarded
from shared.protocol.envelopes import Signer, unseal
from shared.protocol.states import CloudState
from shared.protocol.sums import (
    CheckedContribution,
    CloudKeys,
    check_contribution,
    compute_sum,
    forwarded,
)

_log = structlog.get_logger()
LEASE: Final = "sum"
"""The kind of the leases under which a replica sums."""


@dataclass(frozen=True, slots=True)
class Summer:
    """Computes and commits the sums of complete rounds. is_stopping: no more work is begun, nor gone on with."""

    database: Database
    membership: Membership
    signer: Signer
    aftermath: Aftermath
    leases: Leases
    clock: Callable[[], int]
    is_stopping: threading.Event = field(default_factory=threading.Event)

    def sum_complete_rounds(self) -> int:
        """Sum every round that waits for it; the number of aggregates committed."""
        with self.database.read() as connection:
            waiting = jobs.complete_rounds(connection)
        return for_each_job(waiting, self.sum_round)

    def sum_round(self, job_id: JobId) -> bool:
        """Sum the open round of a job, unless another replica does; whether this call committed the aggregate."""
        if self.is_stopping.is_set() or self.leases.take(LEASE, job_id) != self.leases.me:
            return False
        try:
            with TRACES.span("sum"):
                return self._sum(job_id)
        finally:
            self.leases.release(LEASE, job_id)

    def _sum(self, job_id: JobId) -> bool:
        with self.database.read() as connection:
            stored = jobs.load(connection, job_id)
            if stored is None or not _is_complete(stored):
                return False
            checked = self.aftermath.checked.of_round(stored.job)
            missing = [agent for agent in stored.job.roster if agent not in checked]
            forwards = stored.job.manifest.key_mode == "threshold"
            kept = messages.contributions(connection, job_id) if missing or forwards else {}
        began = time.thread_time()
        keys = self.membership.keys_of(stored.job.manifest)
        for agent in missing:
            if self.is_stopping.is_set():
                return False
            if agent in kept:
                checked[agent] = _check_again(stored, kept[agent], keys)
        if set(stored.job.roster) - checked.keys():
            return False  # another worker has summed this round and deleted its contributions
        if forwards and set(stored.job.roster) - kept.keys():
            return False
        sums = compute_sum(stored.job, checked, keys.public)
        evidence = _forwarded(stored, kept, checked, keys) if forwards else None
        return self._commit(stored, sums, evidence, round((time.thread_time() - began) * 1e6))

    def _commit(
        self, stored: StoredJob, sums: list[str], evidence: Forwarded | None, microseconds: int
    ) -> bool:
        job_id = stored.job.manifest.job
        now = self.clock()
        count_sum(microseconds)
        try:
            with self.database.write() as connection:
                latest = jobs.glance(connection, job_id, lock=True)
                if latest is None:
                    return False
                step = coordinator.summed(
                    latest.job, stored.job.round, stored.job.attempt, sums, now, evidence
                )
                recorder = Recorder(self.database, connection, latest, self.signer, now)
                recorder.spent("cpu:sum", microseconds)
                recorder.take(step)
                news = recorder.finish()
                self.leases.release_with(connection, LEASE, job_id)
        except (PeerError, IntegrityError):
            _log.info("sum thrown away", job=job_id, round=stored.job.round)
            return False
        self.aftermath.follow(job_id, news)
        return True


def _is_complete(stored: StoredJob) -> bool:
    return stored.job.state is CloudState.COLLECTING and not stored.job.waiting_for


def _forwarded(
    stored: StoredJob,
    kept: Mapping[AgentId, bytes],
    checked: Mapping[AgentId, CheckedContribution],
    keys: CloudKeys,
) -> Forwarded:
    """Key mode threshold: the contributions as they came. They are deleted with the step that queues them again."""
    signed = {agent: unseal(kept[agent], max_bytes=len(kept[agent])).signed for agent in stored.job.roster}
    return forwarded(stored.job, signed, checked, keys.public)


def _check_again(stored: StoredJob, raw: bytes, keys: CloudKeys) -> CheckedContribution:
    """A stored contribution after a restart: its seed is unwrapped anew, because it is never stored."""
    return check_contribution(stored.job, unseal(raw, max_bytes=len(raw)).envelope, keys)
