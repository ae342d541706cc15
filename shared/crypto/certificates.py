"""X.509 certificates of a federation: Ed25519 throughout, issued by its trusted authority.

A party makes a request from its own key, so its private key never leaves it. The common name is the party's
id; its role and its second key stand in URIs of the subject alternative name:

    urn:privet:role:agent|cloud    urn:privet:x25519:<hex>  (agent)    urn:privet:rsa-sha256:<hex>  (cloud)

Nothing here revokes: who belongs to a federation is the signed member list's business. A certificate carries its
validity; `shared.protocol.expiry` says what follows from it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, InternalError, PeerError
from shared.ids import CLOUD, AgentId, is_valid_id

_PREFIX: Final = "urn:privet:"
_REMEMBERED: Final = 2048
"""Verified certificates that `verify` keeps; more than a federation has members."""


class Role(StrEnum):
    """What a certified party is."""

    AGENT = "agent"
    CLOUD = "cloud"


_UNREADABLE: Final = (ValueError, UnsupportedAlgorithm, x509.InvalidVersion)
"""What the library raises for bytes that are no certificate, or one of a kind that it does not know."""
_KEY_KIND: Final = {Role.AGENT: "x25519", Role.CLOUD: "rsa-sha256"}
"""The second key that a role's certificate names."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a certificate says of a party.

    public_key: Ed25519, 32 bytes. second_key: 64 hex digits: an agent's X25519 sealing key, or the SHA-256
    fingerprint of the cloud's RSA key.
    """

    id: AgentId
    role: Role
    public_key: bytes
    second_key: str


@dataclass(frozen=True, slots=True)
class Validity:
    """From when until when, both with a time zone."""

    not_before: datetime
    not_after: datetime


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that was issued by the federation's root. sha256: of the DER, 64 hex digits."""

    subject: Subject
    validity: Validity
    der: bytes = field(repr=False)

    @property
    def id(self) -> AgentId:
        """The party's id; `cloud` for the cloud."""
        return self.subject.id

    @property
    def role(self) -> Role:
        """What the party is."""
        return self.subject.role

    @property
    def public_key(self) -> bytes:
        """Ed25519 key of the party's envelopes, 32 bytes."""
        return self.subject.public_key

    @property
    def sha256(self) -> str:
        """SHA-256 of the DER, 64 hex digits: what `roster_hash` covers."""
        return hashlib.sha256(self.der).hexdigest()

    @property
    def x25519(self) -> bytes:
        """An agent's sealing key, 32 bytes."""
        return bytes.fromhex(self._second_key_of(Role.AGENT))

    @property
    def rsa_sha256(self) -> str:
        """The fingerprint of the cloud's RSA key, 64 hex digits."""
        return self._second_key_of(Role.CLOUD)

    def _second_key_of(self, role: Role) -> str:
        if self.role is not role:
            raise InternalError(f"a certificate of role {self.role} has no {_KEY_KIND[role]} key")
        return self.subject.second_key


def create_request(key: IdentityKey, party: AgentId, role: Role, second_key: str) -> bytes:
    """A PEM certificate request, signed by the party's own key. `second_key`: see `Subject`."""
    builder = x509.CertificateSigningRequestBuilder(_name(party))
    builder = builder.add_extension(_uris(role, second_key), critical=True)
    return builder.sign(key.key, None).public_bytes(Encoding.PEM)


def parse_request(pem: bytes) -> Subject:
    """A request whose self-signature holds and whose names follow the rules.

    Raises: PeerError: `malformed`, `bad_signature`.
    """
    try:
        request = x509.load_pem_x509_csr(pem)
    except _UNREADABLE:
        raise _malformed("the certificate request is not PEM of a PKCS#10 request") from None
    subject = _subject(request)
    try:
        signed = request.is_signature_valid
    except (*_UNREADABLE, InvalidSignature):
        signed = False
    if not signed:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE, f"the certificate request of {subject.id} is not self-signed"
        )
    return subject


def create_root(key: IdentityKey, federation: str, validity: Validity, serial: int) -> bytes:
    """The federation's self-signed root certificate, DER. `federation`: its name, at most 64 characters."""
    name = _name(federation)
    builder = _builder(name, name, key.public, validity, serial)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return builder.sign(key.key, None).public_bytes(Encoding.DER)


def issue(root_key: IdentityKey, root_der: bytes, subject: Subject, validity: Validity, serial: int) -> bytes:
    """A leaf certificate, DER. `subject` comes from `parse_request`; `serial` is positive and unique."""
    issuer = x509.load_der_x509_certificate(root_der).subject
    builder = _builder(_name(subject.id), issuer, subject.public_key, validity, serial)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_uris(subject.role, subject.second_key), critical=False)
    return builder.sign(root_key.key, None).public_bytes(Encoding.DER)


def root_public_key(root_der: bytes) -> bytes:
    """The root's Ed25519 key, after checking that it is a self-signed authority.

    Raises: PeerError: `malformed`, `bad_signature`.
    """
    root = _load(root_der)
    if not _is_authority(root):
        raise _malformed("the root certificate is not one of a certificate authority")
    _check_issued(root, root, "the root certificate")
    return _ed25519(root).public_bytes_raw()


@lru_cache(maxsize=_REMEMBERED)
def verify(der: bytes, root_der: bytes) -> Certificate:
    """A leaf issued by this root. Whether it is valid now is the caller's question (`shared.protocol.expiry`).

    Remembered by its arguments, because every message of a job asks for the same few certificates again.

    Args: root_der: trusted by the caller and checked once by `root_public_key`.
    Raises: PeerError: `malformed`; `bad_signature`: not issued by this root.
    """
    leaf = _load(der)
    subject = _subject(leaf)
    if _is_authority(leaf):
        raise _malformed(f"the certificate of {subject.id} is one of an authority, not of a party")
    _check_issued(leaf, _load(root_der), f"the certificate of {subject.id}")
    return Certificate(subject, _validity(leaf), der)


def read(der: bytes) -> Certificate:
    """What a certificate says, without asking who issued it; for one that was verified before.

    Raises: PeerError: `malformed`.
    """
    leaf = _load(der)
    return Certificate(_subject(leaf), _validity(leaf), der)


def to_pem(der: bytes) -> bytes:
    """A certificate as PEM, for files that people look at."""
    return x509.load_der_x509_certificate(der).public_bytes(Encoding.PEM)


def from_pem(pem: bytes) -> bytes:
    """A PEM certificate as DER.

    Raises: PeerError: `malformed`.
    """
    try:
        return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
    except _UNREADABLE:
        raise _malformed("not a certificate in PEM form") from None


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _uris(role: Role, second_key: str) -> x509.SubjectAlternativeName:
    texts = (f"{_PREFIX}role:{role}", f"{_PREFIX}{_KEY_KIND[role]}:{second_key}")
    return x509.SubjectAlternativeName([x509.UniformResourceIdentifier(text) for text in texts])


def _builder(
    subject: x509.Name, issuer: x509.Name, public: bytes, validity: Validity, serial: int
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=Ed25519PublicKey.from_public_bytes(public),
        serial_number=serial,
        not_valid_before=validity.not_before,
        not_valid_after=validity.not_after,
    )


def _validity(certificate: x509.Certificate) -> Validity:
    return Validity(certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def _load(der: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(der)
    except _UNREADABLE:
        raise _malformed("not a certificate in DER form") from None


def _subject(document: x509.Certificate | x509.CertificateSigningRequest) -> Subject:
    """The names of a certificate or request, checked."""
    try:
        names = document.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        extension = document.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        uris = extension.value.get_values_for_type(x509.UniformResourceIdentifier)
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        raise _malformed("the certificate has no readable names") from None
    if len(names) != 1:
        raise _malformed("the certificate has no single common name")
    party = str(names[0].value)
    role, second_key = _read_uris(uris)
    if not (is_valid_id(party) if role is Role.AGENT else party == CLOUD):
        raise _malformed(f"the common name may not name a party of role {role}")
    return Subject(AgentId(party), role, _ed25519(document).public_bytes_raw(), second_key)


def _read_uris(uris: list[str]) -> tuple[Role, str]:
    for role, kind in _KEY_KIND.items():
        if f"{_PREFIX}role:{role}" in uris:
            pattern = re.compile(f"{_PREFIX}{kind}:([0-9a-f]{{64}})")
            keys = [match.group(1) for uri in uris if (match := pattern.fullmatch(uri))]
            if len(uris) == 2 and len(keys) == 1:
                return role, keys[0]
    raise _malformed("the certificate's URIs name no role with its key")


def _ed25519(document: x509.Certificate | x509.CertificateSigningRequest) -> Ed25519PublicKey:
    try:
        key = document.public_key()
    except _UNREADABLE:
        raise _malformed("the certificate's key cannot be read") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _malformed("the certificate's key is not an Ed25519 key")
    return key


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        raise _malformed("the certificate has no readable basic constraints") from None


def _check_issued(certificate: x509.Certificate, issuer: x509.Certificate, what: str) -> None:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (*_UNREADABLE, TypeError, InvalidSignature):
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"{what} was not issued by the federation's root") from None


def _malformed(message: str) -> PeerError:
    return PeerError(ErrorCode.MALFORMED, message)
