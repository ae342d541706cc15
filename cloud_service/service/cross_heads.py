"""Each other's heads, compared while jobs run: does a hospital's message fit what the two logs said before?

A hospital echoes the newest head of the job's log that it has seen. If this cloud never had that head, one of the two
has another history: the cloud was put back from a backup, or has shown two stories. Nothing is computed on that.
A hospital also claims where its own log stands. Two claims that contradict each other, both signed, are told and
kept; the job goes on, since the hospital's log is its own affair.
"""

from __future__ import annotations

from enum import StrEnum

import structlog
from sqlalchemy import Connection

from cloud_service.service import acts
from cloud_service.store import heads, messages
from cloud_service.store.jobs import StoredJob
from shared.errors import JobCode, PeerError
from shared.protocol.audit_log import START, SignedClaim, read_claim, verify_claim
from shared.protocol.coordinator import refused
from shared.protocol.effects import Note
from shared.protocol.envelopes import Sealed
from shared.protocol.job import Step
from shared.protocol.stages import fail

FORK = "audit_fork"
"""Event of a job, and act: two histories where only one may be."""
_log = structlog.get_logger()


class Fork(StrEnum):
    """What does not fit. `cloud`: a head of this cloud's that it does not know. `hospital`: two claims of its own."""

    CLOUD = "cloud"
    HOSPITAL = "hospital"


def believed(header: str | None, sealed: Sealed, public_key: bytes) -> SignedClaim | None:
    """The claim in a message's header, or None. One that does not hold is told and left out: it proves nothing."""
    if header is None:
        return None
    envelope = sealed.envelope
    try:
        signed = read_claim(header)
        verify_claim(signed, agent=envelope.sender, message=sealed.sha256, public_key=public_key)
    except PeerError as error:
        _log.warning("journal_claim", job=envelope.job, agent=envelope.sender, code=error.code.value)
        return None
    return signed


def compare(
    connection: Connection, stored: StoredJob, sealed: Sealed, claim: SignedClaim | None
) -> Fork | None:
    """Inside the transaction that takes the message: what does not fit, or None and the claim is kept."""
    echo, job = sealed.envelope.body.get("head"), stored.job.manifest.job
    if isinstance(echo, str) and echo != START and not heads.is_of_job(connection, job, echo):
        return Fork.CLOUD
    return None if claim is None else _own_fork(connection, job, claim)


def _own_fork(connection: Connection, job: str, signed: SignedClaim) -> Fork | None:
    claim = signed.claim
    if heads.is_contradicted(connection, job, claim.agent, claim.number, claim.head):
        return Fork.HOSPITAL
    heads.keep(connection, job, claim.agent, claim.number, claim.head)
    return None


def told(step: Step, stored: StoredJob, sealed: Sealed, fork: Fork) -> Step:
    """The step of a message that does not fit: a line for the people, and for `CLOUD` the job's end without a tree."""
    if fork is Fork.CLOUD:
        step = fail(refused(stored.job, sealed), JobCode.DIVERGED)
    note = Note(FORK, {"hospital": sealed.envelope.sender, "whose": fork.value})
    return Step(step.job, (note, *step.effects))


def put_down(connection: Connection, stored: StoredJob, sealed: Sealed, fork: Fork, now: int) -> None:
    """Last in the transaction: keep the message as evidence, and the fact as an act."""
    envelope = sealed.envelope
    messages.keep_fork(connection, sealed, stored.job.head, now)
    acts.record(
        connection,
        actor=acts.PROGRAM,
        act=FORK,
        subject=envelope.job,
        now=now,
        details={"hospital": envelope.sender, "whose": fork.value, "message": sealed.sha256},
    )
