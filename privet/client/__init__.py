"""The people's API of a cloud from Python: `Client`, and `AsyncClient` with the same methods to await.

    with Client.from_environment() as cloud:
        job = cloud.start_job("fever", criterion="gain-ratio")
        print(cloud.wait(job.id, progress=print).state)

`calls` says which request an answer needs and how it is read, `conversations` what takes several; both do no I/O.
`blocking` and `awaiting` carry them, over the requests and refusals of `carrying`.
"""

from privet.client.access import Access
from privet.client.answers import Event, Hospital, Job, JobSummary, PublishedTree, Result, Study, StudySummary
from privet.client.awaiting import AsyncClient
from privet.client.blocking import Client
from privet.client.errors import (
    ApiError,
    BusyError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    JobFailedError,
    JobTimeoutError,
    NotFoundError,
    NotPublishedError,
    NotSignedInError,
    OutcomeUnknownError,
    SecondFactorError,
    UnexpectedAnswerError,
    UnreachableError,
)
from privet.client.rules import JobRules, StudyRules

__all__ = [
    "Access",
    "ApiError",
    "AsyncClient",
    "BusyError",
    "Client",
    "ConflictError",
    "Event",
    "ForbiddenError",
    "Hospital",
    "InvalidInputError",
    "Job",
    "JobFailedError",
    "JobRules",
    "JobSummary",
    "JobTimeoutError",
    "NotFoundError",
    "NotPublishedError",
    "NotSignedInError",
    "OutcomeUnknownError",
    "PublishedTree",
    "Result",
    "SecondFactorError",
    "Study",
    "StudyRules",
    "StudySummary",
    "UnexpectedAnswerError",
    "UnreachableError",
]
