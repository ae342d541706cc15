"""Whether both sides of a job remember the same: what an agent tells of it with each poll, and what follows.

A database or a folder that was put back from an old backup has forgotten what the other side saw. Going on from there
could show a second sum of one round, so it is never done: such a job ends as `history_lost` on both sides.

An agent tells, for each job that runs (of many, in turn), how many messages of the cloud it has heard and how many of
its own were answered. Both only grow, so an old claim that comes late accuses nobody; a claim beyond what the cloud has
in its database proves that the database is older than the claim. The header is left out by agents without running jobs
and ignored by clouds that do not know it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.envelopes import Chain, Signer
from shared.protocol.job import Job
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.wire.base import Count, Hex16, Id, WireModel
from shared.wire.envelope import Envelope, MessageType

SEEN_HEADER: Final = "privet-seen"
FORGOTTEN_HEADER: Final = "privet-forgotten"
"""Of the poll's answer: ids of the claimed jobs that the cloud has no more as the agent saw them, parted by blanks."""
MAX_JOBS: Final = 32
MAX_HEADER_BYTES: Final = 4096
LEAP: Final = 2**20
"""How far the cloud's chain in a job, and the ids of its outbox, jump when history was lost: past what anybody saw."""
_SIGNATURE_DIGITS: Final = 128
_CONTEXT: Final = b"ppsdt/1/seen\n"


class JobSeen(WireModel):
    """One job. `heard`: the next `seq` expected of the cloud. `answered`: the next own `seq` without an answer."""

    job: Hex16
    heard: Count
    answered: Count


class Seen(WireModel):
    """The claim in the header; canonical JSON, then a dot, then the signature in hex."""

    agent: Id
    time: Count
    jobs: Annotated[list[JobSeen], Field(max_length=MAX_JOBS)]


def sign_seen(seen: Seen, signer: Signer) -> str:
    """The header's value."""
    canonical = seen.canonical()
    return f"{canonical.decode()}.{signer.sign(_CONTEXT + canonical).hex()}"


def read_seen(header: str, agent: str, public_key: bytes, now: int) -> Seen:
    """The verified claim of an agent.

    Raises: PeerError: `malformed`, or `bad_signature`: of another agent, by another key, or at another time.
    """
    claim, dot, digits = header.rpartition(".")
    try:
        signature = bytes.fromhex(digits)
    except ValueError:
        signature = b""
    if not dot or len(digits) != _SIGNATURE_DIGITS or not signature:
        raise PeerError(ErrorCode.MALFORMED, f"{SEEN_HEADER}: expected claim, dot, signature")
    seen = Seen.parse(claim.encode(), what=SEEN_HEADER, max_bytes=MAX_HEADER_BYTES)
    identity.verify(public_key, signature, _CONTEXT + seen.canonical(), what=SEEN_HEADER)
    if seen.agent != agent or abs(seen.time - now) > MAX_SKEW_SECONDS:
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"{SEEN_HEADER}: of another agent or another time")
    return seen


def is_heard(job: Job, envelope: Envelope) -> bool:
    """Whether the sender takes part in a job that is not over, and speaks of the same manifest."""
    member = job.members.get(AgentId(envelope.sender))
    if member is None or job.is_over or envelope.mh != job.mh:
        return False
    return member.id in job.roster or member.accept is not None


def is_ahead(job: Job, envelope: Envelope) -> bool:
    """Whether a member's message shows that the cloud has forgotten one that came before it.

    Members send in order, each message until it is answered, and a refused one keeps its place.
    """
    return is_heard(job, envelope) and envelope.seq > job.members[AgentId(envelope.sender)].chain.seq


def gives_up_astray(job: Job, envelope: Envelope) -> bool:
    """Whether a member gives up behind another message than the one that was heard last: its folder was put back."""
    if envelope.type is not MessageType.ABORT or not is_heard(job, envelope):
        return False
    return Chain(envelope.seq, envelope.prev) != job.members[AgentId(envelope.sender)].chain


def leapt(chain: Chain) -> Chain:
    """The chain in which the cloud says that it has lost its history, with a `seq` that every member takes for new."""
    return replace(chain, seq=chain.seq + LEAP)
