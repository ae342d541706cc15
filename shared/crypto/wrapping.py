"""RSA-OAEP: wrap a mask seed under the cloud's key (protocol section 6.1, step 5).

OAEP with SHA-256 and MGF1-SHA-256. The label binds a wrapped seed to its round and sender, so a seed
replayed in another context does not open. PKCS#1 v1.5 of profile paper is in `shared.crypto.paper`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final, Self

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_pem_private_key,
    load_pem_public_key,
)

from shared.errors import ErrorCode, InputError, PeerError

RSA_BITS: Final = 3072
RSA_EXPONENT: Final = 65537
WRAPPED_BYTES: Final = RSA_BITS // 8


@dataclass(frozen=True, slots=True)
class WrappingKey:
    """The cloud's RSA public key, as hospitals hold it."""

    key: RSAPublicKey = field(repr=False)

    @classmethod
    def from_pem(cls, pem: bytes, *, where: str = "") -> Self:
        """From a SubjectPublicKeyInfo PEM.

        Raises: InputError: not RSA of 3072 bits with exponent 65537.
        """
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            raise _not_rsa(where) from None
        return cls(_checked_public(key, where))

    @classmethod
    def from_der(cls, der: bytes) -> Self:
        """From SubjectPublicKeyInfo DER.

        Raises: InputError: not RSA of 3072 bits with exponent 65537.
        """
        try:
            key = load_der_public_key(der)
        except (ValueError, UnsupportedAlgorithm):
            raise _not_rsa("") from None
        return cls(_checked_public(key, ""))

    def to_pem(self) -> bytes:
        """SubjectPublicKeyInfo PEM."""
        return self.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def to_der(self) -> bytes:
        """SubjectPublicKeyInfo DER."""
        return self.key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the DER SubjectPublicKeyInfo, 64 hex digits."""
        return hashlib.sha256(self.to_der()).hexdigest()

    def wrap(self, secret: bytes, label: bytes) -> bytes:
        """OAEP ciphertext of `secret` (at most 318 bytes), 384 bytes."""
        return self.key.encrypt(secret, _oaep(label))


@dataclass(frozen=True, slots=True)
class UnwrappingKey:
    """The cloud's RSA private key."""

    key: RSAPrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> Self:
        """A fresh 3072-bit key."""
        return cls(generate_private_key(RSA_EXPONENT, RSA_BITS))

    @classmethod
    def from_pem(cls, pem: bytes, *, where: str = "") -> Self:
        """From an unencrypted PKCS#8 or PKCS#1 PEM.

        Raises: InputError: not RSA of 3072 bits with exponent 65537.
        """
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise _not_rsa(where) from None
        if not isinstance(key, RSAPrivateKey):
            raise _not_rsa(where)
        _checked_public(key.public_key(), where)
        return cls(key)

    def to_pem(self) -> bytes:
        """Unencrypted PKCS#8 PEM; the caller guards the file."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def public(self) -> WrappingKey:
        """The public half."""
        return WrappingKey(self.key.public_key())

    def unwrap(self, wrapped: bytes, label: bytes, *, length: int = 32) -> bytes:
        """The secret of `length` bytes.

        Raises: PeerError: `contribution_rejected`, one text for every cause.
        """
        try:
            secret = self.key.decrypt(wrapped, _oaep(label))
        except ValueError:
            raise rejected() from None
        if len(secret) != length:
            raise rejected()
        return secret


def rejected() -> PeerError:
    """The one answer to a bad ciphertext, size or unwrap (protocol section 13): no detail, so no oracle."""
    return PeerError(ErrorCode.CONTRIBUTION_REJECTED, "the contribution is rejected")


def _oaep(label: bytes) -> OAEP:
    return OAEP(mgf=MGF1(SHA256()), algorithm=SHA256(), label=label)


def _checked_public(key: object, where: str) -> RSAPublicKey:
    if not isinstance(key, RSAPublicKey) or key.key_size != RSA_BITS:
        raise _not_rsa(where)
    if key.public_numbers().e != RSA_EXPONENT:
        raise _not_rsa(where)
    return key


def _not_rsa(where: str) -> InputError:
    return InputError(
        f"expected an unencrypted RSA key of {RSA_BITS} bits with exponent {RSA_EXPONENT} in PEM or DER form",
        where=where,
        remedy="Use the file that the cloud's init command wrote.",
    )
