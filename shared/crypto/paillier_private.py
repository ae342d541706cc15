"""Paillier's private side (protocol sections 1 and 2): key pairs, decryption, the batched zero check.

Only key holders import this module. Everything works modulo p^2 and q^2 and joins by the Chinese remainder
theorem (Paillier 1999, section 7). Python integers are not constant time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from shared.crypto.integers import big, from_bytes, gcd, invert, is_probable_prime, powmod
from shared.crypto.paillier import KEY_BITS, PublicKey
from shared.crypto.powers import product_of_powers
from shared.errors import InputError
from shared.rng import RandomBelow, RandomBytes, random_below, random_bytes

BATCH_BITS: Final = 128
"""Length of the random exponents of `all_zero`."""
_MIN_DISTANCE_SLACK_BITS: Final = 100
"""|p - q| > 2^(bits/2 - 100), as FIPS 186-5 asks, against Fermat's factoring."""


@dataclass(frozen=True, slots=True)
class PrimeSide:
    """What decryption modulo one prime needs; `correction` is L(g^(prime-1) mod prime^2)^-1 mod prime."""

    prime: int
    square: int
    correction: int

    @classmethod
    def of(cls, prime: int, other: int) -> Self:
        """g^(p-1) = 1 + (p-1) p q mod p^2, so L of it is -q mod p."""
        prime = big(prime)
        return cls(prime, prime * prime, invert(-other % prime, prime))

    def decrypt(self, ciphertext: int) -> int:
        """The plaintext mod this prime: L(c^(p-1) mod p^2) * correction mod p."""
        power = powmod(ciphertext % self.square, self.prime - 1, self.square)
        return (power - 1) // self.prime * self.correction % self.prime


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """The factors of a modulus. Production code builds one by `create` or `generate` only, which check it.

    Picklable, so that a caller can hand it to its own worker processes; it is never written or sent.
    """

    p: int = field(repr=False)
    q: int = field(repr=False)
    public: PublicKey = field(init=False)
    p_side: PrimeSide = field(init=False, repr=False, compare=False)
    q_side: PrimeSide = field(init=False, repr=False, compare=False)
    p_inverse: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", PublicKey(self.p * self.q))
        object.__setattr__(self, "p_side", PrimeSide.of(self.p, self.q))
        object.__setattr__(self, "q_side", PrimeSide.of(self.q, self.p))
        object.__setattr__(self, "p_inverse", invert(self.p, big(self.q)))

    @classmethod
    def create(cls, p: int, q: int) -> Self:
        """The checks of protocol section 1 on what a bundle brought.

        Raises: InputError: not two distinct primes of equal allowed length with gcd(n, (p-1)(q-1)) = 1.
        """
        bits = (p * q).bit_length()
        well_formed = (
            bits in KEY_BITS
            and p.bit_length() == q.bit_length()  # so each is bits/2 long: bits is even
            and p != q
            and gcd(p * q, (p - 1) * (q - 1)) == 1
            and is_probable_prime(p)
            and is_probable_prime(q)
        )
        if not well_formed:
            raise InputError(
                "the Paillier factors are not two distinct primes of half the key's length",
                remedy="Ask the trusted authority for a new bundle.",
            )
        return cls(int(p), int(q))

    def decrypt(self, ciphertext: int) -> int:
        """The plaintext in [0, n) of a valid ciphertext: two half-size powers, joined."""
        mod_p = self.p_side.decrypt(ciphertext)
        mod_q = self.q_side.decrypt(ciphertext)
        return int(mod_p + self.p * ((mod_q - mod_p) * self.p_inverse % self.q))

    def decrypt_many(self, ciphertexts: Iterable[int]) -> list[int]:
        """Plaintexts in the same order."""
        return [self.decrypt(ciphertext) for ciphertext in ciphertexts]

    def decrypt_small(self, ciphertexts: Iterable[int]) -> list[int]:
        """Signed plaintexts below 2^(bits/2 - 2), from one half-size power each; see `CountCipher`."""
        residues = (self.q_side.decrypt(ciphertext) for ciphertext in ciphertexts)
        return [int(residue - self.q if 2 * residue > self.q else residue) for residue in residues]

    def all_zero(self, ciphertexts: Sequence[int], below: RandomBelow = random_below) -> bool:
        """Whether every one of these valid ciphertexts encrypts 0, for about the cost of one decryption.

        Decrypts prod c_i^rho_i, rho_0 = 1 and the others uniform of 128 bits, which encrypts sum rho_i m_i. A
        plaintext that is not 0 mod n is not 0 mod p or not 0 mod q, say p. If it is not m_0 alone, a prime
        beyond 2^128 leaves at most one value of its rho for which the sum is 0 mod p. So a wrong yes has
        probability at most 2^-128. The obfuscators cannot interfere: raising to p-1 removes that whole
        subgroup, elements of small order included.
        """
        exponents = [1, *(below(1 << BATCH_BITS) for _ in ciphertexts[1:])][: len(ciphertexts)]
        return all(_combined_zero(side, ciphertexts, exponents) for side in (self.p_side, self.q_side))


def _combined_zero(side: PrimeSide, ciphertexts: Sequence[int], exponents: Sequence[int]) -> bool:
    bases = [ciphertext % side.square for ciphertext in ciphertexts]
    return side.decrypt(product_of_powers(bases, exponents, BATCH_BITS, side.square)) == 0


def generate(bits: int, random: RandomBytes = random_bytes) -> PrivateKey:
    """A fresh key pair of 2048, 3072 or 4096 bits; for the trusted authority.

    Raises: InputError: another size.
    """
    if bits not in KEY_BITS:
        raise InputError("a Paillier key has 2048, 3072 or 4096 bits", remedy="Choose one of these sizes.")
    while True:
        p, q = _random_prime(bits // 2, random), _random_prime(bits // 2, random)
        far_apart = abs(p - q).bit_length() > bits // 2 - _MIN_DISTANCE_SLACK_BITS
        if far_apart:
            return PrivateKey.create(p, q)


def _random_prime(bits: int, random: RandomBytes) -> int:
    # The two top bits are set, so that a product of two such primes has exactly twice the length.
    top = 3 << (bits - 2)
    while True:
        candidate = from_bytes(random(bits // 8)) | top | 1
        if is_probable_prime(candidate):
            return int(candidate)
