from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.paillier import (
    PublicKey,
    add_plaintext,
    combine,
    decode_ciphertext,
    encode_ciphertext,
    encrypt,
    multiply,
    multiply_columns,
    validate_ciphertexts,
)
from shared.errors import ErrorCode, InputError, PeerError
from tests.support.toy_keys import T4_P, T4_Q, fixed_key, t4_key

KEY = t4_key()
PUBLIC = KEY.public
N = PUBLIC.n
plaintexts = st.integers(min_value=0, max_value=N - 1)
units = st.integers(min_value=1, max_value=T4_P - 1)


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
def test_create_takes_the_allowed_sizes(bits: int) -> None:
    key = PublicKey.create(fixed_key(bits).public.n)
    assert (key.bits, key.ciphertext_bytes) == (bits, bits // 4)
    assert key.key_id == hashlib.sha256(key.n.to_bytes(bits // 8, "big")).hexdigest()


@pytest.mark.parametrize(
    "n", [0, 1, N, 2**2047, 2**2048 - 2, 2**2048 + 1, 2**2046 + 1, 2**4096 + 1, fixed_key(512).public.n]
)
def test_create_refuses_every_other_size_and_even_numbers(n: int) -> None:
    with pytest.raises(InputError, match="2048, 3072 or 4096"):
        PublicKey.create(n)


@given(plaintexts, units)
def test_encryption_is_the_textbooks(m: int, r: int) -> None:
    assert encrypt(PUBLIC, m, r) == pow(1 + N, m, N * N) * pow(r, N, N * N) % (N * N)


@given(plaintexts, plaintexts, units)
def test_add_plaintext_multiplies_by_a_power_of_g(m: int, k: int, r: int) -> None:
    ciphertext = encrypt(PUBLIC, m, r)
    assert add_plaintext(PUBLIC, ciphertext, k) == ciphertext * pow(1 + N, k, N * N) % (N * N)
    assert add_plaintext(PUBLIC, add_plaintext(PUBLIC, ciphertext, k), -k) == ciphertext


@given(st.lists(st.tuples(plaintexts, units), max_size=5))
def test_products_encrypt_sums(parts: list[tuple[int, int]]) -> None:
    product = multiply(PUBLIC, [encrypt(PUBLIC, m, r) for m, r in parts])
    assert KEY.decrypt(product) == sum(m for m, _ in parts) % N


@given(st.lists(st.tuples(st.integers(min_value=0, max_value=2**46), units), max_size=5))
def test_combine_packs_under_encryption(parts: list[tuple[int, int]]) -> None:
    combined = combine(PUBLIC, [encrypt(PUBLIC, m, r) for m, r in parts], 48)
    assert KEY.decrypt(combined) == sum(m << (48 * t) for t, (m, _) in enumerate(parts)) % N


def test_columns_of_ragged_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        multiply_columns(PUBLIC, [[1, 2], [3]])


@given(st.integers(min_value=1, max_value=N * N - 1))
@settings(max_examples=50)
def test_bytes_and_integers_are_two_forms_of_one(ciphertext: int) -> None:
    raw = encode_ciphertext(PUBLIC, ciphertext)
    assert len(raw) == PUBLIC.ciphertext_bytes
    assert decode_ciphertext(PUBLIC, raw) == ciphertext


HOSTILE = {
    "zero": bytes(64),
    "n": N.to_bytes(64, "big"),
    "multiple of p": (5 * T4_P).to_bytes(64, "big"),
    "multiple of q": (T4_Q * T4_Q).to_bytes(64, "big"),
    "n squared": (N * N).to_bytes(64, "big"),
    "beyond n squared": (N * N + 2).to_bytes(64, "big"),
    "all ones": b"\xff" * 64,
    "short": bytes(62) + b"\x01",
    "long": bytes(64) + b"\x01",
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_hostile_ciphertexts_are_rejected_wherever_they_stand(name: str, place: int) -> None:
    raws = [encode_ciphertext(PUBLIC, encrypt(PUBLIC, m, 7)) for m in (0, 1)]
    raws.insert(place, HOSTILE[name])
    with pytest.raises(PeerError) as caught:
        validate_ciphertexts(PUBLIC, raws)
    assert (caught.value.code, str(caught.value)) == (
        ErrorCode.CONTRIBUTION_REJECTED,
        "the contribution is rejected",
    )


@pytest.mark.parametrize("name", ["zero", "n squared", "beyond n squared", "short", "long", "empty"])
def test_decoding_alone_refuses_wrong_lengths_and_ranges(name: str) -> None:
    with pytest.raises(PeerError):
        decode_ciphertext(PUBLIC, HOSTILE[name])


def test_valid_ciphertexts_come_back_as_integers() -> None:
    wanted = [encrypt(PUBLIC, m, 7) for m in range(5)]
    assert validate_ciphertexts(PUBLIC, [encode_ciphertext(PUBLIC, c) for c in wanted]) == wanted
