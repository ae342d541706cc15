"""A database that has forgotten what agents saw: noticed, told, and never gone on from.

Three signs: an agent's signed claim of what it has heard and been answered (`shared.protocol.history`), its place in
the inbox beyond the ids that were ever given out here, and its message that follows one that is not here. The jobs
concerned end as `history_lost` with the claim as evidence. `privet cloud restore` ends all of them by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import structlog
from sqlalchemy import Connection, RowMapping

from cloud_service.service import acts
from cloud_service.service.aftermath import Aftermath
from cloud_service.service.recording import Recorder
from cloud_service.store import history, jobs
from cloud_service.store.database import Database
from shared.errors import JobCode
from shared.ids import AgentId, JobId
from shared.protocol import stages
from shared.protocol.effects import Note
from shared.protocol.envelopes import Signer
from shared.protocol.history import LEAP, JobSeen, Seen
from shared.protocol.job import Step
from shared.protocol.states import TERMINAL_CLOUD_STATES

_log = structlog.get_logger()
_OVER: Final = frozenset(state.value for state in TERMINAL_CLOUD_STATES)
RESTORE: Final = "restore"
"""Who noticed, where it was not an agent."""


@dataclass(frozen=True, slots=True)
class History:
    """Compares, and ends jobs."""

    database: Database
    signer: Signer
    aftermath: Aftermath
    clock: Callable[[], int]

    def follow_cursor(self, agent: AgentId, after: int) -> None:
        """End the agent's jobs if its place in the inbox was never given out here, and pass over that place.

        One call passes over `LEAP` places at most, so that a made-up place costs whoever claims it, and nobody else.
        """
        with self.database.read() as connection:
            if after <= history.highest_id(connection):
                return
        with self.database.write() as connection:
            self.database.lock_outbox(connection)
            if after > (highest := history.highest_id(connection)):
                history.raise_ids(connection, min(after, highest + LEAP))
            lost = history.living(connection, agent)
        self._alert(agent, lost)
        for job in lost:
            self.lose(job, agent, b"")

    def forgotten(self, agent: AgentId, seen: Seen, raw: bytes) -> list[JobId]:
        """The claimed jobs that are not here any more as the agent saw them; those that run here are ended.

        Args: raw: the claim as it was signed, kept as evidence.
        """
        if not seen.jobs:
            return []
        with self.database.read() as connection:
            known = history.standing(connection, agent, [claim.job for claim in seen.jobs])
        lost = []
        for claim in seen.jobs:
            row = known.get(claim.job)
            ahead = row is None or _is_ahead(claim, row["chain_seq"], row["answered"])
            if ahead or (row is not None and _is_gone(row)):
                lost.append(JobId(claim.job))
            # Who takes no part may say what it likes: others' jobs do not depend on it.
            if ahead and row is not None and row["takes_part"] and row["state"] not in _OVER:
                self._alert(agent, [JobId(claim.job)])
                self.lose(JobId(claim.job), agent, raw)
        return lost

    def lose(self, job_id: JobId, noticed_by: str, claim: bytes) -> None:
        """End one job as `history_lost`; nothing for one that is over."""
        now = self.clock()
        with self.database.write() as connection:
            stored = jobs.load(connection, job_id, lock=True)
            if stored is None or stored.job.is_over:
                return
            if claim:
                history.keep_claim(connection, job_id, noticed_by, stored.job.head, claim, now)
            recorder = Recorder(self.database, connection, stored, self.signer, now)
            lose_in(recorder, noticed_by)
            news = recorder.finish()
            details = {"noticed_by": noticed_by}
            acts.record(
                connection, actor=acts.PROGRAM, act="history_lost", subject=job_id, now=now, details=details
            )
        self.aftermath.follow(job_id, news)

    def lose_all(self, connection: Connection) -> list[JobId]:
        """After a restore, inside its transaction: end every running job, and give out no id or place a second time."""
        now = self.clock()
        self.database.lock_outbox(connection)
        history.raise_ids(connection, history.highest_id(connection) + LEAP)
        lost = history.living(connection)
        for job_id in lost:
            stored = jobs.load(connection, job_id, lock=True)
            if stored is not None:
                recorder = Recorder(self.database, connection, stored, self.signer, now)
                lose_in(recorder, RESTORE)
                recorder.finish()
        return lost

    def _alert(self, agent: AgentId, lost: Iterable[JobId]) -> None:
        _log.error(
            "history lost: this database is older than what an agent saw",
            agent=agent,
            jobs=list(lost),
            remedy="was it put back from a backup by other means than privet cloud restore? Begin these jobs anew",
        )


def lose_in(recorder: Recorder, noticed_by: str, code: JobCode = JobCode.HISTORY_LOST) -> None:
    """End the recorder's job, in a message with a place beyond any that a member can have seen."""
    recorder.leap()
    step = stages.fail(recorder.job, code)
    recorder.take(Step(step.job, (Note("history_lost", {"noticed_by": noticed_by}), *step.effects)))


def _is_gone(row: RowMapping) -> bool:
    """Whether a job's end cannot reach the agent by its inbox: deleted, or told in a code that it did not know then."""
    return row["cleared"] is not None or row["failure"] == JobCode.HISTORY_LOST.value


def _is_ahead(claim: JobSeen, chain_seq: int, answered: int) -> bool:
    return claim.heard > chain_seq or claim.answered > answered
