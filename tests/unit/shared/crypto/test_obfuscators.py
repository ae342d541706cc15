from __future__ import annotations

from collections import Counter
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto import obfuscators
from shared.crypto.fixed_base import CombShape, FixedBase, best_shape
from shared.crypto.obfuscators import Encryptor
from shared.crypto.paillier_private import PrivateKey
from tests.support.toy_keys import fixed_key, t4_key

KEY = t4_key()
N = KEY.public.n
ENCRYPTOR = Encryptor(KEY)


@given(
    st.lists(st.integers(min_value=0, max_value=2**61 - 1), min_size=1, max_size=5),
    st.integers(min_value=1, max_value=6),
    st.integers(min_value=1, max_value=5),
)
def test_combs_of_every_shape_give_powers(exponents: list[int], teeth: int, tables: int) -> None:
    modulus = 2**89 - 1
    comb = FixedBase.build(3, modulus, CombShape(61, teeth, tables))
    assert comb.powers(exponents) == [pow(3, exponent, modulus) for exponent in exponents]


def test_more_exponents_than_a_batch_keep_their_order() -> None:
    comb = FixedBase.build(3, 2**61 - 1, CombShape(16, 4, 2))
    assert comb.powers(range(600)) == [pow(3, exponent, 2**61 - 1) for exponent in range(600)]


def test_no_exponents_no_powers() -> None:
    assert FixedBase.build(3, 2**61 - 1, CombShape(16, 4, 2)).powers([]) == []


@given(st.sampled_from([1024, 1536, 2048]), st.integers(min_value=1, max_value=10**5))
@settings(max_examples=30)
def test_shapes_stay_within_memory_and_grow_with_the_demand(bits: int, powers: int) -> None:
    shape = best_shape(bits, 2 * bits, powers)
    assert shape.entries * (2 * bits // 8 + 48) <= 32 * 2**20
    assert shape.teeth * shape.columns >= bits
    assert best_shape(bits, 2 * bits, 4 * powers).power_products <= shape.power_products


@given(st.lists(st.integers(min_value=-(2**200), max_value=2**300), max_size=6))
def test_ciphertexts_decrypt_to_their_plaintexts(plaintexts: list[int]) -> None:
    raws = ENCRYPTOR.encrypt_many(plaintexts)
    assert all(len(raw) == 64 for raw in raws)
    assert KEY.decrypt_many(int.from_bytes(raw, "big") for raw in raws) == [m % N for m in plaintexts]


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_allowed_sizes_encrypt(bits: int) -> None:
    key = fixed_key(bits)
    raws = Encryptor(key).encrypt_many([0, 1, key.public.n - 1])
    assert key.decrypt_many(int.from_bytes(raw, "big") for raw in raws) == [0, 1, key.public.n - 1]


def test_equal_plaintexts_never_look_equal() -> None:
    assert len(set(ENCRYPTOR.encrypt_many([7] * 50))) == 50


def test_obfuscators_are_the_nth_residues_each_equally_often() -> None:
    """With p = 11, q = 7 every residue can be counted: 60 of them, drawn 60 000 times."""
    tiny = PrivateKey(11, 7)
    encryptor = Encryptor(tiny)
    drawn = Counter(int.from_bytes(raw, "big") for raw in encryptor.encrypt_many([0] * 60_000))
    residues = {pow(r, 77, 77**2) for r in range(1, 77) if gcd(r, 77) == 1}
    assert set(drawn) == residues
    # Each is binomial with mean 1000 and deviation 31: seven deviations are left for chance.
    assert all(780 < count < 1220 for count in drawn.values())


@pytest.mark.parametrize("prime", [7, 11, 101, 257, 65537, 2**61 - 1])
def test_generators_have_an_index_without_small_factors(prime: int) -> None:
    for _ in range(20):
        found = obfuscators._likely_generator(prime, lambda bound: KEY_STREAM.draw(bound))
        for factor in (f for f in range(2, min(prime, 2**16)) if (prime - 1) % f == 0 and is_prime(f)):
            assert pow(found, (prime - 1) // factor, prime) != 1


class _Stream:
    """A fixed linear sequence: choices of a test, not of a cipher."""

    def __init__(self) -> None:
        self.state = 1

    def draw(self, bound: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return self.state % bound


KEY_STREAM = _Stream()


def is_prime(number: int) -> bool:
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def test_tables_are_rebuilt_only_when_that_pays() -> None:
    encryptor = Encryptor(KEY)
    encryptor.prepare(100)
    first = encryptor._p.table
    encryptor.encrypt_many([1, 2, 3])
    assert encryptor._p.table is first
    encryptor.prepare(5000)
    second = encryptor._p.table
    assert second is not first
    encryptor.encrypt_many([1])
    assert encryptor._p.table is second


def test_repr_shows_neither_key_nor_tables() -> None:
    ENCRYPTOR.encrypt_many([1])
    assert repr(ENCRYPTOR) == f"Encryptor(private={KEY!r})"
    assert repr(ENCRYPTOR._p) == "_Residues()"
    assert repr(FixedBase.build(3, 97, CombShape(4, 2, 1))) == (
        "FixedBase(shape=CombShape(exponent_bits=4, teeth=2, tables=1))"
    )
