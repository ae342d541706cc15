"""Signing, chaining and checking envelopes (protocol section 2).

The signature is Ed25519 over `"ppsdt/1/envelope\\n" || SHA-256(canonical envelope)`. It is end to end: a relay
forwards the bytes unchanged and every receiver checks them again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.wire.base import WireModel, canonical_json, describe, parse_canonical, validated
from shared.wire.envelope import Envelope, MessageType, SignedEnvelope

ENVELOPE_CONTEXT: Final = b"ppsdt/1/envelope\n"
_PREFIX: Final = b'{"envelope":'
_SUFFIX_LENGTH: Final = len(b',"signature":"') + 128 + len(b'"}')
ZERO_HASH: Final = "0" * 64

Body = TypeVar("Body", bound=WireModel)


class Signer(Protocol):
    """Holds an Ed25519 private key and signs with it."""

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of `message`."""
        ...


@dataclass(frozen=True, slots=True)
class Chain:
    """Where a sender's chain of envelopes in one job stands: the next `seq`, and the hash it must name."""

    seq: int = 0
    prev: str = ZERO_HASH

    def after(self, sha256: str) -> Chain:
        """The chain once the envelope with this hash has been sent."""
        return Chain(self.seq + 1, sha256)


@dataclass(frozen=True, slots=True)
class Address:
    """The header of an envelope without its chain: which job and round, from whom, to whom."""

    type: MessageType
    job: str
    mh: str
    round: int
    attempt: int
    sender: str
    to: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A signed envelope with its exact bytes. `raw`: canonical JSON of the pair; `sha256`: of the envelope alone."""

    signed: SignedEnvelope
    raw: bytes
    sha256: str

    @property
    def envelope(self) -> Envelope:
        """The envelope inside."""
        return self.signed.envelope


def seal(signer: Signer, address: Address, chain: Chain, body: WireModel) -> Sealed:
    """Build, sign and serialise the next envelope of a chain."""
    envelope = Envelope.model_validate(
        {
            "type": address.type,
            "job": address.job,
            "mh": address.mh,
            "round": address.round,
            "attempt": address.attempt,
            "from": address.sender,
            "to": address.to,
            "seq": chain.seq,
            "prev": chain.prev,
            "body": body.model_dump(mode="json", by_alias=True),
        }
    )
    canonical = envelope.canonical()
    digest = hashlib.sha256(canonical)
    signature = signer.sign(ENVELOPE_CONTEXT + digest.digest()).hex()
    raw = _PREFIX + canonical + b',"signature":"' + signature.encode("ascii") + b'"}'
    return Sealed(SignedEnvelope(envelope=envelope, signature=signature), raw, digest.hexdigest())


def unseal(raw: bytes, *, max_bytes: int) -> Sealed:
    """Bytes as they came to an envelope; the signature is not yet checked.

    Raises: PeerError: `too_large`, or `malformed` (not canonical, wrong fields, wrong types).
    """
    document = parse_canonical(raw, what="message", max_bytes=max_bytes)
    signed = validated(SignedEnvelope, raw, what="message")
    _check_header(signed.envelope, document["envelope"])
    return Sealed(signed, raw, hashlib.sha256(signed_part(raw)).hexdigest())


def _check_header(envelope: Envelope, came: dict[str, Any]) -> None:
    """Refuse a header that is read as another one than was signed, such as `"v":true`, or one without its `v`.

    Whoever gets this envelope inside another message checks its signature over what was read.
    """
    read = envelope.model_dump(mode="json", by_alias=True, exclude={"body"})
    if canonical_json(read) != canonical_json({name: part for name, part in came.items() if name != "body"}):
        raise PeerError(ErrorCode.MALFORMED, "message: a header field is spelled in another way than agreed")


def signed_part(raw: bytes) -> memoryview:
    """The canonical envelope inside a canonical message, where it stands verbatim between prefix and signature.

    Raises: PeerError: `malformed`: the message does not begin with an envelope.
    """
    if not raw.startswith(_PREFIX):
        raise PeerError(ErrorCode.MALFORMED, "message: not a signed envelope in canonical form")
    return memoryview(raw)[len(_PREFIX) : -_SUFFIX_LENGTH]


def reseal(signed: SignedEnvelope) -> Sealed:
    """The exact bytes of an envelope that arrived inside another message."""
    canonical = signed.envelope.canonical()
    return Sealed(signed, signed.canonical(), hashlib.sha256(canonical).hexdigest())


def verify(sealed: Sealed, public_key: bytes) -> None:
    """Check the signature. Raises: PeerError: `bad_signature`."""
    identity.verify(
        public_key, bytes.fromhex(sealed.signed.signature), ENVELOPE_CONTEXT + bytes.fromhex(sealed.sha256)
    )


def body_of(envelope: Envelope, model: type[Body]) -> Body:
    """The body of an envelope as its own model. Raises: PeerError: `malformed`, naming the field."""
    try:
        return model.model_validate(envelope.body)
    except ValidationError as error:
        raise PeerError(ErrorCode.MALFORMED, f"{envelope.type} body: {describe(error)}") from None
