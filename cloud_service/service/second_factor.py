"""The second factor of local accounts: codes by time (TOTP, RFC 6238) from an authenticator app.

SHA-1, six digits and 30 seconds are what the apps know. The secret is kept encrypted (AES-256-GCM, bound to the name)
under a key that is derived from the cloud's identity key: a copy of the database alone makes no codes.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import constant_time
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from shared.crypto.identity import IdentityKey
from shared.rng import random_bytes

STEP_SECONDS: Final = 30
DIGITS: Final = 6
_SECRET_BYTES: Final = 20
_NONCE_BYTES: Final = 12
_ISSUER: Final = "Privet"
_INFO: Final = b"privet people second factor v1"


class SecondFactors:
    """Makes secrets, and tells which step a code belongs to."""

    def __init__(self, identity: IdentityKey) -> None:
        hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=_INFO)
        self._cipher = AESGCM(hkdf.derive(identity.to_raw()))
        self._nobodys = self._seal(random_bytes(_SECRET_BYTES), "")

    def create(self, name: str) -> tuple[bytes, str]:
        """A new secret: encrypted, to keep; and as the `otpauth` address that is shown once."""
        secret = random_bytes(_SECRET_BYTES)
        return self._seal(secret, name), _totp(secret).get_provisioning_uri(name, _ISSUER)

    def step_of(self, sealed: bytes | None, name: str, code: str, now: int) -> int | None:
        """The step whose code this is: the present one or one beside it, as clocks differ; None: of none.

        Without a secret the same work is done in vain.
        """
        secret = self._open(sealed, name) if sealed is not None else None
        totp = _totp(secret or self._open(self._nobodys, "") or bytes(_SECRET_BYTES))
        given = code.strip().encode("utf-8", "replace")
        found = None
        for step in range(now // STEP_SECONDS - 1, now // STEP_SECONDS + 2):
            if constant_time.bytes_eq(totp.generate(step * STEP_SECONDS), given):
                found = step
        return None if secret is None else found

    def _seal(self, secret: bytes, name: str) -> bytes:
        nonce = random_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, name.encode())

    def _open(self, sealed: bytes, name: str) -> bytes | None:
        """None: encrypted under the identity key of before, or another person's."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
        except InvalidTag:
            return None


def _totp(secret: bytes) -> TOTP:
    # HMAC over SHA-1 is sound, and apps know no other.
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  # nosec B303
