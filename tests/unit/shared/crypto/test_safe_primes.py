"""Safe primes are safe, of the asked length, and fresh."""

from __future__ import annotations

import pytest

from shared.crypto.safe_primes import is_safe_prime, safe_prime
from tests.support.threshold_keys import safe_primes


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_a_safe_prime_has_its_length_and_both_top_bits(bits: int) -> None:
    found = {safe_prime(bits) for _ in range(4)}
    assert len(found) == 4
    for prime in found:
        assert is_safe_prime(prime)
        assert prime >> (bits - 2) == 3


def test_what_is_not_safe_is_told() -> None:
    assert is_safe_prime(23)
    assert is_safe_prime(1019)
    assert not is_safe_prime(29)  # prime, but 14 is not
    assert not is_safe_prime(27)
    assert not is_safe_prime(22)


@pytest.mark.parametrize("bits", [256, 512, 2048, 3072])
def test_the_fixed_primes_of_the_tests_are_safe(bits: int) -> None:
    p, q = safe_primes(bits)
    assert is_safe_prime(p)
    assert is_safe_prime(q)
    assert (p * q).bit_length() == bits
