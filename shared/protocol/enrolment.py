"""Joining a federation: what the root signs, and what a party checks before it believes any of it.

1. The root certificate is the one whose fingerprint was read over the telephone.
2. The federation document is signed by that root and consistent in itself (modulus, key id, members).
3. A bundle's certificate was issued by that root, for the present member of that id and role, and for the
   party's own identity key.
4. An agent's bundle is signed by that root as a whole, for this epoch, and opens with the agent's own sealing
   key.
5. What it opens to are the factors of the document's modulus. That they are distinct primes of the right
   length is checked where they become a key: `shared.crypto.paillier_private.PrivateKey.create`.
6. In key mode threshold it opens to this agent's share instead. That it is the one behind the document's v_i is
   checked where it becomes a key: `shared.crypto.share_holder.ShareHolder.create`.

No clock here: how old a document may be, and whether a certificate has run out, is the caller's decision.
"""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass, field
from typing import Final, Protocol

from shared.crypto import certificates, identity, sealing
from shared.crypto.certificates import Certificate, Role, Subject
from shared.crypto.paillier import PublicKey
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import CLOUD, AgentId, KeyId, is_valid_id
from shared.protocol.key_shares import ShareKeys, share_keys_of, threshold_key
from shared.protocol.trust import Trust
from shared.wire.base import canonical_json, decode_base64url, encode_base64url
from shared.wire.enrolment import (
    AgentBundle,
    AgentBundleBody,
    CloudBundle,
    Federation,
    FederationSecrets,
    Member,
    ShareSecrets,
    SignedFederation,
)

REQUEST_CONTEXT: Final = b"ppsdt/1/request\n"
FEDERATION_CONTEXT: Final = b"ppsdt/1/federation\n"
BUNDLE_CONTEXT: Final = b"ppsdt/1/agent-bundle\n"
_MAX_SECRETS_BYTES: Final = 4096
_GROUP: Final = 4
_DIGITS: Final = 64


class Signer(Protocol):
    """The root: holds an Ed25519 private key and signs with it."""

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature of `message`."""
        ...


@dataclass(frozen=True, slots=True)
class FederationKeys:
    """An opened bundle's private part. p, q: factors of n, not yet known to be prime; secret: G, 32 bytes."""

    p: int = field(repr=False)
    q: int = field(repr=False)
    secret: bytes = field(repr=False)
    key_id: KeyId
    epoch: int


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What every party holds after joining: the federation's document and its own certificate."""

    federation: Federation
    certificate: Certificate


def fingerprint(der: bytes) -> str:
    """SHA-256 of a certificate's DER, 64 hex digits."""
    return hashlib.sha256(der).hexdigest()


def request_fingerprint(subject: Subject) -> str:
    """SHA-256 over all that a certificate request asks to certify, 64 hex digits.

    The party reads it from its own screen, the authority from the file that arrived; whoever changed the file
    on the way, be it only the sealing key, shows in the comparison.
    """
    asked = {
        "id": subject.id,
        "role": subject.role.value,
        "public_key": subject.public_key.hex(),
        "second_key": subject.second_key,
    }
    return hashlib.sha256(REQUEST_CONTEXT + canonical_json(asked)).hexdigest()


def spoken(sha256: str) -> str:
    """A fingerprint in groups of four digits, for reading over the telephone."""
    return " ".join(sha256[start : start + _GROUP] for start in range(0, len(sha256), _GROUP))


def typed(text: str, *, where: str) -> str:
    """The inverse of `spoken`, however somebody groups the digits. Raises: InputError: no fingerprint."""
    digits = "".join(text.split()).lower()
    if len(digits) != _DIGITS or set(digits) - set(string.hexdigits):
        raise InputError(
            "a fingerprint has 64 hexadecimal digits; blanks between groups are fine",
            where=where,
            remedy="Ask the trusted authority to read it again (privet authority show).",
        )
    return digits


def trust_of(federation: Federation) -> Trust:
    """The root and the members' certificate hashes of a verified document, for checking other parties."""
    members = {member.id: member.certificate_sha256 for member in federation.members}
    return Trust(decode_base64url(federation.root_certificate, what="root certificate"), members)


def sign_federation(root: Signer, federation: Federation) -> SignedFederation:
    """The document with the root's signature over `FEDERATION_CONTEXT` || its canonical bytes."""
    signature = root.sign(FEDERATION_CONTEXT + federation.canonical()).hex()
    return SignedFederation(federation=federation, signature=signature)


def verify_federation(document: SignedFederation, root_sha256: str) -> Federation:
    """The document, once the root of that fingerprint (64 hex digits) is known to have signed it.

    Raises: PeerError: `bad_signature`: another root, or not its signature; `malformed`: not consistent.
    """
    federation = document.federation
    der = decode_base64url(federation.root_certificate, what="root certificate")
    if fingerprint(der) != root_sha256:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE,
            "federation document: its root certificate is not the one with the expected fingerprint",
        )
    root_key = certificates.root_public_key(der)
    signature = bytes.fromhex(document.signature)
    message = FEDERATION_CONTEXT + federation.canonical()
    identity.verify(root_key, signature, message, what="federation document")
    _check_key(federation)
    _check_members(federation.members)
    return federation


def _check_key(federation: Federation) -> None:
    try:
        public = PublicKey.create(int(federation.n, 16))
    except InputError as error:
        raise _inconsistent(str(error)) from None
    if public.bits != federation.key_bits or public.key_id != federation.key_id:
        raise _inconsistent("key_id, key_bits and n do not belong together")
    if federation.threshold is not None:
        threshold_key(federation)


def _check_members(members: list[Member]) -> None:
    ids = [member.id for member in members]
    if ids != sorted(set(ids)):
        raise _inconsistent("members are not in ascending order of id, each once")
    if len({member.certificate_sha256 for member in members}) != len(members):
        raise _inconsistent("two members have the same certificate")
    if not all(_fits_role(member) for member in members):
        raise _inconsistent("a member's id does not fit its role")


def _fits_role(member: Member) -> bool:
    return member.id == CLOUD if member.role == "cloud" else is_valid_id(member.id)


def check_successor(known: Federation, offered: Federation) -> None:
    """Whether a verified document may replace the one held: same root, never an older epoch or list.

    Raises: PeerError: `malformed`, saying which of it.
    """
    if (offered.root_certificate, offered.name) != (known.root_certificate, known.name):
        raise _inconsistent("it belongs to another federation")
    if (offered.epoch, offered.issued) < (known.epoch, known.issued):
        raise _inconsistent("it is older than the one held")
    if (offered.epoch == known.epoch) != (offered.key_id == known.key_id):
        raise _inconsistent("the key changed without a new epoch, or the epoch without a new key")


def seal_bundle(
    root: Signer,
    certificate: Certificate,
    document: SignedFederation,
    secrets: FederationSecrets | ShareSecrets,
) -> AgentBundle:
    """An agent's bundle: the secrets sealed to the X25519 key of its certificate, all signed by the root.

    Raises: PeerError: `malformed`: the certificate holds no usable sealing key.
    """
    info = sealing.bundle_info(certificate.id)
    sealed = sealing.seal(certificate.x25519, secrets.canonical(), info)
    body = AgentBundleBody(
        id=certificate.id,
        epoch=secrets.epoch,
        certificate=encode_base64url(certificate.der),
        federation=document,
        sealed=encode_base64url(sealed),
    )
    return AgentBundle(bundle=body, signature=root.sign(BUNDLE_CONTEXT + body.canonical()).hex())


def open_bundle(
    bundle: AgentBundle, root_sha256: str, *, identity_public: bytes, sealing_private: bytes
) -> tuple[Enrolment, FederationKeys | ShareKeys]:
    """An agent's own bundle, checked as listed at the top of this module.

    Args: root_sha256: the root's fingerprint, 64 hex digits. identity_public, sealing_private: the agent's
        own Ed25519 public and X25519 private key, 32 bytes each.
    Raises: PeerError: the first check that fails; nothing of the content is in its text.
    """
    body = bundle.bundle
    federation = verify_federation(body.federation, root_sha256)
    root_key = certificates.root_public_key(trust_of(federation).root)
    message = BUNDLE_CONTEXT + body.canonical()
    identity.verify(root_key, bytes.fromhex(bundle.signature), message, what="bundle")
    certificate = _own_certificate(federation, body.certificate, Role.AGENT, identity_public)
    if certificate.id != body.id:
        raise _inconsistent_bundle("its certificate is for another agent")
    raw = decode_base64url(body.sealed, what="bundle")
    plaintext = sealing.open_sealed(sealing_private, raw, sealing.bundle_info(AgentId(body.id)))
    keys = _sealed_keys(plaintext, federation, body.id)
    if body.epoch != keys.epoch:
        raise _inconsistent_bundle("its epoch is not the sealed one")
    return Enrolment(federation, certificate), keys


def _sealed_keys(plaintext: bytes, federation: Federation, agent: str) -> FederationKeys | ShareKeys:
    what, limit = "sealed bundle", _MAX_SECRETS_BYTES
    if federation.threshold is not None:
        return share_keys_of(ShareSecrets.parse(plaintext, what=what, max_bytes=limit), federation, agent)
    return keys_of(FederationSecrets.parse(plaintext, what=what, max_bytes=limit), federation)


def open_cloud_bundle(bundle: CloudBundle, root_sha256: str, *, identity_public: bytes) -> Enrolment:
    """The cloud's own bundle, checked: points 1 to 3 of the list at the top of this module.

    Raises: PeerError: the first check that fails.
    """
    federation = verify_federation(bundle.federation, root_sha256)
    return Enrolment(
        federation, _own_certificate(federation, bundle.certificate, Role.CLOUD, identity_public)
    )


def _own_certificate(
    federation: Federation, certificate: str, role: Role, identity_public: bytes
) -> Certificate:
    der = decode_base64url(certificate, what="certificate")
    own = trust_of(federation).certificate(der, role=role)
    if own.public_key != identity_public:
        raise _inconsistent_bundle("its certificate is for another identity key")
    return own


def keys_of(secrets: FederationSecrets, federation: Federation) -> FederationKeys:
    """The private part of a document's key, once it is known to be that.

    Raises: PeerError: `malformed`: another epoch or key, or factors of another modulus.
    """
    p, q = int(secrets.p, 16), int(secrets.q, 16)
    if (secrets.epoch, secrets.key_id) != (federation.epoch, federation.key_id):
        raise _inconsistent_bundle("it belongs to another epoch than its federation document")
    if p * q != int(federation.n, 16):
        raise _inconsistent_bundle("its factors are not those of the federation's modulus")
    return FederationKeys(p, q, bytes.fromhex(secrets.g), KeyId(secrets.key_id), secrets.epoch)


def _inconsistent(reason: str) -> PeerError:
    return PeerError(ErrorCode.MALFORMED, f"federation document: {reason}")


def _inconsistent_bundle(reason: str) -> PeerError:
    return PeerError(ErrorCode.MALFORMED, f"bundle: {reason}")
