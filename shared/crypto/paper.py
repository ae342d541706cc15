"""The publication's own libraries, for profile paper only: `phe` for ciphertexts, `rsa` for nonces.

PKCS#1 v1.5 in `rsa` has known padding and timing oracles; this profile is for test data, and every failure to
unwrap gives the one code of a rejected contribution.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import rsa
from phe.paillier import EncryptedNumber, PaillierPublicKey

from shared.crypto.integers import big
from shared.crypto.paillier import PublicKey, encode_ciphertext
from shared.crypto.wrapping import UnwrappingKey, WrappingKey, rejected

NONCE_BYTES: Final = 32
"""z is uniform in [0, 2^256)."""


def phe_public(key: PublicKey) -> PaillierPublicKey:
    """The same modulus as a `phe` key."""
    return PaillierPublicKey(int(key.n))


def to_phe(key: PaillierPublicKey, ciphertext: int) -> EncryptedNumber:
    """A validated ciphertext as `phe` holds it; exponent 0: integers only."""
    return EncryptedNumber(key, int(ciphertext), 0)


def from_phe(key: PublicKey, number: EncryptedNumber) -> bytes:
    """The ciphertext's bytes as it stands, without a fresh obfuscator."""
    return encode_ciphertext(key, int(number.ciphertext(be_secure=False)))


def wrap_nonce(key: WrappingKey, nonce: bytes) -> bytes:
    """PKCS#1 v1.5 encryption of z as 32 big-endian bytes."""
    numbers = key.key.public_numbers()
    return bytes(rsa.encrypt(nonce, rsa.PublicKey(numbers.n, numbers.e)))


def unwrap_nonce(key: UnwrappingKey, wrapped: bytes) -> bytes:
    """z as 32 big-endian bytes.

    Raises: PeerError: `contribution_rejected`, one text for every cause.
    """
    try:
        nonce = bytes(rsa.decrypt(wrapped, _rsa_private(key)))
    except rsa.DecryptionError:
        raise rejected() from None
    if len(nonce) != NONCE_BYTES:
        raise rejected()
    return nonce


@lru_cache(maxsize=1)
def _rsa_private(key: UnwrappingKey) -> rsa.PrivateKey:
    """The same key as `rsa` holds it. Kept, because `rsa` makes its blinding factor once for each key object.

    With both, and gmpy2's integers under the library's own `pow` calls, an unwrap takes an eighth of the time.
    """
    numbers = key.key.private_numbers()
    public = numbers.public_numbers
    return rsa.PrivateKey(big(public.n), public.e, numbers.d, big(numbers.p), big(numbers.q))
