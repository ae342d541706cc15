"""Paillier's public side (protocol section 2): keys, ciphertexts as bytes, validity, sums.

g = n + 1, so g^m = 1 + m n mod n^2. Nothing here can decrypt; the private side is `paillier_private`.
Integers are counts or packed plaintexts mod n; ciphertexts are integers mod n^2 or their fixed-length bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

from shared.crypto.integers import big, from_bytes, gcd, powmod, to_bytes
from shared.crypto.wrapping import rejected
from shared.errors import InputError
from shared.ids import KeyId

KEY_BITS: Final = (2048, 3072, 4096)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A Paillier modulus. Production code builds one by `create` only, which checks the size.

    n_squared: n^2. bits: length of n. ciphertext_bytes: 2 * ceil(bits / 8).
    """

    n: int
    n_squared: int = field(init=False, repr=False, compare=False)
    bits: int = field(init=False, compare=False)
    ciphertext_bytes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", int(self.n))
        object.__setattr__(self, "n_squared", big(self.n) ** 2)
        object.__setattr__(self, "bits", self.n.bit_length())
        object.__setattr__(self, "ciphertext_bytes", 2 * self.modulus_bytes)

    @classmethod
    def create(cls, n: int) -> Self:
        """A modulus of exactly 2048, 3072 or 4096 bits.

        Raises: InputError: another size, or even.
        """
        if n.bit_length() not in KEY_BITS or n % 2 == 0:
            raise InputError(
                "a Paillier modulus is odd and has exactly 2048, 3072 or 4096 bits",
                remedy="Ask the trusted authority for the federation's key.",
            )
        return cls(n)

    @property
    def modulus_bytes(self) -> int:
        """ceil(bits / 8)."""
        return (self.bits + 7) // 8

    @property
    def key_id(self) -> KeyId:
        """SHA-256 of n as fixed-length big-endian bytes, 64 hex digits."""
        return KeyId(hashlib.sha256(to_bytes(self.n, self.modulus_bytes)).hexdigest())


class CountEncipher(Protocol):
    """What every agent does for the rooms above, whatever it holds of the private key: encrypt packed counts."""

    @property
    def public(self) -> PublicKey:
        """The key under which all of it happens."""

    def encrypt(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts of plaintexts mod n, same order."""


class CountCipher(CountEncipher, Protocol):
    """What the holder of a whole key does: encrypt, decrypt and check packed counts."""

    def decrypt(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Plaintexts in [0, n) of valid ciphertexts, same order."""

    def decrypt_small(self, ciphertexts: Sequence[bytes]) -> list[int]:
        """Signed plaintexts of absolute value below 2^(bits/2 - 2), at half the price of `decrypt`.

        Meaningless for greater plaintexts: the caller confirms the result by `all_zero`.
        """

    def all_zero(self, ciphertexts: Sequence[int]) -> bool:
        """Whether every one of these valid ciphertexts encrypts 0; a wrong yes has probability <= 2^-128."""


def encode_ciphertext(key: PublicKey, ciphertext: int) -> bytes:
    """Big-endian, `key.ciphertext_bytes` long."""
    return to_bytes(ciphertext, key.ciphertext_bytes)


def decode_ciphertext(key: PublicKey, raw: bytes) -> int:
    """Bytes to an integer in (0, n^2); that it is prime to n is for `validate_ciphertexts`.

    Raises: PeerError: `contribution_rejected`: another length, zero, or at least n^2.
    """
    if len(raw) != key.ciphertext_bytes:
        raise rejected()
    ciphertext = from_bytes(raw)
    if not 0 < ciphertext < key.n_squared:
        raise rejected()
    return ciphertext


def validate_ciphertexts(key: PublicKey, raws: Sequence[bytes]) -> list[int]:
    """Decode, and check 0 < c < n^2 and gcd(c, n) = 1 of each.

    One gcd of the product mod n does for all: it is 1 iff every factor is prime to n.

    Raises: PeerError: `contribution_rejected`, the same for every cause.
    """
    ciphertexts = [decode_ciphertext(key, raw) for raw in raws]
    n = big(key.n)
    product = big(1)
    for ciphertext in ciphertexts:
        product = product * (ciphertext % n) % n
    if gcd(product, n) != 1:
        raise rejected()
    return ciphertexts


def encrypt(key: PublicKey, plaintext: int, r: int) -> int:
    """Textbook (1 + m n) r^n mod n^2 with a given r in Z*_n; slow, key holders have `Encryptor`."""
    return add_plaintext(key, powmod(r, key.n, key.n_squared), plaintext)


def add_plaintext(key: PublicKey, ciphertext: int, plaintext: int) -> int:
    """c (1 + m n) mod n^2: adds m, which may be negative, to what c encrypts; no fresh obfuscator.

    c (1 + m n) = c + n (c m mod n) mod n^2 needs half-size products only.
    """
    n = big(key.n)
    return (ciphertext + n * (ciphertext % n * (plaintext % n) % n)) % key.n_squared


def combine(key: PublicKey, ciphertexts: Sequence[int], slot_bits: int) -> int:
    """prod c_t^(2^(slot_bits t)) mod n^2: one ciphertext that encrypts the packed plaintexts sum m_t 2^(...)."""
    product = big(1)
    for ciphertext in reversed(ciphertexts):
        product = powmod(product, 1 << slot_bits, key.n_squared) * ciphertext % key.n_squared
    return product


def multiply(key: PublicKey, ciphertexts: Iterable[int]) -> int:
    """The product mod n^2, which encrypts the sum of the plaintexts; 1 for none."""
    product = big(1)
    for ciphertext in ciphertexts:
        product = product * ciphertext % key.n_squared
    return product


def multiply_columns(key: PublicKey, rows: Sequence[Sequence[int]]) -> list[int]:
    """Products down the columns of a matrix of ciphertexts (rows: hospitals, columns: plaintexts).

    Raises: ValueError: rows of different lengths.
    """
    return [multiply(key, column) for column in zip(*rows, strict=True)]
