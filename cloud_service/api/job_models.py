"""What people send and see of jobs."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from cloud_service.api.tally_models import SelectionIn, TallyIn
from cloud_service.service.planning import JobPlan, Mode, NoisePlan, SecretPlan
from cloud_service.store.jobs import StoredJob
from cloud_service.store.journal import Cost, Event
from shared.ids import ID_PATTERN
from shared.protocol.growing_words import growing_words
from shared.protocol.job import Job, Member
from shared.protocol.noise_words import noise_words
from shared.protocol.waiting import of_job
from shared.wire.base import DecimalText
from shared.wire.growing import MAX_CLASS_WEIGHT, PruningSpec, Share
from shared.wire.manifest import (
    MAX_AGENTS,
    MAX_ATTRIBUTES,
    Criterion,
    Deadlines,
    KeyMode,
    PaillierProfile,
    Profile,
    Thresholds,
)
from shared.wire.secret import COMPUTE_PARTIES, MAX_RECORDS, Progress, Purpose, ResultKind
from shared.wire.tally import SelectionSpec, TallySpec

Id = Annotated[str, Field(pattern=ID_PATTERN)]
_PLAN: Final = JobPlan()
_SECRET: Final = SecretPlan()


class SecretIn(BaseModel):
    """What a job of mode id3 or gain-ratio says beyond the others; all has defaults."""

    model_config = ConfigDict(extra="forbid")

    compute_parties: Annotated[
        list[Id] | None,
        Field(
            min_length=COMPUTE_PARTIES,
            max_length=COMPUTE_PARTIES,
            description="The three that compute on shares, in order; by default the first three invited",
        ),
    ] = None
    purpose: Annotated[
        Purpose, Field(description="train, or predict: classes of records by a shared tree")
    ] = _SECRET.purpose
    result: Annotated[
        ResultKind, Field(description="open to the result parties, or shared: nobody learns the tree")
    ] = _SECRET.result
    result_parties: Annotated[list[Id] | None, Field(description="By default every member")] = None
    open_empty: Annotated[bool, Field(description="id3: also open whether a node is empty")] = (
        _SECRET.open_empty
    )
    grid: Annotated[
        dict[str, DecimalText],
        Field(description="gain-ratio: by attribute the public step that thresholds are rounded up to"),
    ] = {}
    max_records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] = _SECRET.max_records
    model: Annotated[str | None, Field(description="predict: the job whose shared tree is asked")] = None

    def plan(self) -> SecretPlan:
        """The same for the use case."""
        return SecretPlan(**{name: getattr(self, name) for name in type(self).model_fields})


class NoiseIn(BaseModel):
    """Differential privacy of a job of mode ppsdt: every summed count carries noise, drawn by the hospitals together.

    More noise tells less of a record and costs accuracy; the answer says what it comes to.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"sigma": "20"}})

    sigma: Annotated[
        DecimalText,
        Field(
            description="Standard deviation of each sum's noise: 95 of 100 counts are off by 2 sigma at most"
        ),
    ]
    untrusted: Annotated[
        int,
        Field(
            ge=0, le=1022, description="Hospitals that may leave out their part without breaking the promise"
        ),
    ] = 1
    delta: Annotated[
        DecimalText, Field(description="The chance beside which epsilon is told, such as 0.000001")
    ] = "0.000001"

    def plan(self) -> NoisePlan:
        """The same for the use case."""
        return NoisePlan(Decimal(self.sigma), self.untrusted, self.delta)


class JobIn(BaseModel):
    """A new job. All has defaults: `{}` invites every registered member with the protocol's rules."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"invited": ["h1", "h2", "h3"], "min_node": 10, "min_child": 5, "max_depth": 8}
        },
    )

    invited: Annotated[list[Id], Field(min_length=3, max_length=MAX_AGENTS)] | None = None
    mode: Annotated[
        Mode, Field(description="ppsdt: encrypted counts; id3 and gain-ratio: on secret shares")
    ] = _PLAN.mode
    secret: SecretIn = SecretIn()
    profile: Annotated[PaillierProfile, Field(description="Of mode ppsdt")] = _PLAN.profile
    criterion: Annotated[Criterion, Field(description="Of mode ppsdt; the others fix it")] = _PLAN.criterion
    min_hospitals: Annotated[int, Field(ge=3, le=MAX_AGENTS)] = _PLAN.min_hospitals
    min_node: Annotated[int, Field(ge=1, le=2**46)] = _PLAN.min_node
    min_child: Annotated[int, Field(ge=1, le=2**46)] = _PLAN.min_child
    max_depth: Annotated[int, Field(ge=1, le=MAX_ATTRIBUTES)] | None = _PLAN.max_depth
    split_on_zero_gain: bool = _PLAN.split_on_zero_gain
    skip_known: bool = _PLAN.skip_known
    max_shrinks: Annotated[int, Field(ge=0, le=16)] = _PLAN.max_shrinks
    deadlines: Deadlines = _PLAN.deadlines
    key_mode: Annotated[
        KeyMode | None,
        Field(
            description="Of mode ppsdt: shared, every hospital can open a sum; threshold, several together, which "
            "costs their being online and about as many times the bytes. By default that of the federation's key, "
            "which alone can be used; said here, another one is refused"
        ),
    ] = None
    noise: Annotated[NoiseIn | None, Field(description="Differential privacy; left out, sums are exact")] = (
        None
    )
    min_gain: Annotated[Share | None, Field(description="Least information gain of a split, in bits")] = None
    class_weights: Annotated[
        dict[str, Annotated[int, Field(ge=1, le=MAX_CLASS_WEIGHT)]] | None,
        Field(
            description="Of modes ppsdt and id3, by label: how many times a record of the class counts in gains and "
            "majorities; 1 for a class that is not named"
        ),
    ] = None
    pruning: Annotated[
        PruningSpec | None,
        Field(
            description="Cut the grown tree back, by what its members know already; modes id3 and gain-ratio have "
            "majority, and collapse of subtrees whose leaves are of one class"
        ),
    ] = None
    thresholds: Annotated[
        Thresholds | None,
        Field(
            description="Of mode ppsdt, profile hardened: split attributes whose values have an order (intervals "
            "between cut points, or treat_as ordered) in two where the information gain is greatest, again "
            "and again; gain-mdl asks more gain of an attribute with many places to split at. Left out, every "
            "value is a branch"
        ),
    ] = None
    tally: Annotated[TallyIn | None, Field(description="Count only, and grow no tree")] = None
    selection: Annotated[SelectionIn | None, Field(description="Hold records out")] = None

    def plan(self) -> JobPlan:
        """The same for the use case."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        blocks = {
            name: None if block is None else block.plan()
            for name, block in (
                ("noise", self.noise),
                ("tally", self.tally),
                ("selection", self.selection),
            )
        }
        return JobPlan(**{**fields, "secret": self.secret.plan(), **blocks})


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
    round: int
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
                "what": "the contribution to round 1",
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
