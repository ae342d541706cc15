"""Private files of one folder under a key from outside of it: AES-256-GCM-SIV, which forgives a nonce drawn twice.

A folder has one data key, drawn once; what people keep elsewhere (a key of 32 bytes, or a passphrase) wraps it, so that
a change of that key rewrites one small document and no file. The name of a file is authenticated with it, so that one
sealed file cannot stand in for another. Reading and writing files is the caller's business.
"""

from __future__ import annotations

import base64
import binascii
import string
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from shared.errors import InputError
from shared.rng import RandomBytes, random_bytes

MAGIC: Final = b"privet-at-rest-1\n"
KEY_BYTES: Final = 32
MAX_SECRET_BYTES: Final = 1024
MIN_PASSPHRASE: Final = 20
"""Characters; shorter ones are more likely a damaged key than a passphrase."""
_NONCE_BYTES: Final = 12
_SALT_BYTES: Final = 16
_DOCUMENT_MAGIC: Final = b"privet-protection-1"
_WRAPPED: Final = "data key"
# 128 MiB and about a third of a second for each guess; the values belong to the document's version.
_SCRYPT_N: Final = 2**17
_SCRYPT_R: Final = 8
_SCRYPT_P: Final = 1
_PRINTABLE: Final = frozenset(string.printable.encode())

Kind = Literal["key", "passphrase"]


@dataclass(frozen=True, slots=True)
class OuterSecret:
    """What is kept outside of a folder: a key of 32 bytes, or a passphrase."""

    kind: Kind
    value: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AtRest:
    """Seals and opens the private files of one folder. `key`: the folder's data key."""

    key: bytes = field(repr=False)

    def seal(self, plaintext: bytes, *, name: str, random: RandomBytes = random_bytes) -> bytes:
        """MAGIC || nonce (12 bytes) || AES-256-GCM-SIV of the plaintext, `name` associated."""
        nonce = random(_NONCE_BYTES)
        return MAGIC + nonce + AESGCMSIV(self.key).encrypt(nonce, plaintext, name.encode())

    def open(self, content: bytes, *, name: str) -> bytes:
        """The plaintext of `seal` under the same name.

        Raises: InputError: not sealed by this folder's key under this name, or changed since.
        """
        start = len(MAGIC)
        try:
            return AESGCMSIV(self.key).decrypt(
                content[start : start + _NONCE_BYTES], content[start + _NONCE_BYTES :], name.encode()
            )
        except (InvalidTag, ValueError):
            raise InputError(
                "this encrypted file was changed, or belongs to another folder or place",
                where=name,
                remedy="Restore it from a backup of this folder.",
            ) from None


def is_sealed(content: bytes) -> bool:
    """Whether this is the output of `AtRest.seal`."""
    return content.startswith(MAGIC)


def parse_secret(content: bytes, *, where: str) -> OuterSecret:
    """What a key file holds: 32 bytes as they are, in hexadecimal or base64; or else a passphrase of one line.

    Raises: InputError: none of these.
    """
    if len(content) == KEY_BYTES and not set(content) <= _PRINTABLE:
        return OuterSecret("key", content)
    text = content.strip()
    key = _decoded(text)
    if key is not None:
        return OuterSecret("key", key)
    lines = text.splitlines()
    if len(lines) == 1 and len(text) >= MIN_PASSPHRASE and set(text) <= _PRINTABLE:
        return OuterSecret("passphrase", text)
    raise InputError(
        f"expected a key of 32 bytes (raw, hexadecimal or base64), or a passphrase of {MIN_PASSPHRASE} characters",
        where=where,
        remedy="Make one with: openssl rand -base64 32",
    )


def _decoded(text: bytes) -> bytes | None:
    try:
        if len(text) == 2 * KEY_BYTES:
            return bytes.fromhex(text.decode())
        raw = base64.b64decode(
            text.replace(b"-", b"+").replace(b"_", b"/") + b"=" * (-len(text) % 4), validate=True
        )
    except (ValueError, binascii.Error):
        return None
    return raw if len(raw) == KEY_BYTES else None


def new_data_key(random: RandomBytes = random_bytes) -> AtRest:
    """For a folder that is protected from now on."""
    return AtRest(random(KEY_BYTES))


def lock(folder_key: AtRest, secret: OuterSecret, random: RandomBytes = random_bytes) -> bytes:
    """The folder's document: the data key under the outer secret. Text of one line for each part."""
    salt = random(_SALT_BYTES)
    wrapped = AtRest(_outer_key(secret, salt)).seal(folder_key.key, name=_WRAPPED, random=random)
    return b"\n".join(
        [_DOCUMENT_MAGIC, secret.kind.encode(), salt.hex().encode(), wrapped.hex().encode(), b""]
    )


def unlock(document: bytes, secret: OuterSecret, *, where: str) -> AtRest:
    """The inverse of `lock`. Raises: InputError: another key, or a damaged document."""
    try:
        magic, kind, salt, wrapped = document.decode("ascii").splitlines()
        parts = bytes.fromhex(salt), bytes.fromhex(wrapped)
    except (UnicodeDecodeError, ValueError):
        magic, kind, parts = "", "", (b"", b"")
    if magic.encode() != _DOCUMENT_MAGIC or kind not in ("key", "passphrase"):
        raise InputError(
            "this is no document of an encrypted folder", where=where, remedy="Restore it from a backup."
        )
    if kind != secret.kind:
        raise InputError(
            f"this folder is encrypted under a {kind}, and a {secret.kind} was given",
            where=where,
            remedy="Name the right key file.",
        )
    try:
        return AtRest(AtRest(_outer_key(secret, parts[0])).open(parts[1], name=_WRAPPED))
    except InputError:
        raise InputError(
            "the key that was given does not open this folder",
            where=where,
            remedy="Name the key file that it was encrypted with. Without that key its contents are lost.",
        ) from None


@lru_cache(maxsize=8)
def _outer_key(secret: OuterSecret, salt: bytes) -> bytes:
    if secret.kind == "passphrase":
        return Scrypt(salt=salt, length=KEY_BYTES, n=_SCRYPT_N, r=_SCRYPT_R, p=_SCRYPT_P).derive(secret.value)
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=_DOCUMENT_MAGIC).derive(secret.value)
