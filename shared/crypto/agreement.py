"""X25519: the secret that two agents share without the cloud (protocol sections 1 and 6.1)."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from shared.errors import ErrorCode, PeerError

KEY_BYTES: Final = 32
"""Private keys, public keys and shared secrets are all 32 bytes."""


def generate_private() -> bytes:
    """A fresh private key from the operating system's generator."""
    return X25519PrivateKey.generate().private_bytes_raw()


def public_of(private: bytes) -> bytes:
    """The public key of a private key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def check_public(peer_public: bytes) -> None:
    """Whether `agree` would take this key, for one who has no part in the secret.

    Raises: PeerError: `malformed`: a wrong length or small order.
    """
    agree(generate_private(), peer_public)


def agree(private: bytes, peer_public: bytes) -> bytes:
    """X25519(private, peer), 32 bytes; feed it to a key derivation, never use it as a key.

    Raises: PeerError: `malformed`: the peer's key has a wrong length or small order (an all-zero result).
    """
    try:
        peer = X25519PublicKey.from_public_bytes(peer_public)
        return X25519PrivateKey.from_private_bytes(private).exchange(peer)
    except ValueError:
        raise PeerError(ErrorCode.MALFORMED, "an X25519 public key that no honest party has") from None
