"""A hospital asks a tree that stays shared, by itself: its signed wish, and how often the study lets it.

The signature is over `"ppsdt/1/ask\\n" || SHA-256(canonical ask)`. The wish travels in the manifest of the job that
it began, so cloud and members alike check who asks, and count the questions that they know of against the study's
document. A question whose wish they know already is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shared.crypto import identity
from shared.crypto.certificates import Role
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.protocol.polling import MAX_SKEW_SECONDS
from shared.protocol.trust import Trust
from shared.texts import text
from shared.wire.asking import Ask, AskingRules, AttestedAsk, SignedAsk
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.manifest import Manifest

DAY_SECONDS: Final = 86_400
_CONTEXT: Final = b"ppsdt/1/ask\n"


@dataclass(frozen=True, slots=True)
class Earlier:
    """A question that a hospital has asked in the same study. `created`: its job, Unix seconds."""

    question: str
    records: int
    created: int


def asked_of(manifest: Manifest) -> Ask | None:
    """The wish that began a job, not verified; None for a job that a person at the cloud began."""
    asked = None if manifest.secret is None else manifest.secret.asked
    return None if asked is None else asked.ask


def asked_when(manifest: Manifest, now: int) -> int:
    """The time under which an agent counts a question that it sees now, Unix seconds.

    That of the job, for cloud and agents count alike; but no more than a day ago, else a cloud that dates jobs back,
    each by another day, would let all questions of the study be asked on one.
    """
    return max(manifest.created, now - DAY_SECONDS)


def sign_ask(ask: Ask, signer: Signer) -> SignedAsk:
    """The hospital's word."""
    return SignedAsk(ask=ask, signature=signer.sign(_message(ask)).hex())


def verify_ask(signed: SignedAsk | AttestedAsk, public_key: bytes, now: int) -> Ask:
    """The wish under the hospital's own key, as fresh as a poll. Raises: PeerError: `bad_signature`."""
    ask = signed.ask
    identity.verify(public_key, bytes.fromhex(signed.signature), _message(ask), what="ask")
    if abs(ask.time - now) > MAX_SKEW_SECONDS:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE, f"ask: signed at {ask.time}, it is {now} here; set the clock"
        )
    return ask


def attest_ask(signed: SignedAsk, certificate: bytes) -> AttestedAsk:
    """The wish for a manifest. Args: certificate: the hospital's, DER."""
    der = encode_base64url(certificate)
    return AttestedAsk(ask=signed.ask, signature=signed.signature, certificate=der)


def verify_asked(manifest: Manifest, trust: Trust) -> Ask | None:
    """The wish that began a job; None for a job that a person at the cloud began.

    Raises: PeerError: `unknown_agent`; `bad_signature`: also for somebody else's certificate, or of another time than
        the job.
    """
    asked = None if manifest.secret is None else manifest.secret.asked
    if asked is None:
        return None
    certificate = trust.certificate(decode_base64url(asked.certificate, what="certificate"), role=Role.AGENT)
    if certificate.id != asked.ask.hospital:
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"ask: not the certificate of {asked.ask.hospital}")
    return verify_ask(asked, certificate.public_key, manifest.created)


def too_often(rules: AskingRules | None, ask: Ask, created: int, earlier: Iterable[Earlier]) -> str | None:
    """Why a hospital may not ask this, as a sentence; None where it may.

    Args: rules: of the study's document. created: of the job, Unix seconds. earlier: the hospital's questions in the
        study, without this one.
    """
    if rules is None:
        return text("outside.asking_closed")
    known = list(earlier)
    if any(one.question == ask.question for one in known):
        return text("outside.asked_before")
    today = [one for one in known if one.created > created - DAY_SECONDS]
    counted = [
        (len(today) + 1, rules.questions_per_day, text("outside.asking_questions")),
        (len(known) + 1, rules.questions, text("outside.asking_questions_ever")),
        (
            ask.records + sum(one.records for one in today),
            rules.records_per_day,
            text("outside.asking_records"),
        ),
        (ask.records + sum(one.records for one in known), rules.records, text("outside.asking_records_ever")),
    ]
    return next(
        (
            text(
                "outside.asking_limit", hospital=ask.hospital, count=f"{count:,}", what=what, most=f"{most:,}"
            )
            for count, most, what in counted
            if count > most
        ),
        None,
    )


def _message(ask: Ask) -> bytes:
    return _CONTEXT + hashlib.sha256(ask.canonical()).digest()
