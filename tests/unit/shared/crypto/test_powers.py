from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from shared.crypto.powers import product_of_powers

MODULUS = 2**127 - 1
pairs = st.tuples(
    st.integers(min_value=0, max_value=MODULUS - 1), st.integers(min_value=0, max_value=2**40 - 1)
)


@given(st.lists(pairs, max_size=40))
def test_agrees_with_powers_one_by_one(parts: list[tuple[int, int]]) -> None:
    expected = prod(pow(base, exponent, MODULUS) for base, exponent in parts) % MODULUS
    bases, exponents = [base for base, _ in parts], [exponent for _, exponent in parts]
    assert product_of_powers(bases, exponents, 40, MODULUS) == expected


def test_three_hundred_bases() -> None:
    bases, exponents = list(range(2, 302)), [(7 * i) ** 9 % 2**40 for i in range(300)]
    expected = prod(pow(b, e, MODULUS) for b, e in zip(bases, exponents, strict=True)) % MODULUS
    assert product_of_powers(bases, exponents, 40, MODULUS) == expected
