"""Ed25519 identities: who signed what.

A failed check raises; no function here returns a flag.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from shared.errors import ErrorCode, InputError, PeerError


@dataclass(frozen=True, slots=True)
class IdentityKey:
    """An Ed25519 private key; signs for one party."""

    key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls) -> Self:
        """A fresh key from the operating system's generator."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_raw(cls, seed: bytes) -> Self:
        """From the 32-byte secret of RFC 8032.

        Raises: InputError: another length.
        """
        try:
            return cls(Ed25519PrivateKey.from_private_bytes(seed))
        except ValueError:
            raise InputError(
                "an Ed25519 secret has 32 bytes", remedy="Use the key file as written."
            ) from None

    @classmethod
    def from_pem(cls, pem: bytes, *, where: str = "") -> Self:
        """From an unencrypted PKCS#8 PEM. `where` names the file for the message.

        Raises: InputError: no such key in it.
        """
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise _no_key(where) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise _no_key(where)
        return cls(key)

    def to_pem(self) -> bytes:
        """Unencrypted PKCS#8 PEM; the caller guards the file."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def to_raw(self) -> bytes:
        """The 32-byte secret."""
        return self.key.private_bytes_raw()

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""
        return self.key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Signature of 64 bytes (RFC 8032, deterministic)."""
        return self.key.sign(message)


def verify(public: bytes, signature: bytes, message: bytes, *, what: str = "the message") -> None:
    """Check an Ed25519 signature.

    Raises: PeerError: `bad_signature`, also for a key or signature of a wrong form. `what` names the message.
    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise PeerError(ErrorCode.BAD_SIGNATURE, f"{what}: the signature does not verify") from None


def _no_key(where: str) -> InputError:
    return InputError(
        "expected an unencrypted Ed25519 private key in PEM form",
        where=where,
        remedy="Use the key file that the init command wrote.",
    )
