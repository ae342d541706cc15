"""Where the members of a secret job stand: they tell, people see. Sizes and times only.

A report moves the deadline of a job that computes (`shared.protocol.progressing`), so it is signed and stored as
whatever else a job depends on; each replaces the one before, and none is in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cloud_service.service.admission import Admission
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.presence import Presence
from cloud_service.service.rates import Rates
from cloud_service.service.recording import Recorder
from cloud_service.store import jobs
from cloud_service.store.database import Database
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol import progressing
from shared.protocol.envelopes import Signer
from shared.protocol.polling import verify_progress
from shared.wire.secret import SignedProgress


@dataclass(frozen=True, slots=True)
class ProgressDoor:
    """`POST /v1/jobs/{job}/progress`."""

    database: Database
    admission: Admission
    signer: Signer
    aftermath: Aftermath
    rates: Rates
    presence: Presence
    clock: Callable[[], int]

    def take(self, job_id: str, signed: SignedProgress) -> None:
        """One report.

        Raises: PeerError: `malformed`: about another job; `unknown_agent`; `bad_signature`; `roster_mismatch`: no
            member; `late`: the job does not compute. RateLimitedError.
        """
        report, now = signed.progress, self.clock()
        agent = AgentId(report.agent)
        if report.job != job_id:
            raise PeerError(ErrorCode.MALFORMED, "progress: it is about another job than the address names")
        with self.database.read() as connection:
            if jobs.seat(connection, job_id, agent) is None:
                raise PeerError(
                    ErrorCode.ROSTER_MISMATCH, "progress: no job here to which the sender is invited"
                )
            certificate = self.admission.sender(connection, job_id, agent)
        verify_progress(signed, certificate.public_key, now)
        self.presence.saw(agent)
        self.rates.spend(agent)
        with self.database.write() as connection:
            stored = jobs.load(connection, job_id, lock=True)
            if stored is None:
                raise PeerError(ErrorCode.ROSTER_MISMATCH, "progress: no job here of that id")
            step = progressing.progressed(stored.job, report, now)
            recorder = Recorder(self.database, connection, stored, self.signer, now)
            recorder.take(step)
            news = recorder.finish()
        self.aftermath.follow(job_id, news)
