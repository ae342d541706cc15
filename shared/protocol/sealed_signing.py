"""A hospital's signature on its sealed draft, by which the mixer knows that a batch is of so many hospitals.

Whoever merges could else hand in drafts of their own making, so that one true hospital stands alone among them. The
signature is for the mixer and ends there: `"ppsdt/1/sealed-draft\\n" || SHA-256(canonical draft without its sender)`.
"""

from __future__ import annotations

import hashlib
from typing import Final

from shared.crypto import identity
from shared.crypto.certificates import Role
from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import Signer
from shared.protocol.trust import Trust
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.contract_sealed import SealedDraft, Sender

_CONTEXT: Final = b"ppsdt/1/sealed-draft\n"
_WHAT: Final = "sealed draft"


def sign_sealed(draft: SealedDraft, hospital: str, signer: Signer, certificate: bytes) -> SealedDraft:
    """The draft with its sender. Args: certificate: the hospital's own, DER."""
    sender = Sender(
        hospital=hospital,
        signature=signer.sign(_message(draft)).hex(),
        certificate=encode_base64url(certificate),
    )
    return draft.model_copy(update={"sender": sender})


def verify_sealed(draft: SealedDraft, trust: Trust) -> str:
    """Which hospital of this federation sealed it.

    Raises: PeerError: `bad_signature`: unsigned, or changed; `unknown_agent`: not a present member, or another one
        than it says.
    """
    sender = draft.sender
    if sender is None:
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"{_WHAT}: it is not signed (privet data seal --agent DIR)")
    certificate = trust.certificate(decode_base64url(sender.certificate, what="certificate"), role=Role.AGENT)
    if certificate.id != sender.hospital:
        raise PeerError(
            ErrorCode.UNKNOWN_AGENT,
            f"{_WHAT}: the certificate is {certificate.id}'s, not {sender.hospital}'s",
        )
    identity.verify(certificate.public_key, bytes.fromhex(sender.signature), _message(draft), what=_WHAT)
    return sender.hospital


def _message(draft: SealedDraft) -> bytes:
    bare = draft.model_copy(update={"sender": None})
    return _CONTEXT + hashlib.sha256(bare.canonical()).digest()
