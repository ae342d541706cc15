"""What people see of jobs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from cloud_service.store.jobs import StoredJob
from cloud_service.store.journal import Cost, Event
from shared.protocol.growing_words import growing_words
from shared.protocol.job import Job, Member
from shared.protocol.noise_words import noise_words
from shared.protocol.waiting import of_job
from shared.wire.manifest import (
    MAX_ATTRIBUTES,
    Criterion,
    KeyMode,
    Profile,
)
from shared.wire.secret import Progress
from shared.wire.tally import SelectionSpec, TallySpec


class ProgressOut(BaseModel):
    """Where a member of a secret job stands, as it told last; `reported` in Unix seconds of the cloud's clock.

    `remaining_seconds`: its estimate, null while it has no ground for one. `waiting_for`: whose frames it waits for.
    """

    reported: int
    part: str
    phase: str
    layer: int
    layers: int
    rounds: int
    sent_bytes: int
    seconds: int
    remaining_seconds: int | None
    waiting_for: list[str]
    waiting_seconds: int
    channel: str | None


class MemberOut(BaseModel):
    """One invited hospital. `answer`: `accepted`, `pending`, or the code it declined with."""

    id: str
    answer: str
    in_roster: bool
    has_contributed: bool
    has_given_partial: Annotated[bool, Field(description="Of a job in OPENING: its part of the round")]
    has_decided: bool
    has_attested: bool
    progress: Annotated[ProgressOut | None, Field(description="Of a secret job")] = None


class CostOut(BaseModel):
    """`in:` and `out:` kinds count messages and their bytes, `cpu:` kinds work and microseconds.

    `relay:frames`: sealed frames between members and their bytes, added a few times a minute.
    """

    kind: str
    count: int
    amount: int


class JobSummary(BaseModel):
    """A job in a list. Times are Unix seconds."""

    id: str
    study: str
    profile: Profile
    criterion: Criterion
    state: Annotated[str, Field(examples=["COLLECTING"])]
    round: Annotated[
        int, Field(description="The open round, counted from 0; sentences for people count from 1")
    ]
    attempt: int
    paused: bool
    failure: Annotated[str | None, Field(description="Code of protocol section 13, when it failed")]
    created: int
    started: int | None
    finished: int | None


class NoiseOut(BaseModel):
    """The noise of a job, and what it means. `epsilon_at_most`: of all rounds that there may be."""

    sigma_squared: int
    untrusted: int
    delta: str
    epsilon_at_most: str
    meaning: list[str]


class WaitingOut(BaseModel):
    """A wait, in words for people. `who`: ids of hospitals, or `the cloud`; times are Unix seconds.

    `until`: null where no deadline ends it. `then`: what happens at `until`, or once it is over.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "who": ["h2"],
                "what": "the contribution to round 2",
                "since": 1796000000,
                "until": 1796003600,
                "then": "the job pauses for 1 day, then it fails",
            }
        }
    )

    who: list[str]
    what: str
    since: int
    until: int | None
    then: str


class JobOut(JobSummary):
    """A job in full. `waiting` says in words what the older `waiting_for`, `_since` and `_until` say in part."""

    manifest_sha256: str
    key_mode: Annotated[KeyMode, Field(description="Who can open a sum: each hospital, or several together")]
    threshold: Annotated[int | None, Field(description="Of key mode threshold: how many open a sum together")]
    slots: Annotated[int, Field(description="Cells asked for in the open round")]
    waiting_for: list[str]
    waiting_since: int | None
    waiting_until: int | None
    waiting: Annotated[WaitingOut | None, Field(description="Null once nothing more is to come")]
    members: list[MemberOut]
    longest_silent: Annotated[
        str | None,
        Field(description="Of a secret job that computes: the compute party that told least lately"),
    ]
    log_head: str
    costs: list[CostOut]
    noise: Annotated[NoiseOut | None, Field(description="Of a job with differential privacy")] = None
    growing: Annotated[
        list[str], Field(description="Least gain, class weights and pruning, in words; empty without")
    ] = []
    tally: Annotated[TallySpec | None, Field(description="Of a job that only counts")] = None
    selection: Annotated[SelectionSpec | None, Field(description="Of a job on a part of the records")] = None


class JobList(BaseModel):
    """Jobs from the newest on. `next`: give it as `before` to go on; null at the end."""

    jobs: list[JobSummary]
    next: str | None


class EventOut(BaseModel):
    """One line of a job's story."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"id": 7, "time": 1796000000, "kind": "accepted", "data": {"hospital": "h1"}}
        }
    )

    id: int
    time: int
    kind: str
    data: dict[str, Any]


class EventList(BaseModel):
    """Events in order. Give the last id as `after` to go on."""

    events: list[EventOut]


class ResultOut(BaseModel):
    """`tree_sha256`: what all attested alike; null while some are `missing`, or if they differ.

    Of a secret job whose tree not every member learns, it is the hash of the commitments to the shared result.
    """

    job: str
    tree_sha256: str | None
    attested: Annotated[dict[str, str], Field(description="Hospital to the tree's SHA-256 it attested")]
    missing: list[str]
    is_published: bool


class TreeOut(BaseModel):
    """A published tree in indices (protocol section 4), with what they stand for."""

    model_config = ConfigDict(populate_by_name=True)

    tree_sha256: str
    tree: Annotated[dict[str, Any], Field(description='`{"attr":a,"kids":[...]}` or `{"leaf":c}`')]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class RecordIn(BaseModel):
    """A record by attribute names."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"record": {"nausea": "1"}}})

    record: Annotated[dict[str, str | int | float | None], Field(max_length=MAX_ATTRIBUTES)]


class PredictionOut(BaseModel):
    """The class, the path in words, and a note when a value was missing or unseen."""

    label: str
    path: str
    note: str | None
    tree_sha256: str


def summary_of(stored: StoredJob) -> JobSummary:
    """A job for a list."""
    return JobSummary(**_summary(stored))


def _summary(stored: StoredJob) -> dict[str, Any]:
    job = stored.job
    return {
        "id": job.manifest.job,
        "study": stored.study,
        "profile": job.manifest.profile,
        "criterion": job.manifest.criterion,
        "state": job.state.value,
        "round": job.round,
        "attempt": job.attempt,
        "paused": job.paused_since is not None,
        "failure": job.failure,
        "created": stored.created,
        "started": stored.started,
        "finished": stored.finished,
    }


def job_of(stored: StoredJob, costs: list[Cost]) -> JobOut:
    """A job in full."""
    job = stored.job
    waits = bool(job.waiting_for)
    return JobOut(
        **_summary(stored),
        manifest_sha256=job.mh,
        key_mode=job.manifest.key_mode,
        threshold=job.manifest.threshold,
        slots=job.slots,
        waiting_for=list(job.waiting_for),
        waiting_since=job.waiting_since if waits else None,
        waiting_until=_until(job) if waits else None,
        waiting=_waiting(job),
        members=[_member(job, member) for member in job.members.values()],
        longest_silent=job.longest_silent,
        log_head=job.head,
        costs=[CostOut(kind=cost.kind, count=cost.count, amount=cost.amount) for cost in costs],
        noise=_noise(job),
        growing=growing_words(job.manifest),
        tally=job.manifest.tally,
        selection=job.manifest.selection,
    )


def _waiting(job: Job) -> WaitingOut | None:
    found = of_job(job)
    return None if found is None else WaitingOut(**found.document)


def _noise(job: Job) -> NoiseOut | None:
    words = noise_words(job.manifest)
    if words is None or job.manifest.noise is None:
        return None
    return NoiseOut(
        **job.manifest.noise.model_dump(), epsilon_at_most=str(words.epsilon), meaning=list(words.sentences)
    )


def _until(job: Job) -> int:
    """The deadline; of a paused job, when it fails."""
    return (
        job.deadline if job.paused_since is None else job.paused_since + job.manifest.deadlines.pause_seconds
    )


def _member(job: Job, member: Member) -> MemberOut:
    return MemberOut(
        id=member.id,
        answer=member.declined or ("pending" if member.accept is None else "accepted"),
        in_roster=member.id in job.roster,
        has_contributed=member.contributed is not None,
        has_given_partial=member.partial is not None,
        has_decided=member.decision is not None,
        has_attested=member.attested is not None,
        progress=None if member.progress is None else _progress(member.progress, member.reported or 0),
    )


def _progress(progress: Progress, reported: int) -> ProgressOut:
    return ProgressOut(reported=reported, **progress.model_dump(exclude={"agent", "job", "time"}))


def event_of(event: Event) -> EventOut:
    """One line of the story."""
    return EventOut(id=event.id, time=event.time, kind=event.kind, data=event.data)
