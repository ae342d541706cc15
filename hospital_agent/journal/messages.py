"""What left for a job and what came in, as the audit chain tells it: kind, place, bytes and hash, never contents."""

from __future__ import annotations

import hashlib

from hospital_agent.journal.entries import JobEntry, OutgoingMessage
from hospital_agent.journal.store import Journal
from shared.protocol.audit_log import record_of
from shared.protocol.envelopes import Sealed


def note_sent(journal: Journal, message: OutgoingMessage, head: str, **more: object) -> None:
    """Inside a transaction: the cloud has taken it. Args: head: the cloud's log head after it. more: what it says."""
    journal.record(
        "sent",
        job=message.job,
        type=message.type,
        round=message.round,
        attempt=message.attempt,
        sha256=message.sha256,
        bytes=len(message.raw or b""),
        head=head,
        **more,
    )


def note_refused(journal: Journal, message: OutgoingMessage, code: str) -> None:
    """Inside a transaction: the cloud has refused it for good."""
    journal.record(
        "refused",
        job=message.job,
        type=message.type,
        code=code,
        sha256=message.sha256,
        bytes=len(message.raw or b""),
    )


def note_received(journal: Journal, job: str, head: str, sealed: Sealed) -> None:
    """Inside a transaction: a message of the cloud. Args: head: the cloud's log head that it brought."""
    journal.record("received", job=job, head=head, bytes=len(sealed.raw), **record_of(sealed))


def note_offer(journal: Journal, entry: JobEntry) -> None:
    """Inside a transaction: the offer of a job came, before this hospital has said anything to it."""
    sha256 = hashlib.sha256(entry.offer).hexdigest()
    journal.record("offer_came", job=entry.job, mh=entry.mh, sha256=sha256, bytes=len(entry.offer))
