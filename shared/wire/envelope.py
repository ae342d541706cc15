"""The envelope around every message (protocol section 2) and the pair of envelope and signature that travels.

Signing and verifying live in `shared.protocol.envelopes`; here is only the form.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.wire.base import Hex16, Hex32, Hex64, Id, WireModel

ENVELOPE_OVERHEAD_BYTES: Final = 4096
"""Allowed on top of the computed size of a body (protocol section 13)."""


class MessageType(StrEnum):
    """Every message of the protocol (section 7)."""

    JOB_OFFER = "job_offer"
    JOB_ACCEPT = "job_accept"
    JOB_DECLINE = "job_decline"
    ROSTER = "roster"
    ROUND_OPEN = "round_open"
    CONTRIBUTION = "contribution"
    RECEIPT = "receipt"
    AGGREGATE = "aggregate"
    PARTIAL = "partial"
    PARTIALS = "partials"
    DECISION = "decision"
    NOTIFY = "notify"
    JOB_DONE = "job_done"
    ATTEST = "attest"
    ABORT = "abort"


class Envelope(WireModel):
    """`{v, type, job, mh, round, attempt, from, to, seq, prev, body}`; `body` is checked by its own model."""

    v: Literal[1] = 1
    type: Annotated[MessageType, Field(strict=False)]
    job: Hex16
    mh: Hex32
    round: Annotated[int, Field(ge=0, le=2**32 - 1)]
    attempt: Annotated[int, Field(ge=0, le=2**32 - 1)]
    sender: Annotated[Id, Field(alias="from")]
    to: Id
    seq: Annotated[int, Field(ge=0, le=2**53 - 1)]
    prev: Hex32
    body: dict[str, Any]


class SignedEnvelope(WireModel):
    """An envelope and the Ed25519 signature over its canonical bytes; forwarded unchanged."""

    envelope: Envelope
    signature: Hex64
