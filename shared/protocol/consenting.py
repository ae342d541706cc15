"""The difference rule (A4) over what a hospital has seen or sent, and the consent that alone lifts it.

Two results over the same records whose rosters differ by one hospital tell of it: two sums its counts, two trees
perhaps a value of one of its records. That hospital alone can consent; it signs
`"ppsdt/1/consent\\n" || SHA-256(canonical consent)`, and names the two studies, or twice the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.crypto import identity
from shared.crypto.certificates import Role
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.protocol.trust import Trust
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.consent import Consent, SignedConsent
from shared.wire.manifest import Manifest

_CONTEXT: Final = b"ppsdt/1/consent\n"


@dataclass(frozen=True, slots=True)
class SeenRoster:
    """A roster over the same records.

    `seen`: its sums or tree were. Else a contribution was sent, and what became of it is not known: who adds
    contributions may have had a sum in private.
    """

    roster: tuple[str, ...]
    job: str
    study_sha256: str | None = None
    seen: bool = True


def sign_consent(consent: Consent, signer: Signer, certificate: bytes) -> SignedConsent:
    """The hospital's word. Args: certificate: its own, DER."""
    signature = signer.sign(_message(consent)).hex()
    return SignedConsent(consent=consent, signature=signature, certificate=encode_base64url(certificate))


def verify_consent(signed: SignedConsent, trust: Trust) -> Consent:
    """The consent of a present member.

    Raises: PeerError: `unknown_agent`; `bad_signature`: also for somebody else's certificate.
    """
    certificate = trust.certificate(decode_base64url(signed.certificate, what="certificate"), role=Role.AGENT)
    consent = signed.consent
    if certificate.id != consent.hospital:
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"consent: not the certificate of {consent.hospital}")
    identity.verify(
        certificate.public_key, bytes.fromhex(signed.signature), _message(consent), what="consent"
    )
    return consent


def valid_consents(manifest: Manifest, trust: Trust) -> tuple[Consent, ...]:
    """The manifest's consents that hold; one that does not allows nothing, and is no reason to refuse the job."""
    valid = []
    for signed in manifest.consents or ():
        try:
            valid.append(verify_consent(signed, trust))
        except PeerError:
            continue
    return tuple(valid)


def differing_hospital(
    roster: Sequence[str],
    study_sha256: str | None,
    earlier: Iterable[SeenRoster],
    consents: Sequence[Consent] = (),
) -> str | None:
    """The hospital that the results over this roster and an earlier one would tell of, unless it has consented.

    A roster that was only sent to does not count where the same job went on with exactly the present one: what the two
    differ in is known since then, and a new job adds nothing to it.
    Args: study_sha256: of the present job's document. earlier: over the same records, without the present job.
    """
    known, present = list(earlier), set(roster)
    settled = {one.job for one in known if one.seen and set(one.roster) == present}
    for one in known:
        extra = present ^ set(one.roster)
        if len(extra) != 1 or (not one.seen and one.job in settled):
            continue
        (hospital,) = extra
        pair = (study_sha256, one.study_sha256)
        with_it, without_it = pair if hospital in present else pair[::-1]
        if not any(_allows(consent, hospital, with_it, without_it) for consent in consents):
            return hospital
    return None


def _allows(consent: Consent, hospital: str, with_it: str | None, without_it: str | None) -> bool:
    return (consent.hospital, consent.with_sha256, consent.without_sha256) == (hospital, with_it, without_it)


def _message(consent: Consent) -> bytes:
    return _CONTEXT + hashlib.sha256(consent.canonical()).digest()
