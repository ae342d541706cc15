"""Safe primes p = 2 p' + 1 for a threshold key: a sieve over both, then tests.

By hand, because the one way that OpenSSL offers through its Python library (Diffie-Hellman parameters) is announced to
go, and binds p mod 24. Seconds for 1536 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from shared.crypto.integers import from_bytes, invert, is_probable_prime, next_prime, powmod
from shared.rng import RandomBytes, random_bytes

_SIEVE_LIMIT: Final = 2**16
_WINDOW: Final = 2**16
"""Candidates looked at from one random start, one in two of the integers."""


def safe_prime(bits: int, random: RandomBytes = random_bytes) -> int:
    """A random safe prime of exactly `bits` bits, the two highest of them set; `bits` a multiple of 8."""
    while True:
        for half in _candidates(bits, random):
            prime = 2 * half + 1
            # One power each throws nearly every composite out; the certain test is for what is left.
            likely = powmod(2, half - 1, half) == 1 and powmod(2, prime - 1, prime) == 1
            if likely and is_probable_prime(half) and is_probable_prime(prime):
                return int(prime)


def is_safe_prime(prime: int) -> bool:
    """Whether p and (p - 1) / 2 are both prime."""
    return prime % 2 == 1 and is_probable_prime(prime) and is_probable_prime((prime - 1) // 2)


def _candidates(bits: int, random: RandomBytes) -> Iterator[int]:
    """Odd p' above a random start for which neither p' nor 2 p' + 1 has a small factor."""
    start = (from_bytes(random(bits // 8)) | 3 << (bits - 2)) >> 1 | 1
    composite = bytearray(_WINDOW)
    for factor, half in _small_primes():
        # start + 2 k = 0 mod factor, and 2 (start + 2 k) + 1 = 0 mod factor.
        first = -start * half % factor
        second = -(2 * start + 1) * half * half % factor
        for place in (first, second):
            composite[place::factor] = b"\1" * len(range(place, _WINDOW, factor))
    end = 1 << (bits - 1)
    for place, is_composite in enumerate(composite):
        if not is_composite and start + 2 * place < end:
            yield start + 2 * place


@lru_cache(maxsize=1)
def _small_primes() -> tuple[tuple[int, int], ...]:
    """Odd primes below the limit, each with the inverse of 2."""
    primes, prime = [], next_prime(2)
    while prime < _SIEVE_LIMIT:
        primes.append((int(prime), int(invert(2, prime))))
        prime = next_prime(prime)
    return tuple(primes)
