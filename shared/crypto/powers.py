"""Products of many powers with short exponents: the bucket method.

Source: N. Pippenger, "On the evaluation of powers and monomials", SIAM J. Comput. 9 (1980); in this form D. Bernstein
et al., "Faster batch forgery identification", INDOCRYPT 2012, section 4. For K bases and exponents of b bits cut into
windows of w bits it takes about (b/w)(K + 2^(w+1)) products, instead of about 1.25 b K one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.crypto.integers import big, powmod

_MIN_BASES: Final = 16
"""With fewer bases gmpy2's own powers are faster than products counted in Python."""
_WINDOWS: Final = range(2, 13)


def product_of_powers(
    bases: Sequence[int], exponents: Sequence[int], exponent_bits: int, modulus: int
) -> int:
    """prod bases_i ^ exponents_i mod modulus; exponents in [0, 2^exponent_bits)."""
    if len(bases) < _MIN_BASES:
        return _one_by_one(bases, exponents, modulus)
    width = min(_WINDOWS, key=lambda w: -(-exponent_bits // w) * (len(bases) + (2 << w)))
    result = big(1)
    for shift in reversed(range(0, exponent_bits, width)):
        digits = [(exponent >> shift) & ((1 << width) - 1) for exponent in exponents]
        result = powmod(result, 1 << width, modulus) * _window(bases, digits, width, modulus) % modulus
    return result


def _one_by_one(bases: Sequence[int], exponents: Sequence[int], modulus: int) -> int:
    result = big(1)
    for base, exponent in zip(bases, exponents, strict=True):
        result = result * powmod(base, exponent, modulus) % modulus
    return result


def _window(bases: Sequence[int], digits: Sequence[int], width: int, modulus: int) -> int:
    """prod bases_i ^ digits_i: one bucket a digit, then prod over d of bucket_d^d by running products."""
    buckets = [big(1)] * (1 << width)
    for base, digit in zip(bases, digits, strict=True):
        buckets[digit] = buckets[digit] * base % modulus
    running = product = big(1)
    for bucket in reversed(buckets[1:]):
        running = running * bucket % modulus
        product = product * running % modulus
    return product
