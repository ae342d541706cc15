"""A hospital's role as pure steps: (participation, message) to (participation, effects).

Rules enforced here (protocol sections 4, 6.3, 6.4 and A3 of section 8):
1. the cloud's messages come from the cloud's certificate, for this job and manifest, in growing `seq`;
2. the roster is what the members signed: own acceptance among them, everyone invited, `min_hospitals` met;
3. a round opens only after the last one was decided alike by all, as their signatures show;
4. one contribution a (round, attempt); a higher attempt only in round 0 and never after an aggregate;
5. nothing is decided on sums that fail one check of section 6.3 or section 4;
6. a secret job has no rounds of sums, not even when its members have decided;
7. in key mode threshold one partial decryption a round, of a sum recomputed from what the others signed (6.5).
A `PeerError` means the message is refused and nothing changed; a `JobFailure` means: send `abort(code)`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from shared.crypto import certificates
from shared.errors import ErrorCode, JobCode, JobFailure, PeerError
from shared.ids import CLOUD, EVERYONE, AgentId
from shared.protocol.agent_effects import Aborted, Completed, Compute, Count, HospitalKeys, Say, Step
from shared.protocol.envelopes import Sealed, body_of, reseal, verify
from shared.protocol.joining import join_roster
from shared.protocol.opening import open_together, partial_body
from shared.protocol.participation import (
    Participation,
    SecretResult,
    growth_kind,
    rules_of,
    schema_of,
)
from shared.protocol.profiles import contribution_body, open_sums, secret_statement_body, statement_body
from shared.protocol.states import (
    AGENT_TRANSITIONS,
    TERMINAL_AGENT_STATES,
    AgentEvent,
    AgentState,
    follow,
)
from shared.protocol.trust import Trust
from shared.secure_tree.context import hidden_state
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.manifest import MAX_CELLS, Manifest
from shared.wire.rounds import Abort, Aggregate, Attest, JobAccept, JobDone, Partials, Receipt, RoundOpen
from shared.wire.secret import DirectEndpoint


def accept(
    manifest: Manifest,
    own: AgentId,
    snapshot_sha256: str,
    ephemeral: tuple[bytes, bytes],
    keys: HospitalKeys,
    *,
    records: int | None = None,
    direct: DirectEndpoint | None = None,
) -> Step:
    """Say yes.

    Args: ephemeral: private and public X25519 key of this job, fresh. records: of a secret job, how many will be
        shared. direct: of a compute party, where it takes the connections of the two others.
    """
    mh = hashlib.sha256(manifest.canonical()).hexdigest()
    growth = growth_kind(manifest).start(schema_of(manifest), rules_of(manifest), bytes.fromhex(mh))
    state = follow(AGENT_TRANSITIONS, AgentState.IDLE, AgentEvent.ACCEPT)
    participation = Participation(manifest, mh, own, growth, ephemeral[0], state=state, cloud_seq=0)
    body = JobAccept(
        mh=mh,
        state=_hidden_state(participation, keys).hex(),
        snapshot_sha256=snapshot_sha256,
        ephemeral=encode_base64url(ephemeral[1]),
        records=records,
        direct=direct,
    )
    return Step(participation, (Say(MessageType.JOB_ACCEPT, body),))


def _hidden_state(participation: Participation, keys: HospitalKeys) -> bytes:
    return hidden_state(keys.round_keys.secret, bytes.fromhex(participation.mh), participation.chained_state)


def _moved(participation: Participation, event: AgentEvent) -> Participation:
    return replace(participation, state=follow(AGENT_TRANSITIONS, participation.state, event))


def said(participation: Participation, sealed: Sealed) -> Participation:
    """After one's own envelope was sealed: advance the chain and remember what later checks need."""
    changed = replace(participation, chain=participation.chain.after(sealed.sha256))
    if sealed.envelope.type is MessageType.CONTRIBUTION:
        return replace(changed, contribution=sealed.sha256)
    if sealed.envelope.type is MessageType.JOB_ACCEPT:
        return replace(changed, accept=sealed.sha256)
    return changed


def receive(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    """One message of the cloud. A message seen before, or for a job that is over, changes nothing.

    Raises: PeerError: refused. JobFailure: the job must be aborted with its code.
    """
    envelope = sealed.envelope
    verify(sealed, cloud_key(participation.manifest, keys.trust))
    if (
        (envelope.job, envelope.mh) != (participation.manifest.job, participation.mh)
        or envelope.sender != CLOUD
        or envelope.to not in (EVERYONE, participation.own)
    ):
        raise PeerError(
            ErrorCode.MALFORMED, f"{envelope.type}: not the cloud's message of this job to this agent"
        )
    if envelope.seq <= participation.cloud_seq or participation.state in TERMINAL_AGENT_STATES:
        return Step(participation)
    handler = _HANDLERS.get(envelope.type)
    if handler is None:
        raise PeerError(ErrorCode.MALFORMED, f"an agent takes no {envelope.type} message")
    if participation.manifest.is_secret and envelope.type in _OF_SUMS:
        raise PeerError(ErrorCode.WRONG_ROUND, f"a secret job takes no {envelope.type} message")
    return handler(replace(participation, cloud_seq=envelope.seq), sealed, keys)


def cloud_key(manifest: Manifest, trust: Trust) -> bytes:
    """The cloud's key of a job: its certificate is fixed by mh, so a later list of members cannot change it."""
    der = decode_base64url(manifest.cloud_certificate, what="cloud_certificate")
    return certificates.verify(der, trust.root).public_key


def read_receipt(sealed: Sealed, about: str, manifest: Manifest, mh: str, trust: Trust) -> Receipt:
    """The cloud's signed answer to an own message, which is kept as evidence; its log head is echoed from now on.

    Args: about: hash of the message that was sent. mh: of the manifest, as hex.
    Raises: PeerError: it is not the cloud's receipt of that message.
    """
    verify(sealed, cloud_key(manifest, trust))
    body = body_of(sealed.envelope, Receipt)
    if sealed.envelope.mh != mh or body.message_sha256 != about:
        raise PeerError(ErrorCode.MALFORMED, "receipt: it is about another message")
    return body


def _on_roster(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    joined = _moved(join_roster(participation, sealed, keys), AgentEvent.JOIN_ROSTER)
    if joined.manifest.is_secret:
        return Step(_moved(joined, AgentEvent.COMPUTE), (Compute(),))
    return Step(joined)


# --- a round --------------------------------------------------------------------------------------------------


def _on_round_open(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    body = body_of(sealed.envelope, RoundOpen)
    number, attempt = sealed.envelope.round, sealed.envelope.attempt
    _check_roster(participation, body, number, attempt)
    _check_turn(participation, number, attempt)
    if number > 0:
        _check_statements(participation, body.decisions, number - 1)
    if body.slots != participation.growth.slot_count:
        raise JobFailure(
            JobCode.DIVERGED, f"round {number + 1}: the cloud and this hospital count other slots"
        )
    opened = replace(
        participation,
        round=number,
        attempt=attempt,
        roster=tuple(AgentId(agent) for agent in body.roster),
        contribution=None,
    )
    return Step(opened, (Count(participation.growth.queries),))


def _check_turn(participation: Participation, number: int, attempt: int) -> None:
    """Rule A3."""
    first = (
        participation.state is AgentState.ACCEPTED and participation.members and (number, attempt) == (0, 0)
    )
    again = (
        participation.state is AgentState.SENT
        and number == 0
        and attempt > participation.attempt
        and participation.aggregated < 0
        and attempt <= participation.manifest.max_shrinks
    )
    following = (
        participation.state is AgentState.DECIDED and number == participation.round + 1 and attempt == 0
    )
    if not (first or again or following):
        raise PeerError(ErrorCode.WRONG_ROUND, f"round {number + 1} attempt {attempt + 1} may not open now")


def _check_roster(participation: Participation, body: RoundOpen, number: int, attempt: int) -> None:
    before = [str(agent) for agent in participation.roster]
    if attempt == 0:
        fits = body.roster == before
    else:
        fits = number == 0 and set(body.roster) < set(before) and body.roster == sorted(set(body.roster))
    if not fits or participation.own not in body.roster:
        raise PeerError(
            ErrorCode.ROSTER_MISMATCH, f"round {number + 1} attempt {attempt + 1}: not the roster agreed on"
        )
    if len(body.roster) < participation.manifest.min_hospitals:
        raise PeerError(ErrorCode.POLICY_MIN_HOSPITALS, "round: fewer hospitals than the manifest demands")


def _check_statements(
    participation: Participation, statements: Sequence[SignedEnvelope], number: int
) -> None:
    """All members' signed decisions of round `number`, equal to one's own (protocol 6.4)."""
    if [s.envelope.sender for s in statements] != [str(agent) for agent in participation.roster]:
        raise JobFailure(JobCode.DIVERGED, f"round {number + 1}: the decisions are not one of each member")
    for peer, signed in zip(participation.peers(), statements, strict=True):
        envelope = signed.envelope
        verify(reseal(signed), peer.public_key)
        said_here = {key: value for key, value in envelope.body.items() if key != "head"}
        fits = (
            envelope.type in (MessageType.DECISION, MessageType.NOTIFY)
            and (envelope.job, envelope.mh) == (participation.manifest.job, participation.mh)
            and (envelope.round, envelope.attempt) == (number, participation.attempt)
        )
        if not fits or said_here != participation.statement:
            raise JobFailure(JobCode.DIVERGED, f"round {number + 1}: {peer.id} has decided otherwise")


def contribute(participation: Participation, counts: Sequence[int], seed: bytes, keys: HospitalKeys) -> Step:
    """The counted cells become a contribution. Args: seed: 32 fresh bytes, the mask seed of this attempt only."""
    body = contribution_body(participation, counts, seed, keys.round_keys, _hidden_state(participation, keys))
    return Step(_moved(participation, AgentEvent.SEND), (Say(MessageType.CONTRIBUTION, body),))


def _on_aggregate(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    body = body_of(sealed.envelope, Aggregate)
    here = (participation.round, participation.attempt)
    if participation.state is not AgentState.SENT or (sealed.envelope.round, sealed.envelope.attempt) != here:
        raise PeerError(
            ErrorCode.WRONG_ROUND,
            f"aggregate: round {here[0] + 1} attempt {here[1] + 1} does not wait for it",
        )
    hidden = _hidden_state(participation, keys)
    context = participation.context(hidden)
    listed = dict(body.contributions)
    own_listed = listed.get(participation.own) == participation.contribution
    if not own_listed or [a for a, _ in body.contributions] != [str(a) for a in participation.roster]:
        raise JobFailure(
            JobCode.ROSTER_DIGITS, f"round {here[0] + 1}: the sum does not list this hospital's contribution"
        )
    if body.roster_hash != context.roster_hash.hex():
        raise JobFailure(JobCode.ROSTER_DIGITS, f"round {here[0] + 1}: the sum is over another roster")
    seen = replace(participation, aggregated=here[0], head=body.head)
    try:
        if participation.manifest.key_mode == "threshold":
            partial, opening = partial_body(seen, body, keys.round_keys, hidden)
            given = replace(_moved(seen, AgentEvent.GIVE_PARTIAL), opening=opening)
            return Step(given, (Say(MessageType.PARTIAL, partial),))
        counts = open_sums(seen, body, keys.round_keys, hidden)
    except PeerError as error:
        # A sum of invalid ciphertexts is the cloud's doing and can never be repaired by waiting.
        raise JobFailure(
            JobCode.TAG_MISMATCH, f"round {here[0] + 1}: the aggregate is not valid: {error}"
        ) from None
    return _absorb(seen, counts, keys)


def _on_partials(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    """Key mode threshold: with the others' partial decryptions the sum opens."""
    body = body_of(sealed.envelope, Partials)
    here = (participation.round, participation.attempt)
    there = (sealed.envelope.round, sealed.envelope.attempt)
    if participation.state is not AgentState.OPENING or there != here:
        raise PeerError(
            ErrorCode.WRONG_ROUND,
            f"partials: round {here[0] + 1} attempt {here[1] + 1} does not wait for them",
        )
    counts = open_together(participation, body, keys.round_keys, _hidden_state(participation, keys))
    return _absorb(replace(participation, opening=None), counts, keys)


def _absorb(participation: Participation, counts: Sequence[int], keys: HospitalKeys) -> Step:
    grown = replace(_moved(participation, AgentEvent.VERIFY), growth=participation.growth.absorb(counts))
    if grown.growth.slot_count > MAX_CELLS:
        raise JobFailure(
            JobCode.RANGE_VIOLATION,
            f"round {participation.round + 2} would need more than {MAX_CELLS} cells",
        )
    return _decide(grown, keys)


def _decide(participation: Participation, keys: HospitalKeys) -> Step:
    body = statement_body(participation, _hidden_state(participation, keys))
    statement = {k: v for k, v in body.model_dump(mode="json", by_alias=True).items() if k != "head"}
    decided = replace(_moved(participation, AgentEvent.DECIDE), statement=statement)
    kind = MessageType.NOTIFY if participation.manifest.profile == "paper" else MessageType.DECISION
    return Step(decided, (Say(kind, body),))


def computed(participation: Participation, result: SecretResult, keys: HospitalKeys) -> Step:
    """A secret job came to its result here: state it, so that all members can see whether theirs is the same."""
    with_result = replace(participation, result=result)
    body = secret_statement_body(with_result, _hidden_state(with_result, keys))
    statement = {k: v for k, v in body.model_dump(mode="json", by_alias=True).items() if k != "head"}
    decided = replace(_moved(with_result, AgentEvent.DECIDE), statement=statement)
    return Step(decided, (Say(MessageType.DECISION, body),))


# --- the end --------------------------------------------------------------------------------------------------


def _on_job_done(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    body = body_of(sealed.envelope, JobDone)
    growth, result = participation.growth, participation.result
    if participation.state is not AgentState.DECIDED or not (result or growth.is_done):
        raise JobFailure(JobCode.DIVERGED, "the cloud says the tree is finished; it is not")
    _check_statements(participation, body.decisions, participation.round)
    text = growth.tree.canonical().decode() if result is None else result.record
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    attest = Attest(
        state=_hidden_state(participation, keys).hex(),
        tree_sha256=sha256,
        tree=text if participation.manifest.publish_tree else None,
    )
    complete = _moved(participation, AgentEvent.COMPLETE)
    return Step(complete, (Say(MessageType.ATTEST, attest), Completed(tuple(body.decisions))))


def _on_abort(participation: Participation, sealed: Sealed, keys: HospitalKeys) -> Step:
    code = body_of(sealed.envelope, Abort).code
    return Step(replace(_moved(participation, AgentEvent.ABORT), failure=code), (Aborted(code),))


def abort(participation: Participation, code: JobCode) -> Step:
    """Give up: tell the cloud the code, without values, and never decide (protocol 6.3)."""
    over = replace(_moved(participation, AgentEvent.ABORT), failure=code)
    return Step(over, (Say(MessageType.ABORT, Abort(code=code)), Aborted(code)))


_OF_SUMS: Final = frozenset({MessageType.ROUND_OPEN, MessageType.AGGREGATE, MessageType.PARTIALS})
"""Rule 6: the messages by which counts of the records would be asked for."""

_HANDLERS: Final[dict[MessageType, Callable[[Participation, Sealed, HospitalKeys], Step]]] = {
    MessageType.ROSTER: _on_roster,
    MessageType.ROUND_OPEN: _on_round_open,
    MessageType.AGGREGATE: _on_aggregate,
    MessageType.PARTIALS: _on_partials,
    MessageType.JOB_DONE: _on_job_done,
    MessageType.ABORT: _on_abort,
}
