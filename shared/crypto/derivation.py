"""Keys from keys and masks from keys (protocol section 2): `hk`, `lp`, `expand`.

What the keys are for stands at the call; this module knows no context.
"""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shared.crypto.integers import from_bytes
from shared.errors import InternalError

KEY_BYTES: Final = 32
MASK_SLACK_BITS: Final = 128
"""Extra bits of a block before it is reduced mod n: the bias of each value is below 2^-128."""
_ZERO_IV: Final = bytes(16)
_LENGTH_BYTES: Final = 2


def hk(ikm: bytes, info: bytes, *, mh: bytes) -> bytes:
    """HKDF-SHA256 with salt `mh`, the manifest hash as 32 raw bytes; 32 bytes out."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=mh, info=info).derive(ikm)


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256, 32 bytes."""
    mac = HMAC(key, SHA256())
    mac.update(message)
    return mac.finalize()


def lp(text: str) -> bytes:
    """Length prefix: u16 big-endian byte length, then the UTF-8 text; so no two lists of names join alike."""
    raw = text.encode()
    if len(raw) >= 2 ** (8 * _LENGTH_BYTES):
        raise InternalError("a name longer than 65535 bytes cannot be length-prefixed")
    return len(raw).to_bytes(_LENGTH_BYTES, "big") + raw


def block_bytes(modulus_bits: int) -> int:
    """Length of one block of `expand`: ceil((bits(n) + 128) / 8)."""
    return (modulus_bits + MASK_SLACK_BITS + 7) // 8


def expand_blocks(key: bytes, count: int, modulus_bits: int) -> list[int]:
    """The blocks of `expand` before reduction, each in [0, 2^(bits + 128 rounded up to bytes)).

    Sums of several expansions are cheaper reduced once at the end than block by block.
    """
    width = block_bytes(modulus_bits)
    stream = Cipher(algorithms.AES(key), modes.CTR(_ZERO_IV)).encryptor().update(bytes(width * count))
    return [from_bytes(stream[start : start + width]) for start in range(0, width * count, width)]


def expand(key: bytes, count: int, modulus: int) -> list[int]:
    """`count` values mod n from the AES-256-CTR key stream of `key` with a zero IV.

    The IV may be zero because every key is derived for one context and used once.
    """
    return [block % modulus for block in expand_blocks(key, count, modulus.bit_length())]
