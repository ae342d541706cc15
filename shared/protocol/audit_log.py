"""The hash-chained logs at the cloud and at the hospitals (protocol section 8), and how each takes in the other's head.

`h_k = SHA-256(h_(k-1) || canonical record)`, from 32 zero bytes on. The cloud keeps one log a job and one of
administrative acts, a hospital one over everything. The cloud's head travels in receipts and sums. A hospital's head
travels beside each of its messages, as a signed claim in the header `privet-journal`: agents and clouds that do not
know the header lose nothing but this. What a record says of a message beyond its hash is of sizes, ids and codes only.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

from pydantic import Field

from shared.crypto import identity
from shared.errors import ErrorCode, PeerError
from shared.ids import CLOUD
from shared.protocol.envelopes import Sealed, Signer
from shared.wire.base import Hex32, Hex64, Id, WireModel, canonical_json
from shared.wire.envelope import MessageType

START: Final = "0" * 64
"""The head of an empty log."""
JOURNAL_HEADER: Final = "privet-journal"
_CLAIM_CONTEXT: Final = b"ppsdt/1/journal\n"
_MAX_CLAIM_BYTES: Final = 512


def link(head: str, record: bytes) -> str:
    """The head after a record. Args: head: 64 hex digits. record: its canonical JSON."""
    return hashlib.sha256(bytes.fromhex(head) + record).hexdigest()


class JournalClaim(WireModel):
    """Where a hospital's own log stood when it sent a message.

    `message`: hash of the envelope that it comes with. `number`: of the newest record that no power cut takes away;
    `head`: the log's head with it.
    """

    agent: Id
    message: Hex32
    number: Annotated[int, Field(ge=0, le=2**53 - 1)]
    head: Hex32


class SignedClaim(WireModel):
    """What the header holds, as canonical JSON; the signature is Ed25519 by the hospital's identity."""

    claim: JournalClaim
    signature: Hex64


def sign_claim(claim: JournalClaim, signer: Signer) -> SignedClaim:
    """Sign where the own log stands."""
    return SignedClaim(claim=claim, signature=signer.sign(_CLAIM_CONTEXT + claim.canonical()).hex())


def read_claim(header: str) -> SignedClaim:
    """The header's value, not yet verified. Raises: PeerError: `malformed`."""
    return SignedClaim.parse(
        header.encode("ascii", "replace"), what=JOURNAL_HEADER, max_bytes=_MAX_CLAIM_BYTES
    )


def verify_claim(signed: SignedClaim, *, agent: str, message: str, public_key: bytes) -> None:
    """Whether this hospital says so of this message.

    Raises: PeerError: `bad_signature`: made by another, or `malformed`: about another message.
    """
    claim = signed.claim
    if (claim.agent, claim.message) != (agent, message):
        raise PeerError(ErrorCode.MALFORMED, f"{JOURNAL_HEADER}: it is about another message")
    identity.verify(
        public_key,
        bytes.fromhex(signed.signature),
        _CLAIM_CONTEXT + claim.canonical(),
        what=JOURNAL_HEADER,
    )


def record_of(sealed: Sealed) -> dict[str, Any]:
    """What a log says of a message: type, place, hash, and by its type sizes, hashes and codes."""
    envelope = sealed.envelope
    record: dict[str, Any] = {
        "type": envelope.type.value,
        "round": envelope.round,
        "attempt": envelope.attempt,
        "seq": envelope.seq,
        "sha256": sealed.sha256,
    }
    told = _of_cloud if envelope.sender == CLOUD else _of_hospital
    return record | told(envelope.type, envelope.body)


def _of_cloud(kind: MessageType, body: dict[str, Any]) -> dict[str, Any]:
    match kind:
        case MessageType.AGGREGATE:
            return {
                "ciphertexts": len(body["ciphertexts"]),
                "list_sha256": list_hash(body["contributions"]),
            }
        case MessageType.ROUND_OPEN:
            return {"slots": body["slots"]}
        case MessageType.ABORT:
            return _texts(body, "code")
        case _:
            return {}


def _of_hospital(kind: MessageType, body: dict[str, Any]) -> dict[str, Any]:
    """The body may be of a message that is refused: what is not there, or of another kind, is left out."""
    match kind:
        case MessageType.ATTEST:
            return _texts(body, "tree_sha256") | {"published": body.get("tree") is not None} | _figures(body)
        case MessageType.JOB_DECLINE | MessageType.ABORT:
            return _texts(body, "code")
        case MessageType.CONTRIBUTION | MessageType.PARTIAL | MessageType.DECISION | MessageType.NOTIFY:
            echo, nodes = body.get("head"), body.get("next_nodes")
            told: dict[str, Any] = {"echo": echo[:64]} if isinstance(echo, str) else {}
            return told | ({"next_nodes": nodes} if type(nodes) is int else {})
        case _:
            return {}


def _figures(body: dict[str, Any]) -> dict[str, Any]:
    """The hash of published figures, where an attestation has some."""
    text = body.get("quality")
    return {"quality_sha256": hashlib.sha256(text.encode()).hexdigest()} if isinstance(text, str) else {}


def _texts(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: body[name][:64] for name in names if isinstance(body.get(name), str)}


def list_hash(contributions: Any) -> str:
    """Hash of the list of a sum: which contribution (SHA-256 of its envelope) of which hospital went into it."""
    pairs = [[str(agent), str(sha256)] for agent, sha256 in contributions]
    return hashlib.sha256(canonical_json(pairs)).hexdigest()
