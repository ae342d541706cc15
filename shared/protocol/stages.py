"""How a job at the cloud gets from one stage to the next: roster fixed, round opened, ended.

Pure, as `shared.protocol.coordinator`, which decides when: it reads the messages and the clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shared.errors import ErrorCode, InternalError, JobCode, PeerError
from shared.ids import AgentId
from shared.protocol.effects import Broadcast, CloudEffect, Dismiss, DropContributions, DropForwarded, Note
from shared.protocol.job import Job, Step
from shared.protocol.layout import root_prompts, root_slots
from shared.protocol.states import CLOUD_TRANSITIONS, CloudEvent, CloudState, follow
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.rounds import Abort, Partials, Roster, RoundOpen


def moved(job: Job, event: CloudEvent) -> Job:
    """The job after an event, in the state that the table gives."""
    return replace(job, state=follow(CLOUD_TRANSITIONS, job.state, event))


def close_invitation(job: Job, now: int) -> Step:
    """Those who accepted alike are the roster, and the work begins with them; too few end the job."""
    accepted, others = _of_one_state(job)
    obstacle = _obstacle(job, accepted)
    if obstacle is not None:
        return fail(job, obstacle)
    if len(accepted) < job.manifest.min_hospitals:
        return fail(job, JobCode.DIVERGED if others else JobCode.DEADLINE)
    silent = job.waiting_for
    job = replace(moved(job, CloudEvent.FIX_ROSTER), roster=tuple(accepted))
    accepts = [present(job.members[a].accept) for a in job.roster]
    job = replace(job, expected_state=str(accepts[0].envelope.body["state"]))
    roster = Roster(
        accepts=accepts,
        certificates=[encode_base64url(job.members[a].certificate) for a in job.roster],
        roster_hash=job.context().roster_hash.hex(),
    )
    fixed = Note("roster", {"hospitals": [str(a) for a in job.roster]})
    begun = _begin_computing(job, now) if job.manifest.is_secret else _open_first_round(job, now)
    effects = (Broadcast(MessageType.ROSTER, 0, 0, roster), fixed, *begun.effects)
    left_out = dismissal(silent, JobCode.DEADLINE) + dismissal(others, JobCode.DIVERGED)
    return Step(begun.job, left_out + effects)


def _open_first_round(job: Job, now: int) -> Step:
    manifest = job.manifest
    job = replace(job, slots=root_slots(manifest.schema_))
    if manifest.profile == "paper":
        job = replace(job, prompts=root_prompts(manifest.schema_))
    return open_round(job, now, decisions=[])


def _obstacle(job: Job, accepted: Sequence[AgentId]) -> JobCode | None:
    """Why a secret job cannot begin with these members, which a smaller roster cannot mend."""
    secret = job.manifest.secret
    if secret is None:
        return None
    if set(secret.compute_parties) - set(accepted):
        return JobCode.COMPUTE_PARTY_MISSING
    records = sum(int(present(job.members[a].accept).envelope.body["records"]) for a in accepted)
    return None if 0 < records <= secret.max_records else JobCode.RANGE_VIOLATION


def _begin_computing(job: Job, now: int) -> Step:
    """A secret job: from the roster on, the members work among themselves, and the cloud waits for decisions."""
    deadline = now + job.manifest.deadlines.round_seconds
    job = replace(moved(job, CloudEvent.COMPUTE), deadline=deadline, waiting_since=now)
    parties = [] if job.manifest.secret is None else list(job.manifest.secret.compute_parties)
    return Step(job, (Note("computing", {"compute_parties": parties}),))


def _of_one_state(job: Job) -> tuple[list[AgentId], tuple[AgentId, ...]]:
    """Who accepted with the first state that most named, and who with another: an old key, or ill will.

    By majority and not by the first that came, so that one hospital alone cannot shut the others out.
    """
    states = {
        m.id: str(m.accept.envelope.body["state"]) for m in job.members.values() if m.accept is not None
    }
    tally = Counter(states[agent] for agent in sorted(states))
    most = max(tally, key=lambda state: tally[state], default="")
    alike = sorted(agent for agent, state in states.items() if state == most)
    return alike, tuple(sorted(states.keys() - set(alike)))


def dismissal(agents: tuple[AgentId, ...], code: JobCode) -> tuple[CloudEffect, ...]:
    """What tells these hospitals that it goes on without them; nothing for none."""
    return (Dismiss(agents, code),) if agents else ()


def present(signed: SignedEnvelope | None) -> SignedEnvelope:
    """A statement that must be there by now. Raises: InternalError: it is not."""
    if signed is None:
        raise InternalError("a roster member without its signed statement")
    return signed


def open_round(
    job: Job, now: int, decisions: list[SignedEnvelope], event: CloudEvent = CloudEvent.OPEN_ROUND
) -> Step:
    """Ask the roster for the contributions of the job's round and attempt. Args: decisions: of the round before."""
    deadline = now + job.manifest.deadlines.round_seconds
    job = replace(moved(job, event), deadline=deadline, waiting_since=now, paused_since=None)
    body = RoundOpen(
        roster=[str(a) for a in job.roster],
        slots=job.slots,
        deadline=deadline,
        decisions=decisions,
        prompts=list(job.prompts) if job.manifest.profile == "paper" else None,
    )
    note = Note("round_open", {"round": job.round, "attempt": job.attempt, "slots": job.slots})
    return Step(job, (Broadcast(MessageType.ROUND_OPEN, job.round, job.attempt, body), note))


def has_enough_partials(job: Job) -> bool:
    """Key mode threshold: whether those who have given a partial decryption can open the sum without the others."""
    given = len(job.roster) - len(job.waiting_for)
    return job.state is CloudState.OPENING and given >= (job.manifest.threshold or len(job.roster))


def send_partials(job: Job, now: int) -> Step:
    """Forward the members' partial decryptions, as they signed them, to the whole roster."""
    signed = [partial for agent in job.roster if (partial := job.members[agent].partial) is not None]
    deadline = now + job.manifest.deadlines.round_seconds
    sent = {agent: replace(member, partial=None) for agent, member in job.members.items()}
    job = replace(
        moved(job, CloudEvent.SEND_PARTIALS),
        members=sent,
        waiting_since=now,
        deadline=deadline,
        paused_since=None,
    )
    note = Note("partials", {"round": job.round, "hospitals": [s.envelope.sender for s in signed]})
    return Step(
        job, (Broadcast(MessageType.PARTIALS, job.round, job.attempt, Partials(partials=signed)), note)
    )


def may_shrink(job: Job) -> bool:
    """Whether the job may go on without its silent members (rule C3)."""
    rest = len(job.roster) - len(job.waiting_for)
    return (
        job.state is CloudState.COLLECTING
        and job.round == 0
        and job.shrinks < job.manifest.max_shrinks
        and rest >= job.manifest.min_hospitals
    )


def shrink(job: Job, now: int) -> Step:
    """Round 0 begins anew without the silent members."""
    silent = job.waiting_for
    fresh = {a: replace(m, contributed=None) for a, m in job.members.items()}
    job = replace(
        job,
        members=fresh,
        roster=tuple(a for a in job.roster if a not in silent),
        attempt=job.attempt + 1,
        shrinks=job.shrinks + 1,
    )
    opened = open_round(job, now, decisions=[], event=CloudEvent.SHRINK)
    note = Note("shrunk", {"without": [str(a) for a in silent]})
    effects = (DropContributions(), note, *opened.effects)
    return Step(opened.job, dismissal(silent, JobCode.MEMBER_LOST) + effects)


def cancel(job: Job) -> Step:
    """A person stops the job. Raises: PeerError: `late`: it is already over."""
    if job.is_over:
        raise PeerError(ErrorCode.LATE, f"job {job.manifest.job} is over: {job.state}")
    return _end(job, CloudEvent.CANCEL, JobCode.CANCELLED)


def fail(job: Job, code: JobCode) -> Step:
    """The job ends without a tree; every member is told the code."""
    return _end(job, CloudEvent.FAIL, code)


def _end(job: Job, event: CloudEvent, code: JobCode) -> Step:
    job = replace(moved(job, event), failure=code, paused_since=None)
    abort = Broadcast(MessageType.ABORT, job.round, job.attempt, Abort(code=code))
    return Step(job, (abort, DropContributions(), *drop_forwarded(job), Note("ended", {"code": code})))


def drop_forwarded(job: Job) -> tuple[CloudEffect, ...]:
    """What deletes the contributions that went to the members of a job in key mode threshold; nothing for others."""
    return (DropForwarded(),) if job.manifest.key_mode == "threshold" else ()
