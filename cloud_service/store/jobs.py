"""Jobs and their members: rows to `coordinator.Job` and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import insert, literal, select, update
from sqlalchemy.orm import Session

from cloud_service.store.tables import JobMember, JobRow
from shared.errors import JobCode
from shared.ids import AgentId, JobId, StudyId
from shared.protocol.envelopes import Chain
from shared.protocol.job import Job, Member
from shared.protocol.states import TERMINAL_CLOUD_STATES, CloudState
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import Manifest
from shared.wire.rounds import Prompt

_OVER: Final = [state.value for state in TERMINAL_CLOUD_STATES]


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job with what only the store knows. `audited`: records in its log; times in Unix seconds."""

    job: Job
    study: StudyId
    audited: int
    created: int
    started: int | None
    finished: int | None


@lru_cache(maxsize=256)
def _manifest(raw: bytes) -> Manifest:
    return Manifest.model_validate_json(raw)


@lru_cache(maxsize=4096)
def _signed(raw: bytes) -> SignedEnvelope:
    return SignedEnvelope.model_validate_json(raw)


def load(session: Session, job_id: str, *, lock: bool = False) -> StoredJob | None:
    """The job with all its members. `lock`: nobody else may change it before this transaction ends (C6)."""
    query = select(JobRow).where(JobRow.id == job_id)
    row = session.scalars(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else _stored(session, row)


def page(
    session: Session,
    *,
    study: str | None,
    state: CloudState | None,
    before: tuple[int, str] | None,
    limit: int,
) -> list[StoredJob]:
    """Jobs from the newest on. `before`: creation time and id of the last job of the page before."""
    query = select(JobRow).order_by(JobRow.created.desc(), JobRow.id.desc()).limit(limit)
    if study is not None:
        query = query.where(JobRow.study == study)
    if state is not None:
        query = query.where(JobRow.state == state.value)
    if before is not None:
        time, job_id = before
        query = query.where((JobRow.created < time) | ((JobRow.created == time) & (JobRow.id < job_id)))
    return [_stored(session, row) for row in session.scalars(query)]


def overdue(session: Session, now: int) -> list[JobId]:
    """Living jobs whose deadline has passed."""
    query = select(JobRow.id).where(JobRow.state.not_in(_OVER), JobRow.deadline <= now)
    return [JobId(job) for job in session.scalars(query)]


def complete_rounds(session: Session) -> list[JobId]:
    """Jobs that collect and may have all contributions: no member of the roster is known to be missing."""
    missing = select(JobMember.agent).where(
        JobMember.job == JobRow.id,
        JobMember.contributed.is_(None),
        # The roster is a JSON list of ids of [a-z0-9-], so a quoted id is found exactly.
        JobRow.roster.contains(literal('"').concat(JobMember.agent).concat('"')),
    )
    query = select(JobRow.id).where(JobRow.state == CloudState.COLLECTING.value, ~missing.exists())
    return [JobId(job) for job in session.scalars(query)]


def state(session: Session, job_id: str) -> CloudState | None:
    """Where a job stands; None: there is no such job."""
    found = session.scalar(select(JobRow.state).where(JobRow.id == job_id))
    return None if found is None else CloudState(found)


def certificate(session: Session, job_id: str, agent: str) -> bytes | None:
    """DER of the certificate that `agent` was invited with; None: no such job, or not invited."""
    return session.scalar(
        select(JobMember.certificate).where(JobMember.job == job_id, JobMember.agent == agent)
    )


def add(session: Session, stored: StoredJob) -> None:
    """A new job with its members."""
    times = {"created": stored.created, "started": None, "finished": None}
    row = _row(stored.job) | times | {"study": stored.study, "audited": stored.audited}
    session.execute(insert(JobRow), [row])
    session.execute(insert(JobMember), [_member_row(stored.job, m) for m in stored.job.members.values()])


def save(session: Session, before: StoredJob, job: Job, *, audited: int, now: int) -> None:
    """Write what a step has changed."""
    started = before.started
    if started is None and job.state is CloudState.COLLECTING:
        started = now
    finished = now if before.finished is None and job.is_over else before.finished
    row = _row(job) | {"audited": audited, "started": started, "finished": finished}
    del row["manifest"], row["id"], row["mh"]
    session.execute(update(JobRow).where(JobRow.id == job.manifest.job).values(row))
    for agent, member in job.members.items():
        if member is not before.job.members[agent]:
            values = _member_row(job, member)
            query = update(JobMember).where(
                JobMember.job == values.pop("job"), JobMember.agent == values.pop("agent")
            )
            session.execute(query.values(values))


def _stored(session: Session, row: JobRow) -> StoredJob:
    members = session.scalars(select(JobMember).where(JobMember.job == row.id).order_by(JobMember.agent))
    return StoredJob(
        _job(row, list(members)), StudyId(row.study), row.audited, row.created, row.started, row.finished
    )


def _job(row: JobRow, members: Sequence[JobMember]) -> Job:
    return Job(
        manifest=_manifest(row.manifest),
        mh=row.mh,
        state=CloudState(row.state),
        round=row.round,
        attempt=row.attempt,
        roster=tuple(AgentId(agent) for agent in json.loads(row.roster)),
        members={AgentId(member.agent): _member(member) for member in members},
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


def _member(row: JobMember) -> Member:
    return Member(
        id=AgentId(row.agent),
        chain=Chain(row.chain_seq, row.chain_prev),
        certificate=row.certificate,
        accept=None if row.accept is None else _signed(row.accept),
        declined=row.declined,
        contributed=row.contributed,
        decision=None if row.decision is None else _signed(row.decision),
        attested=row.attested,
    )


def _row(job: Job) -> dict[str, Any]:
    return {
        "id": job.manifest.job,
        "manifest": job.manifest.canonical(),
        "mh": job.mh,
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


def _member_row(job: Job, member: Member) -> dict[str, Any]:
    return {
        "job": job.manifest.job,
        "agent": member.id,
        "certificate": member.certificate,
        "chain_seq": member.chain.seq,
        "chain_prev": member.chain.prev,
        "accept": None if member.accept is None else member.accept.canonical(),
        "declined": member.declined,
        "contributed": member.contributed,
        "decision": None if member.decision is None else member.decision.canonical(),
        "attested": member.attested,
    }
