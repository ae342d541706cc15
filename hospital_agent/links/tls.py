"""TLS 1.3 between two compute parties of one job, pinned to the job's keys; no authority has a say in it.

Each party that listens has a certificate of its own for the job. Its key is derived from the party's X25519 key of the
job, so it is the same after a restart, and its fingerprint travels in the signed `job_accept`. Whoever calls checks
the fingerprint; whoever listens takes a connection for a peer's only when a fresh control frame comes through it that
the pair's key opens. So both ends are sure, and what passes is sealed once more, frame by frame.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from shared.crypto.derivation import hk
from shared.errors import ErrorCode, PeerError
from shared.rng import random_bytes

KEY_PREFIX: Final = ".tls-"
"""Of the name of a file that holds a certificate's key, encrypted, for a moment."""
_BEGIN: Final = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)
_END: Final = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)
"""Time says nothing here: the certificate counts as long as its job."""


@dataclass(frozen=True, slots=True)
class JobCertificate:
    """A compute party's certificate of one job. sha256: of the DER, 64 hex digits, as `job_accept` names it."""

    der: bytes = field(repr=False)
    key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, private: bytes, *, mh: bytes) -> JobCertificate:
        """Args: private: the party's X25519 key of the job. mh: manifest hash, raw."""
        key = Ed25519PrivateKey.from_private_bytes(hk(private, b"direct tls", mh=mh))
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "privet job")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(_BEGIN)
            .not_valid_after(_END)
        )
        return cls(builder.sign(key, None).public_bytes(Encoding.DER), key)

    @property
    def sha256(self) -> str:
        """The fingerprint."""
        return hashlib.sha256(self.der).hexdigest()


def listening_context(certificate: JobCertificate, folder: Path) -> ssl.SSLContext:
    """For the party that listens. folder: private; holds the key for a moment, encrypted, since the library reads
    files only."""
    password = random_bytes(32).hex().encode()
    key = certificate.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    chain = x509.load_der_x509_certificate(certificate.der).public_bytes(Encoding.PEM)
    context = _context(ssl.PROTOCOL_TLS_SERVER)
    context.num_tickets = 0
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=KEY_PREFIX)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(key + chain)
        context.load_cert_chain(name, password=password)
    finally:
        Path(name).unlink()
    return context


def calling_context() -> ssl.SSLContext:
    """For the party that calls; `check_fingerprint` follows the handshake."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def check_fingerprint(connection: ssl.SSLSocket, sha256: str) -> None:
    """Raises: PeerError: `bad_signature`: whoever listens there is not the peer of this job."""
    der = connection.getpeercert(binary_form=True) or b""
    if hashlib.sha256(der).hexdigest() != sha256:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE,
            "the certificate at the peer's address is not the one it accepted the job with",
        )


def _context(protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context
