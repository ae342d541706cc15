"""Private files under a passphrase: scrypt (RFC 7914) makes the key, AES-256-GCM seals the content.

The name of a file is authenticated with it, so that one sealed file cannot stand in for another. Opening and
writing files is the caller's business.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from shared.errors import InputError
from shared.rng import RandomBytes, random_bytes

MAGIC: Final = b"privet-passphrase-1\n"
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
# 128 MiB and about a third of a second for each guess; the values belong to MAGIC's version.
_SCRYPT_N: Final = 2**17
_SCRYPT_R: Final = 8
_SCRYPT_P: Final = 1


def is_protected(content: bytes) -> bool:
    """Whether this is the output of `protect`."""
    return content.startswith(MAGIC)


def protect(plaintext: bytes, passphrase: str, *, name: str, random: RandomBytes = random_bytes) -> bytes:
    """MAGIC || salt (16 bytes) || nonce (12) || AES-256-GCM of the plaintext, `name` associated."""
    salt, nonce = random(_SALT_BYTES), random(_NONCE_BYTES)
    sealed = AESGCM(_key(passphrase, salt)).encrypt(nonce, plaintext, name.encode())
    return MAGIC + salt + nonce + sealed


def unprotect(content: bytes, passphrase: str, *, name: str) -> bytes:
    """The plaintext of `protect` under the same passphrase and name.

    Raises: InputError: another passphrase, or the file was changed or renamed; which one cannot be told.
    """
    start = len(MAGIC)
    salt = content[start : start + _SALT_BYTES]
    nonce = content[start + _SALT_BYTES : start + _SALT_BYTES + _NONCE_BYTES]
    sealed = content[start + _SALT_BYTES + _NONCE_BYTES :]
    try:
        return AESGCM(_key(passphrase, salt)).decrypt(nonce, sealed, name.encode())
    except (InvalidTag, ValueError):
        raise InputError(
            "the passphrase does not open this file, or the file was changed",
            where=name,
            remedy="Type the passphrase again; if it is right, restore the file from a backup.",
        ) from None


def _key(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, n=_SCRYPT_N, r=_SCRYPT_R, p=_SCRYPT_P).derive(passphrase.encode())
