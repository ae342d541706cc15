"""HPKE (RFC 9180, base mode): seal something to one agent's X25519 key (protocol section 1)."""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId

_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
_BUNDLE_INFO: Final = b"ppsdt/1/bundle"


def bundle_info(agent: AgentId) -> bytes:
    """The HPKE info of an agent's key bundle: a bundle sealed to one agent opens under no other name."""
    return _BUNDLE_INFO + agent.encode()


def seal(recipient_public: bytes, plaintext: bytes, info: bytes) -> bytes:
    """Encapsulated key (32 bytes) || AES-256-GCM ciphertext (plaintext + 16 bytes).

    Raises: PeerError: `malformed`: the recipient's key has a wrong length or small order.
    """
    try:
        public = X25519PublicKey.from_public_bytes(recipient_public)
        return bytes(_SUITE.encrypt(plaintext, public, info))
    except ValueError:
        raise PeerError(ErrorCode.MALFORMED, "the recipient's sealing key is not an X25519 key") from None


def open_sealed(private: bytes, sealed: bytes, info: bytes) -> bytes:
    """The plaintext of `seal`.

    Raises: PeerError: `malformed`: sealed to another key or name, or changed on the way.
    """
    try:
        return bytes(_SUITE.decrypt(sealed, X25519PrivateKey.from_private_bytes(private), info))
    except (InvalidTag, ValueError):
        raise PeerError(
            ErrorCode.MALFORMED, "the sealed message does not open with this key and name"
        ) from None
