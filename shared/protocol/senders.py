"""Whose message it is, and whether it belongs to where the job is: rules 2 and 3 of `coordinator`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.envelopes import Sealed
from shared.protocol.job import Job, Member
from shared.protocol.states import CloudState
from shared.wire.envelope import Envelope

_ORDER: Final = (
    CloudState.KEYING,
    CloudState.COLLECTING,
    CloudState.COMMITTED,
    CloudState.OPENING,
    CloudState.DECIDING,
)


def advanced(job: Job, sealed: Sealed) -> Job:
    """The job after its sender's next message: only the sender's chain has moved. Raises: PeerError: it is not that."""
    member = _sender(job, sealed.envelope)
    return job.with_member(replace(member, chain=member.chain.after(sealed.sha256)))


def _sender(job: Job, envelope: Envelope) -> Member:
    """Whose next message it is. Raises: PeerError: of nobody invited, of another manifest, with a gap before it."""
    member = job.members.get(AgentId(envelope.sender))
    if member is None:
        raise PeerError(
            ErrorCode.ROSTER_MISMATCH, f"{envelope.sender} is not invited to job {job.manifest.job}"
        )
    if envelope.mh != job.mh:
        raise PeerError(ErrorCode.MALFORMED, "mh is not the hash of this job's manifest")
    if (envelope.seq, envelope.prev) != (member.chain.seq, member.chain.prev):
        raise PeerError(
            ErrorCode.REPLAY_CONFLICT,
            f"expected seq {member.chain.seq} of {member.id} and its prev, got seq {envelope.seq}",
        )
    return member


def current(job: Job, envelope: Envelope, wanted: CloudState) -> Member:
    """The sender of a message of the open round in the wanted state.

    Raises: PeerError: `late` or `wrong_round`, or the sender is not in the roster of this round.
    """
    here, there = (job.round, job.attempt), (envelope.round, envelope.attempt)
    if there < here or (there == here and _is_past(job.state, wanted)):
        told = f"{_told(here)} is {job.state}; this came for {_told(there)}"
        raise PeerError(ErrorCode.LATE, told)
    if there != here or job.state is not wanted:
        raise PeerError(ErrorCode.WRONG_ROUND, f"{_told(here)} is open, got {_told(there)}")
    if envelope.sender not in job.roster:
        raise PeerError(ErrorCode.ROSTER_MISMATCH, f"{envelope.sender} is not in the roster of this round")
    return job.members[AgentId(envelope.sender)]


def _told(place: tuple[int, int]) -> str:
    """A round and its attempt as people count, from 1."""
    return f"round {place[0] + 1} attempt {place[1] + 1}"


def _is_past(state: CloudState, wanted: CloudState) -> bool:
    return state in _ORDER and _ORDER.index(state) > _ORDER.index(wanted)
