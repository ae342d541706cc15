from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phe.paillier import PaillierPrivateKey, PaillierPublicKey

from shared.crypto.integers import is_probable_prime
from shared.crypto.paillier import encrypt
from shared.crypto.paillier_private import PrivateKey, generate
from shared.errors import InputError
from tests.support.toy_keys import T4_P, T4_Q, fixed_key, t4_key

KEY = t4_key()
N = KEY.public.n
plaintexts = st.integers(min_value=0, max_value=N - 1)
units = st.integers(min_value=1, max_value=T4_P - 1)


@given(plaintexts, units)
def test_decryption_undoes_encryption(m: int, r: int) -> None:
    assert KEY.decrypt(encrypt(KEY.public, m, r)) == m


@given(st.integers(min_value=-(2**125), max_value=2**125), units)
def test_small_plaintexts_come_signed_from_one_prime(m: int, r: int) -> None:
    assert KEY.decrypt_small([encrypt(KEY.public, m, r)]) == [m]


@given(plaintexts, units)
@settings(max_examples=30)
def test_phe_reads_ours_and_we_read_phes(m: int, r: int) -> None:
    public = PaillierPublicKey(N)
    private = PaillierPrivateKey(public, T4_P, T4_Q)
    assert private.raw_decrypt(int(encrypt(KEY.public, m, r))) == m
    assert KEY.decrypt(public.raw_encrypt(m, r_value=r)) == m
    assert public.raw_encrypt(m, r_value=r) == encrypt(KEY.public, m, r)


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_create_accepts_sound_keys(bits: int) -> None:
    key = fixed_key(bits)
    assert PrivateKey.create(key.p, key.q) == key
    assert key.decrypt(encrypt(key.public, 123456789, 3)) == 123456789


def unsound() -> dict[str, tuple[int, int]]:
    p, q = fixed_key(2048).p, fixed_key(2048).q
    return {
        "equal": (p, p),
        "composite q": (p, next(c for c in range(q + 2, q + 100, 2) if not is_probable_prime(c))),
        "composite p": (next(c for c in range(p + 2, p + 100, 2) if not is_probable_prime(c)), q),
        "toy": (T4_P, T4_Q),
        "unequal lengths": (fixed_key(3072).p, fixed_key(512).p),
        "zero": (0, 0),
        "negative": (-p, -q),
        "one": (p * q, 1),
    }


@pytest.mark.parametrize("name", unsound())
def test_create_refuses_unsound_factors_without_naming_them(name: str) -> None:
    p, q = unsound()[name]
    with pytest.raises(InputError, match="two distinct primes") as caught:
        PrivateKey.create(p, q)
    assert not any(digit in str(caught.value) for digit in "0123456789")


def test_generated_keys_pass_their_own_checks() -> None:
    key = generate(2048)
    assert PrivateKey.create(key.p, key.q) == key
    assert key.public.bits == 2048


@pytest.mark.parametrize("bits", [0, 256, 1024, 2047, 8192])
def test_other_sizes_are_not_generated(bits: int) -> None:
    with pytest.raises(InputError, match="2048, 3072 or 4096"):
        generate(bits)


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_all_zero_says_yes_to_zeros(count: int) -> None:
    assert KEY.all_zero([encrypt(KEY.public, 0, 2 + r) for r in range(count)])


@given(st.integers(min_value=0, max_value=19), plaintexts.filter(bool), st.sampled_from([1, 20]))
@settings(max_examples=60)
def test_all_zero_finds_one_other(place: int, other: int, step: int) -> None:
    count = 1 + 19 // step
    values = [0] * count
    values[place % count] = other
    assert not KEY.all_zero([encrypt(KEY.public, m, 3 + r) for r, m in enumerate(values)])


@pytest.mark.parametrize("other", [T4_P, T4_Q, N - T4_P])
def test_all_zero_looks_at_both_primes(other: int) -> None:
    assert not KEY.all_zero([encrypt(KEY.public, 0, 5), encrypt(KEY.public, other, 7)])


def test_all_zero_finds_differences_that_cancel_in_a_plain_sum() -> None:
    values = [0, 1, N - 1, 0]
    assert not KEY.all_zero([encrypt(KEY.public, m, 3 + r) for r, m in enumerate(values)])


def test_elements_of_small_order_do_not_fool_or_disturb_all_zero() -> None:
    minus_one = N * N - 1
    assert KEY.decrypt(minus_one) == 0
    assert KEY.all_zero([minus_one, minus_one])
    assert not KEY.all_zero([minus_one, minus_one * encrypt(KEY.public, 1, 1) % (N * N)])


def test_repr_shows_no_factor_and_pickling_keeps_the_key() -> None:
    assert repr(KEY) == f"PrivateKey(public={KEY.public!r})"
    assert f"{T4_P}" not in repr(KEY)
    assert pickle.loads(pickle.dumps(KEY)) == KEY
