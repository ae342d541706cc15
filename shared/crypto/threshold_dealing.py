"""Dealing a threshold key (protocol section 6.5): for the trusted authority only.

p', q', m = p' q' and d exist in `deal` alone and are forgotten with it. What comes out is the public key, v, the v_i
and one share for each holder; t of the shares decrypt, fewer tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.crypto.integers import big, gcd, invert, powmod
from shared.crypto.paillier import PublicKey
from shared.crypto.safe_primes import is_safe_prime
from shared.crypto.threshold import ThresholdKey
from shared.errors import InputError
from shared.rng import RandomBelow, random_below


@dataclass(frozen=True, slots=True)
class Dealt:
    """A dealt key. shares[i - 1]: s_i of the holder with index i, in [0, n m)."""

    key: ThresholdKey
    shares: tuple[int, ...] = field(repr=False)


def deal(p: int, q: int, holders: int, threshold: int, below: RandomBelow = random_below) -> Dealt:
    """Share the key of n = p q so that `threshold` of `holders` decrypt.

    Args: p, q: distinct safe primes of one length. below: source of the polynomial and of v.
    Raises: InputError: other primes, or a threshold that `ThresholdKey.create` refuses.
    """
    if p == q or p.bit_length() != q.bit_length() or not (is_safe_prime(p) and is_safe_prime(q)):
        raise InputError("a threshold key is dealt from two distinct safe primes of one length")
    public = PublicKey(p * q)
    n, m = big(public.n), big((p - 1) // 2) * ((q - 1) // 2)
    decrypting = m * invert(m, n)  # d: 0 mod m, 1 mod n
    polynomial = [decrypting, *(big(below(int(n * m))) for _ in range(threshold - 1))]
    shares = tuple(int(_value(polynomial, index, n * m)) for index in range(1, holders + 1))
    base = _square(public, below)
    checker = ThresholdKey(public, threshold, base, (base,) * holders)
    values = [powmod(base, checker.delta * share, public.n_squared) for share in shares]
    return Dealt(ThresholdKey.create(public, threshold, base, [int(value) for value in values]), shares)


def _value(polynomial: Sequence[int], at: int, modulus: int) -> int:
    """Horner's rule; the coefficient of x^0 comes first."""
    total = big(0)
    for factor in reversed(polynomial):
        total = (total * at + factor) % modulus
    return total


def _square(public: PublicKey, below: RandomBelow) -> int:
    """v: a random square mod n^2, which generates all squares but with negligible probability."""
    while True:
        root = 2 + below(int(public.n_squared) - 3)
        if gcd(root, public.n) == 1:
            return int(powmod(root, 2, public.n_squared))
