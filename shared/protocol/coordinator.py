"""The cloud's role as pure steps: (job, message, now) to (job, effects). Rules C2 to C5 of protocol section 8.

Enforced here, in this order for a message of a member:
1. the job is alive (an attestation is also taken from a finished one);
2. the sender was invited, its chain of envelopes has no gap, and `mh` is the job's manifest;
3. the type fits the state, round and attempt (`late`, `wrong_round`);
4. nothing was said twice (`replay_conflict`; identical repeats are answered before they reach a step).
A message that is refused although it is the sender's next one takes its place in the sender's chain all the same
(`refused`): the sender has signed it and goes on from there, and a repeat gets the same refusal.
Signatures, sizes and ciphertexts are checked before by the shell; time is an argument and a deadline an event.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from shared.crypto import agreement
from shared.errors import ErrorCode, InternalError, JobCode, PeerError
from shared.ids import AgentId
from shared.protocol.effects import (
    AcceptContribution,
    Broadcast,
    CloudEffect,
    ComputeSum,
    DropContributions,
    Forwarded,
    Note,
)
from shared.protocol.envelopes import Sealed, body_of
from shared.protocol.job import Job, Member, Step
from shared.protocol.layout import MAX_FORWARDED_BYTES, next_prompts, root_slots
from shared.protocol.senders import advanced, current
from shared.protocol.stages import (
    close_invitation,
    drop_forwarded,
    fail,
    has_enough_partials,
    may_shrink,
    moved,
    open_round,
    present,
    send_partials,
    shrink,
)
from shared.protocol.states import CloudEvent, CloudState
from shared.wire.base import decode_base64url
from shared.wire.envelope import Envelope, MessageType
from shared.wire.manifest import MAX_CELLS, Manifest
from shared.wire.rounds import (
    Abort,
    Aggregate,
    Attest,
    Decision,
    JobAccept,
    JobDecline,
    JobDone,
    JobOffer,
    Notify,
    Partial,
)

Statement = Decision | Notify


def create(manifest: Manifest, certificates: Mapping[AgentId, bytes], now: int) -> Step:
    """A new job: every invited agent is offered the manifest.

    Args: certificates: DER of each invited agent's certificate.
    """
    members = {AgentId(a): Member(AgentId(a), certificate=certificates[AgentId(a)]) for a in manifest.invited}
    mh = hashlib.sha256(manifest.canonical()).hexdigest()
    job = Job(
        manifest, mh, members=members, waiting_since=now, deadline=now + manifest.deadlines.invite_seconds
    )
    offer = Broadcast(MessageType.JOB_OFFER, 0, 0, JobOffer(manifest=manifest))
    note = Note("invited", {"hospitals": list(manifest.invited)})
    return Step(moved(job, CloudEvent.INVITE), (offer, note))


def receive(job: Job, sealed: Sealed, now: int) -> Step:
    """One member's message. Raises: PeerError: with the code of section 13 that fits; the job is unchanged."""
    envelope = sealed.envelope
    moved_on = advanced(job, sealed)
    handler = _HANDLERS.get(envelope.type)
    if handler is None:
        raise PeerError(ErrorCode.MALFORMED, f"the cloud takes no {envelope.type} message")
    if job.is_over and not (envelope.type is MessageType.ATTEST and job.state is CloudState.DONE):
        raise PeerError(ErrorCode.LATE, f"job {job.manifest.job} is over: {job.state}")
    return handler(moved_on, sealed, now)


def refused(job: Job, sealed: Sealed) -> Job:
    """The job after a refusal by `receive` or by the check of a contribution: only the sender's chain moves.

    Raises: PeerError: it is not the sender's next message, so nothing at all changes.
    """
    return advanced(job, sealed)


# --- answers to the offer -------------------------------------------------------------------------------------


def _on_accept(job: Job, sealed: Sealed, now: int) -> Step:
    member = _invited(job, sealed.envelope)
    body = body_of(sealed.envelope, JobAccept)
    # The others could not work with such a key, and the job would stand still.
    agreement.check_public(decode_base64url(body.ephemeral, what="ephemeral"))
    if body.mh != job.mh:
        raise PeerError(ErrorCode.MALFORMED, "the acceptance names another manifest")
    if (body.records is not None) != job.manifest.is_secret:
        raise PeerError(ErrorCode.MALFORMED, "an acceptance names a number of records in secret jobs only")
    if body.records and job.manifest.secret and not job.manifest.secret.takes_records_of(member.id):
        raise PeerError(
            ErrorCode.MALFORMED,
            "who is not told the classes that a tree gives shares no records with the job",
        )
    job = job.with_member(replace(member, accept=sealed.signed))
    note = Note("accepted", {"hospital": member.id})
    return _after_answer(moved(job, CloudEvent.ANSWER), (note,), now)


def _on_decline(job: Job, sealed: Sealed, now: int) -> Step:
    member = _invited(job, sealed.envelope)
    body = body_of(sealed.envelope, JobDecline)
    job = job.with_member(replace(member, declined=body.code))
    note = Note("declined", {"hospital": member.id, "code": body.code})
    return _after_answer(moved(job, CloudEvent.ANSWER), (note,), now)


def _invited(job: Job, envelope: Envelope) -> Member:
    member = job.members[AgentId(envelope.sender)]
    if job.state is not CloudState.INVITING:
        raise PeerError(ErrorCode.LATE, f"job {job.manifest.job} takes no more answers: {job.state}")
    if member.accept is not None or member.declined is not None:
        raise PeerError(ErrorCode.REPLAY_CONFLICT, f"{member.id} has already answered")
    return member


def _after_answer(job: Job, effects: tuple[CloudEffect, ...], now: int) -> Step:
    secret = job.manifest.secret
    possible = job.lacking("declined")
    complete = secret is None or possible >= {AgentId(party) for party in secret.compute_parties}
    if job.waiting_for and len(possible) >= job.manifest.min_hospitals and complete:
        return Step(job, effects)
    step = close_invitation(job, now)
    return Step(step.job, effects + step.effects)


# --- rounds ---------------------------------------------------------------------------------------------------


def _on_contribution(job: Job, sealed: Sealed, now: int) -> Step:
    member = current(job, sealed.envelope, CloudState.COLLECTING)
    if member.contributed is not None:
        raise PeerError(ErrorCode.REPLAY_CONFLICT, f"{member.id} has already contributed to this round")
    job = job.with_member(replace(member, contributed=sealed.sha256))
    job = _resumed(moved(job, CloudEvent.CONTRIBUTE))
    effects: tuple[CloudEffect, ...] = (
        AcceptContribution(),
        Note("contributed", {"hospital": member.id, "round": job.round}),
    )
    if not job.waiting_for:
        effects += (ComputeSum(job.round, job.attempt),)
    return Step(job, effects)


def _resumed(job: Job) -> Job:
    return job if job.waiting_for else replace(job, paused_since=None)


def summed(
    job: Job,
    number: int,
    attempt: int,
    ciphertexts: list[str],
    now: int,
    forwarded: Forwarded | None = None,
) -> Step:
    """The sum of (round `number`, attempt) is computed: commit it and send it to every member (rule C2).

    Args: forwarded: of key mode threshold, what the members recompute the sum from.
    Raises: PeerError: `wrong_round`: the job has moved on and the sum must be thrown away.
    """
    if (job.state, job.round, job.attempt) != (CloudState.COLLECTING, number, attempt) or job.waiting_for:
        raise PeerError(
            ErrorCode.WRONG_ROUND,
            f"round {job.round + 1} attempt {job.attempt + 1} does not wait for this sum",
        )
    is_threshold = job.manifest.key_mode == "threshold"
    if is_threshold != (forwarded is not None):
        raise InternalError("contributions are forwarded in key mode threshold, and only there")
    if forwarded is not None and forwarded.length > MAX_FORWARDED_BYTES:
        return fail(job, JobCode.RANGE_VIOLATION)
    job = moved(
        moved(job, CloudEvent.COMMIT), CloudEvent.ASK_PARTIALS if is_threshold else CloudEvent.SEND_SUMS
    )
    job = replace(job, waiting_since=now, deadline=now + job.manifest.deadlines.round_seconds)
    body = Aggregate(
        ciphertexts=ciphertexts,
        roster_hash=job.context().roster_hash.hex(),
        contributions=[(str(a), str(job.members[a].contributed)) for a in job.roster],
        head=job.head,
        forwarded=None if forwarded is None else list(forwarded.contributions),
        self_sums=None if forwarded is None else list(forwarded.self_sums),
    )
    note = Note("aggregate", {"round": number, "ciphertexts": len(ciphertexts)})
    return Step(job, (Broadcast(MessageType.AGGREGATE, number, attempt, body), DropContributions(), note))


def _on_partial(job: Job, sealed: Sealed, now: int) -> Step:
    member = current(job, sealed.envelope, CloudState.OPENING)
    if member.partial is not None:
        raise PeerError(
            ErrorCode.REPLAY_CONFLICT, f"{member.id} has already decrypted its part of this round"
        )
    body = body_of(sealed.envelope, Partial)
    if set(body.keys) != {str(agent) for agent in job.roster if agent != member.id}:
        raise PeerError(
            ErrorCode.MALFORMED, "a partial decryption is sealed for every other member of the roster"
        )
    job = _resumed(moved(job, CloudEvent.PARTIAL).with_member(replace(member, partial=sealed.signed)))
    note = Note("partial", {"hospital": member.id, "round": job.round})
    if job.waiting_for:
        return Step(job, (note,))
    step = send_partials(job, now)
    return Step(step.job, (note, *step.effects))


def _on_decision(job: Job, sealed: Sealed, now: int) -> Step:
    wanted = MessageType.NOTIFY if job.manifest.profile == "paper" else MessageType.DECISION
    if sealed.envelope.type is not wanted:
        raise PeerError(ErrorCode.MALFORMED, f"profile {job.manifest.profile} decides by {wanted}")
    deciding = CloudState.COMPUTING if job.manifest.is_secret else CloudState.DECIDING
    member = current(job, sealed.envelope, deciding)
    if member.decision is not None:
        raise PeerError(ErrorCode.REPLAY_CONFLICT, f"{member.id} has already decided this round")
    statement = _statement(sealed.envelope)
    if job.manifest.is_secret and not (isinstance(statement, Decision) and statement.done):
        raise PeerError(ErrorCode.MALFORMED, "a secret job is decided once, when it is done")
    job = _resumed(moved(job, CloudEvent.DECIDE).with_member(replace(member, decision=sealed.signed)))
    note = Note("decided", {"hospital": member.id, "round": job.round})
    if _contradicts(job, member.id, statement):
        step = fail(job, JobCode.DIVERGED)
    elif job.waiting_for:
        step = Step(job)
    else:
        step = _after_decisions(job, statement, now)
    return Step(step.job, (note, *step.effects))


def _statement(envelope: Envelope) -> Statement:
    if envelope.type is MessageType.NOTIFY:
        return body_of(envelope, Notify)
    return body_of(envelope, Decision)


def _contradicts(job: Job, author: AgentId, statement: Statement) -> bool:
    """Whether another member has stated something else. One is asked: of two that differ, the second ended the job."""
    silent = job.lacking("decision")
    other = next((agent for agent in job.roster if agent != author and agent not in silent), None)
    if other is None:
        return False
    said = _statement(present(job.members[other].decision).envelope)
    return _essence(statement) != _essence(said)


def _essence(statement: Statement) -> bytes:
    """What must be equal at every hospital: all but the log head it has last seen."""
    return statement.model_copy(update={"head": "0" * 64}).canonical()


def _after_decisions(job: Job, statement: Statement, now: int) -> Step:
    decisions = [present(job.members[a].decision) for a in job.roster]
    if isinstance(statement, Notify):
        prompts = next_prompts(job.prompts, statement.parsed())
        done, nodes = not prompts, len(prompts)
        job = replace(job, prompts=prompts, slots=root_slots(job.manifest.schema_, prompts))
    else:
        done, nodes = statement.done, statement.next_nodes
        job = replace(job, slots=statement.next_slots)
    job = replace(job, expected_state=statement.state)
    if job.slots > MAX_CELLS:
        return fail(job, JobCode.RANGE_VIOLATION)
    if done:
        job = replace(moved(job, CloudEvent.FINISH), paused_since=None, waiting_since=now)
        told = Broadcast(MessageType.JOB_DONE, job.round, job.attempt, JobDone(decisions=decisions))
        return Step(job, (*drop_forwarded(job), told, Note("done")))
    fresh = {a: replace(m, contributed=None, decision=None) for a, m in job.members.items()}
    job = replace(job, members=fresh, round=job.round + 1, attempt=0)
    opened = open_round(job, now, decisions)
    level = Note("level", {"round": job.round, "nodes": nodes})
    return Step(opened.job, (*drop_forwarded(job), level, *opened.effects))


def _on_attest(job: Job, sealed: Sealed, now: int) -> Step:
    if job.state is not CloudState.DONE:
        raise PeerError(ErrorCode.WRONG_ROUND, f"nothing to attest: job {job.manifest.job} is {job.state}")
    member = job.members[AgentId(sealed.envelope.sender)]
    body = body_of(sealed.envelope, Attest)
    if member.id not in job.roster or member.attested is not None:
        raise PeerError(
            ErrorCode.REPLAY_CONFLICT, f"{member.id} has already attested or is not in the roster"
        )
    if body.tree is not None and not job.manifest.publish_tree:
        raise PeerError(ErrorCode.MALFORMED, "this job does not publish its tree; attest by the hash alone")
    if body.tree is not None and hashlib.sha256(body.tree.encode()).hexdigest() != body.tree_sha256:
        raise PeerError(ErrorCode.MALFORMED, "tree_sha256 is not the hash of the tree that came with it")
    if body.state != job.expected_state:
        raise PeerError(ErrorCode.MALFORMED, "the attested state is not the one all hospitals decided")
    job = moved(job, CloudEvent.ATTEST).with_member(replace(member, attested=body.tree_sha256))
    return Step(job, (Note("attested", {"hospital": member.id, "tree_sha256": body.tree_sha256}),))


def _on_abort(job: Job, sealed: Sealed, now: int) -> Step:
    member = job.members[AgentId(sealed.envelope.sender)]
    takes_part = member.id in job.roster if job.roster else member.accept is not None
    if not takes_part:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, f"{member.id} does not take part and cannot end the job")
    body = body_of(sealed.envelope, Abort)
    note = Note("aborted_by", {"hospital": sealed.envelope.sender, "code": body.code})
    step = fail(job, body.code)
    return Step(step.job, (note, *step.effects))


_HANDLERS: Final = {
    MessageType.JOB_ACCEPT: _on_accept,
    MessageType.JOB_DECLINE: _on_decline,
    MessageType.CONTRIBUTION: _on_contribution,
    MessageType.PARTIAL: _on_partial,
    MessageType.DECISION: _on_decision,
    MessageType.NOTIFY: _on_decision,
    MessageType.ATTEST: _on_attest,
    MessageType.ABORT: _on_abort,
}


# --- time -----------------------------------------------------------------------------------------------------


_COMMITTED: Final = (CloudState.OPENING, CloudState.DECIDING, CloudState.COMPUTING)


def tick(job: Job, now: int) -> Step:
    """What the clock brings: an invitation closes, round 0 shrinks (C3), a silent member pauses the job (C4)."""
    if job.is_over or now < job.deadline or not job.waiting_for:
        return Step(job)
    if job.state is CloudState.INVITING:
        return close_invitation(job, now)
    if may_shrink(job):
        return shrink(job, now)
    if has_enough_partials(job):
        return send_partials(job, now)
    if job.paused_since is None:
        note = Note("paused", {"waiting_for": [str(a) for a in job.waiting_for]})
        return Step(replace(job, paused_since=now), (note,))
    if now >= job.paused_since + job.manifest.deadlines.pause_seconds:
        committed = job.round > 0 or job.state in _COMMITTED
        return fail(job, JobCode.MEMBER_LOST if committed else JobCode.DEADLINE)
    return Step(job)
