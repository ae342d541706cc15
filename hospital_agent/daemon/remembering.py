"""Whether the cloud remembers this hospital's jobs as this hospital does: what is told to it, what is done if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shared.errors import JobCode
from shared.protocol.history import JobSeen

if TYPE_CHECKING:
    from hospital_agent.daemon.casework import Casework

FORGOT: Final = (
    "the cloud and this agent remember this job differently: another {kind} was taken in the place of this one. Was "
    "this folder, or the cloud, put back from a backup? The job is ended rather than gone on with"
)
"""The reason where the cloud refuses an own message because it knows another one in its place."""
_FORGOTTEN: Final = (
    "the cloud has this job no more as this hospital saw it: it was put back from a backup, or has deleted the job. "
    "Nothing more leaves this hospital for it; the study can be begun anew"
)


def seen(casework: Casework) -> list[JobSeen]:
    """What was seen of each job that runs, for the cloud to compare with what it remembers."""
    answered = casework.office.journal.answered()
    return [
        JobSeen(job=job, heard=case.participation.cloud_seq + 1, answered=answered.get(job, 0))
        for job, case in casework.cases.items()
    ]


def lose(casework: Casework, jobs: Sequence[str]) -> None:
    """End the jobs that the cloud has no more as they were seen here."""
    for job in jobs:
        case = casework.cases.get(job)
        if case is not None:
            casework.give_up(case, JobCode.HISTORY_LOST, _FORGOTTEN)
