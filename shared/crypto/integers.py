"""The one import of gmpy2: big-integer functions with types.

Big integers are annotated `int`; at run time they may be `gmpy2.mpz`, which behaves alike. Values handed to
other rooms for JSON or `isinstance` go through `int()` first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import gmpy2  # type: ignore[import-untyped]  # publishes no types

big: Final[Callable[[int], int]] = gmpy2.mpz
"""Convert to the fast representation."""
powmod: Final[Callable[[int, int, int], int]] = gmpy2.powmod
"""base, exponent, modulus."""
invert: Final[Callable[[int, int], int]] = gmpy2.invert
"""x^-1 mod m; raises ZeroDivisionError when there is none."""
gcd: Final[Callable[[int, int], int]] = gmpy2.gcd


def powmod_many(bases: Sequence[int], exponent: int, modulus: int) -> list[int]:
    """Every base to the exponent mod the modulus, without holding the interpreter lock."""
    powers: list[int] = gmpy2.powmod_base_list([gmpy2.mpz(base) for base in bases], exponent, modulus)
    return powers


def from_bytes(raw: bytes) -> int:
    """Big-endian bytes to a non-negative integer."""
    value: int = gmpy2.mpz.from_bytes(raw, "big")
    return value


def to_bytes(value: int, length: int) -> bytes:
    """A non-negative integer to exactly `length` big-endian bytes; OverflowError when it does not fit."""
    return big(value).to_bytes(length, "big")


def is_probable_prime(value: int) -> bool:
    """Miller-Rabin with 40 bases: a composite passes with probability below 2^-80."""
    return bool(gmpy2.is_prime(value, 40))


def primorial(limit: int) -> int:
    """The product of all primes up to `limit`."""
    value: int = gmpy2.primorial(limit)
    return value


def next_prime(value: int) -> int:
    """The least (probable) prime above `value`."""
    prime: int = gmpy2.next_prime(value)
    return prime


def jacobi(value: int, modulus: int) -> int:
    """Jacobi symbol of `value` over an odd modulus: 1, 0 or -1."""
    return int(gmpy2.jacobi(value, modulus))
