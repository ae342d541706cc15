"""Fast encryption for those who hold p and q: n-th residues from fixed-base tables.

The n-th residues mod p^2 are the subgroup of order p-1, because r -> r^n = (r^q)^p maps Z*_(p^2) onto the
p-th powers and q is prime to p-1. r uniform in Z*_n makes r^n mod p^2 uniform in that subgroup, independently
of r^n mod q^2. So h^e with a generator h and e uniform in [0, p-1) has exactly the textbook's distribution.
How sure it is that h generates, and what was rejected: docs/adr/0003-obfuscators-from-fixed-base-tables.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Self

from shared.crypto.fixed_base import CombShape, FixedBase, best_shape
from shared.crypto.integers import big, gcd, invert, jacobi, next_prime, powmod, primorial
from shared.crypto.paillier import PublicKey, encode_ciphertext
from shared.crypto.paillier_private import PrivateKey
from shared.rng import RandomBelow, random_below

SMALL_PRIME_LIMIT: Final = 2**16
"""Prime factors of p-1 below this are excluded from the index of h; see the ADR."""


@dataclass(slots=True)
class _Residues:
    """The subgroup of order prime-1 mod prime^2, its generator, and a table that grows with the demand."""

    prime: int = field(repr=False)
    square: int = field(repr=False)
    generator: int = field(repr=False)
    table: FixedBase | None = field(default=None, repr=False)

    @classmethod
    def of(cls, prime: int, below: RandomBelow) -> Self:
        prime = big(prime)
        square = prime * prime
        return cls(prime, square, powmod(_likely_generator(prime, below), prime, square))

    def prepare(self, powers: int) -> FixedBase:
        """The table for the next `powers` powers: a new one when it pays for itself within them."""
        bits = self.prime.bit_length()
        if self.table is not None and powers * self.table.shape.power_products < bits:
            return self.table  # building takes at least one product a bit, so no table repays itself
        shape = best_shape(bits, self.square.bit_length(), powers)
        if self.table is None or _pays(self.table.shape, shape, powers):
            self.table = FixedBase.build(self.generator, self.square, shape)
        return self.table

    def draw(self, count: int, below: RandomBelow) -> list[int]:
        """`count` uniform elements of the subgroup."""
        return self.prepare(count).powers([below(self.prime - 1) for _ in range(count)])


def _pays(old: CombShape, new: CombShape, powers: int) -> bool:
    return new.build_products + powers * new.power_products < powers * old.power_products


@dataclass(slots=True)
class Encryptor:
    """Encrypts under a key whose factors it holds. Its tables are as secret as the key and never leave it.

    below: where exponents come from; the operating system's generator except in tests.
    """

    private: PrivateKey
    below: RandomBelow = field(default=random_below, repr=False)
    _p: _Residues = field(init=False, repr=False)
    _q: _Residues = field(init=False, repr=False)
    _p_square_inverse: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._p = _Residues.of(self.private.p, self.below)
        self._q = _Residues.of(self.private.q, self.below)
        self._p_square_inverse = invert(self._p.square, self._q.square)

    @property
    def public(self) -> PublicKey:
        """The key under which it encrypts."""
        return self.private.public

    def prepare(self, expected: int) -> None:
        """Build tables for `expected` encryptions to come; without it each call decides by its own size."""
        self._p.prepare(expected)
        self._q.prepare(expected)

    def encrypt_many(self, plaintexts: Sequence[int]) -> list[bytes]:
        """Fresh ciphertexts of plaintexts (reduced mod n), same order, `public.ciphertext_bytes` each."""
        of_p = self._p.draw(len(plaintexts), self.below)
        of_q = self._q.draw(len(plaintexts), self.below)
        joined = (self._join(*parts) for parts in zip(plaintexts, of_p, of_q, strict=True))
        return [encode_ciphertext(self.public, ciphertext) for ciphertext in joined]

    def _join(self, plaintext: int, of_p: int, of_q: int) -> int:
        """(1 + m n) s mod n^2 from the obfuscator s mod p^2 and mod q^2."""
        p, q = self._p, self._q
        left = _with_plaintext(of_p, plaintext, p.prime, q.prime)
        right = _with_plaintext(of_q, plaintext, q.prime, p.prime)
        return left + p.square * ((right - left) * self._p_square_inverse % q.square)


def _with_plaintext(obfuscator: int, plaintext: int, prime: int, other: int) -> int:
    # s (1 + m p q) = s + p (s m q mod p) mod p^2; half-size products, and the sum stays below 2 p^2.
    return obfuscator + prime * (obfuscator % prime * (plaintext % prime * other % prime) % prime)


@lru_cache(maxsize=1)
def _small_primorial() -> int:
    return primorial(SMALL_PRIME_LIMIT)


def _likely_generator(prime: int, below: RandomBelow) -> int:
    """A random element mod `prime` whose index has no prime factor below 2^16.

    One power a trial: y = g^((p-1)/s), s the product of the small primes dividing p-1, lies in the group of
    order s, where y^(s/l) = 1 iff l divides the index of g.
    """
    smooth = gcd(prime - 1, _small_primorial() % (prime - 1))
    factors = _prime_factors(smooth)
    while True:
        candidate = 2 + below(prime - 3)
        if jacobi(candidate, prime) != -1:
            continue
        image = powmod(candidate, (prime - 1) // smooth, prime)
        if all(powmod(image, smooth // factor, prime) != 1 for factor in factors):
            return candidate


def _prime_factors(squarefree: int) -> list[int]:
    factors, factor = [], big(2)
    while squarefree > 1:
        if squarefree % factor == 0:
            factors.append(factor)
            squarefree //= factor
        factor = next_prime(factor)
    return factors
