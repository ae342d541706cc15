"""Jobs: rows to `shared.protocol.job.Job` and back; their members are in `cloud_service.store.members`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, insert, literal, or_, select, tuple_, update

from cloud_service.store import members
from cloud_service.store.members import KeptMembers
from cloud_service.store.tables import JobMember, JobRow, table_of
from shared.errors import JobCode
from shared.ids import AgentId, JobId, StudyId
from shared.protocol.envelopes import Chain
from shared.protocol.job import Job, Member
from shared.protocol.states import TERMINAL_CLOUD_STATES, CloudState
from shared.wire.base import canonical_json
from shared.wire.manifest import Manifest
from shared.wire.rounds import Prompt
from shared.wire.tally import SelectionSpec

_JOBS: Final = table_of(JobRow)
_MEMBERS: Final = table_of(JobMember)
_J, _M = _JOBS.c, _MEMBERS.c
_FETCHED: Final = 100
"""Manifests at a time, which are some ten kilobytes each."""
MOST_COUNTED: Final = 100
"""Jobs that counted in one tree, of which the newest are told."""

_LOAD: Final = select(_JOBS).where(_J.id == bindparam("job"))
_LOCK: Final = _LOAD.with_for_update()
_LOCK_FREE: Final = _LOAD.with_for_update(skip_locked=True)
_STATE: Final = select(_J.state).where(_J.id == bindparam("job"))
_SEATS: Final = (
    select(_J.state, _J.roster, _M.agent, _M.certificate)
    .join(_MEMBERS, _M.job == _J.id)
    .where(_J.id == bindparam("job"))
)
_SEAT: Final = _SEATS.where(_M.agent == bindparam("agent"))
_LIVING_MANIFESTS: Final = select(_J.manifest).where(
    _J.state.not_in([state.value for state in TERMINAL_CLOUD_STATES])
)
_STUDY_MANIFESTS: Final = (
    select(_J.manifest)
    .where(_J.study == bindparam("study"))
    .order_by(_J.created.desc(), _J.id.desc())
    .execution_options(yield_per=_FETCHED)
)
_LATER_MANIFESTS: Final = (
    select(_J.id, _J.manifest)
    .where(_J.study == bindparam("study"), _J.created >= bindparam("since"))
    .order_by(_J.created.desc(), _J.id.desc())
    .execution_options(yield_per=_FETCHED)
)
_OF_IDS: Final = (
    select(_JOBS)
    .where(_J.id.in_(bindparam("chosen", expanding=True)))
    .order_by(_J.created.desc(), _J.id.desc())
)
_OVERDUE: Final = select(_J.id).where(
    _J.state.not_in([state.value for state in TERMINAL_CLOUD_STATES]), _J.deadline <= bindparam("now")
)
# The roster is a JSON list of ids of [a-z0-9-], so a quoted id is found exactly.
_IN_ROSTER: Final = _J.roster.contains(literal('"').concat(_M.agent).concat('"'))
_MISSING: Final = select(_M.agent).where(_M.job == _J.id, _M.contributed.is_(None), _IN_ROSTER)
_SITS: Final = (
    select(_J.id)
    .join(_MEMBERS, _M.job == _J.id)
    .where(
        _M.agent == bindparam("agent"),
        _IN_ROSTER,
        or_(
            _J.state.not_in([state.value for state in TERMINAL_CLOUD_STATES]),
            (_J.state == CloudState.DONE.value) & _M.attested.is_(None),
        ),
    )
    .limit(1)
)
_COMPLETE: Final = select(_J.id).where(_J.state == CloudState.COLLECTING.value, ~_MISSING.exists())
_ADD: Final = insert(_JOBS)


@dataclass(frozen=True, slots=True)
class Seat:
    """An invited hospital: its certificate (DER) at the invitation, and whether it is in the roster by now."""

    certificate: bytes
    in_roster: bool


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job with what only the store knows. `audited`: records in its log; times in Unix seconds."""

    job: Job
    study: StudyId
    audited: int
    created: int
    started: int | None
    finished: int | None


@lru_cache(maxsize=64)  # some ten kilobytes each
def _manifest(raw: bytes) -> Manifest:
    return Manifest.model_validate_json(raw)


def load(connection: Connection, job_id: str, *, lock: bool = False) -> StoredJob | None:
    """The job with all its members. `lock`: nobody else may change it before this transaction ends (C6)."""
    row = connection.execute(_LOCK if lock else _LOAD, {"job": job_id}).one_or_none()
    return None if row is None else _stored(connection, row)


def beginning_with(connection: Connection, prefix: str) -> list[JobId]:
    """Up to two jobs whose ids begin so."""
    query = select(_J.id).where(_J.id.startswith(prefix, autoescape=True)).order_by(_J.id).limit(2)
    return [JobId(row.id) for row in connection.execute(query)]


def glance(connection: Connection, job_id: str, *, lock: bool = False) -> StoredJob | None:
    """The job, whose members are read by this connection when and as far as they are asked for."""
    row = connection.execute(_LOCK if lock else _LOAD, {"job": job_id}).one_or_none()
    return None if row is None else _with(row, KeptMembers.of(connection, row.id))


def load_free(connection: Connection, job_id: str) -> StoredJob | None:
    """The same with a lock, unless somebody else has the job locked: None, for work that can wait."""
    row = connection.execute(_LOCK_FREE, {"job": job_id}).one_or_none()
    return None if row is None else _stored(connection, row)


def page(
    connection: Connection,
    *,
    study: str | None,
    state: CloudState | None,
    before: tuple[int, str] | None,
    limit: int,
    hospital: str | None = None,
) -> list[StoredJob]:
    """Jobs from the newest on. `before`: creation time and id of the last job of the page before. `hospital`: only
    jobs that invite it.
    """
    query = select(_JOBS).order_by(_J.created.desc(), _J.id.desc()).limit(limit)
    if study is not None:
        query = query.where(_J.study == study)
    if state is not None:
        query = query.where(_J.state == state.value)
    if hospital is not None:
        query = query.where(_J.id.in_(select(_M.job).where(_M.agent == hospital)))
    if before is not None:
        query = query.where(tuple_(_J.created, _J.id) < before)
    return stored_all(connection, connection.execute(query).all())


def stored_all(connection: Connection, rows: Sequence[Row[Any]]) -> list[StoredJob]:
    """Whole rows as jobs, their members read at once."""
    invited = members.whole_of(connection, [row.id for row in rows])
    return [_with(row, invited[row.id]) for row in rows]


def overdue(connection: Connection, now: int) -> list[JobId]:
    """Living jobs whose deadline has passed."""
    return [JobId(job) for job in connection.scalars(_OVERDUE, {"now": now})]


def living_manifests(connection: Connection) -> list[Manifest]:
    """The manifests of all jobs that are not over."""
    return [_manifest(raw) for raw in connection.scalars(_LIVING_MANIFESTS)]


def parted_by(connection: Connection, study: str, seed: str) -> list[SelectionSpec]:
    """The selections of a study's jobs that name this seed, of the newest job first."""
    named = canonical_json(seed)
    raws = connection.scalars(_STUDY_MANIFESTS, {"study": study})
    found = [_manifest(raw).selection for raw in raws if named in raw]
    return [selection for selection in found if selection is not None and selection.seed == seed]


def counted_in(connection: Connection, tree: StoredJob, hospital: str | None) -> list[StoredJob]:
    """The newest jobs of a study that count where records end in the tree of one of its jobs, at most `MOST_COUNTED`.

    Args: tree: the job that grew it. hospital: only jobs that invite it; None for all.
    """
    query, model = _LATER_MANIFESTS, tree.job.manifest.job
    if hospital is not None:
        query = query.where(_J.id.in_(select(_M.job).where(_M.agent == hospital)))
    named = canonical_json(model)  # so that only manifests with this id in them are parsed
    with connection.execute(query, {"study": tree.study, "since": tree.created}) as rows:
        found = (row.id for row in rows if named in row.manifest and _is_counted(row.manifest, model))
        chosen = list(islice(found, MOST_COUNTED))
    return stored_all(connection, connection.execute(_OF_IDS, {"chosen": chosen}).all())


def _is_counted(raw: bytes, model: str) -> bool:
    tally = _manifest(raw).tally
    return tally is not None and tally.model == model


def complete_rounds(connection: Connection) -> list[JobId]:
    """Jobs that collect and lack no contribution of their roster."""
    return [JobId(job) for job in connection.scalars(_COMPLETE)]


def state(connection: Connection, job_id: str) -> CloudState | None:
    """Where a job stands; None: there is no such job."""
    found = connection.scalar(_STATE, {"job": job_id})
    return None if found is None else CloudState(found)


def seat(connection: Connection, job_id: str, agent: str) -> Seat | None:
    """An invited hospital's place in a job; None: no such job, or not invited."""
    row = connection.execute(_SEAT, {"job": job_id, "agent": agent}).one_or_none()
    return None if row is None else Seat(bytes(row.certificate), agent in json.loads(row.roster))


def sits_in_running(connection: Connection, agent: str) -> bool:
    """Whether a job's roster has the agent that runs, or that is done and waits for its last word."""
    return connection.scalar(_SITS, {"agent": agent}) is not None


def seats(connection: Connection, job_id: str) -> tuple[str, dict[AgentId, bytes]] | None:
    """A job's state, and its roster with the certificates (DER) of the members; None: there is no such job."""
    rows = connection.execute(_SEATS, {"job": job_id}).all()
    if not rows:
        return None
    roster = set(json.loads(rows[0].roster))
    return rows[0].state, {AgentId(row.agent): row.certificate for row in rows if row.agent in roster}


def add(connection: Connection, stored: StoredJob) -> None:
    """A new job with its members."""
    job = stored.job
    fixed = {
        "id": job.manifest.job,
        "study": stored.study,
        "manifest": job.manifest.canonical(),
        "mh": job.mh,
    }
    times = {"audited": stored.audited, "created": stored.created, "started": None, "finished": None}
    connection.execute(_ADD, [fixed | _changeable(job) | times])
    members.add(connection, job)


def save(connection: Connection, before: StoredJob, job: Job, *, audited: int, now: int) -> None:
    """Write what a step has changed."""
    started = before.started
    if started is None and job.state in (CloudState.COLLECTING, CloudState.COMPUTING):
        started = now
    finished = now if before.finished is None and job.is_over else before.finished
    old = _changeable(before.job) | {
        "audited": before.audited,
        "started": before.started,
        "finished": before.finished,
    }
    new = _changeable(job) | {"audited": audited, "started": started, "finished": finished}
    changed = {name: value for name, value in new.items() if value != old[name]}
    if changed:
        connection.execute(_update_job(tuple(changed)), {"key_job": job.manifest.job, **changed})
    members.save(connection, before.job, job)


@lru_cache(maxsize=256)
def _update_job(names: tuple[str, ...]) -> Any:
    return (
        update(_JOBS).where(_J.id == bindparam("key_job")).values({name: bindparam(name) for name in names})
    )


def _stored(connection: Connection, row: Row[Any]) -> StoredJob:
    return _with(row, members.whole(connection, row.id))


def _with(row: Row[Any], invited: Mapping[AgentId, Member]) -> StoredJob:
    job = _job(row, invited)
    return StoredJob(job, StudyId(row.study), row.audited, row.created, row.started, row.finished)


def _job(row: Row[Any], invited: Mapping[AgentId, Member]) -> Job:
    return Job(
        manifest=_manifest(row.manifest),
        mh=row.mh,
        state=CloudState(row.state),
        round=row.round,
        attempt=row.attempt,
        roster=tuple(AgentId(agent) for agent in json.loads(row.roster)),
        members=invited,
        slots=row.slots,
        prompts=tuple(Prompt.model_validate(prompt) for prompt in json.loads(row.prompts)),
        expected_state=row.expected_state,
        shrinks=row.shrinks,
        deadline=row.deadline,
        waiting_since=row.waiting_since,
        paused_since=row.paused_since,
        failure=None if row.failure is None else JobCode(row.failure),
        chain=Chain(row.chain_seq, row.chain_prev),
        head=row.head,
    )


def _changeable(job: Job) -> dict[str, Any]:
    return {
        "state": job.state.value,
        "round": job.round,
        "attempt": job.attempt,
        "roster": json.dumps(job.roster),
        "slots": job.slots,
        "prompts": json.dumps([prompt.model_dump() for prompt in job.prompts]),
        "expected_state": job.expected_state,
        "shrinks": job.shrinks,
        "deadline": job.deadline,
        "waiting_since": job.waiting_since,
        "paused_since": job.paused_since,
        "failure": None if job.failure is None else job.failure.value,
        "chain_seq": job.chain.seq,
        "chain_prev": job.chain.prev,
        "head": job.head,
    }
