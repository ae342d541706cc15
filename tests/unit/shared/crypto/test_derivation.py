from __future__ import annotations

import hashlib
import hmac

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from shared.crypto.derivation import block_bytes, expand, expand_blocks, hk, hmac_sha256, lp
from shared.errors import InternalError


def test_hk_is_rfc_5869_with_the_manifest_hash_as_salt() -> None:
    salt, key, info = b"\x01" * 32, b"key", b"info"
    extracted = hmac.digest(salt, key, "sha256")
    assert hk(key, info, mh=salt) == hmac.digest(extracted, info + b"\x01", "sha256")


def test_hmac_sha256_agrees_with_the_standard_library() -> None:
    assert hmac_sha256(b"k" * 32, b"message") == hmac.digest(b"k" * 32, b"message", "sha256")


@given(st.lists(st.text(max_size=6), max_size=4), st.lists(st.text(max_size=6), max_size=4))
def test_prefixed_names_join_differently_when_they_differ(left: list[str], right: list[str]) -> None:
    joined = [b"".join(map(lp, names)) for names in (left, right)]
    assert (joined[0] == joined[1]) == (left == right)


def test_lp_refuses_what_its_length_field_cannot_say() -> None:
    with pytest.raises(InternalError):
        lp("x" * 65536)


@pytest.mark.parametrize(("bits", "width"), [(256, 48), (2048, 272), (3072, 400), (4096, 528)])
def test_a_block_has_128_bits_more_than_the_modulus(bits: int, width: int) -> None:
    assert block_bytes(bits) == width


@given(st.integers(min_value=2**255, max_value=2**256 - 1), st.integers(min_value=0, max_value=40))
def test_expand_reduces_the_aes_key_stream(modulus: int, count: int) -> None:
    key = hashlib.sha256(modulus.to_bytes(32, "big")).digest()
    stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(48 * count))
    blocks = [int.from_bytes(stream[48 * i : 48 * i + 48], "big") for i in range(count)]
    assert expand_blocks(key, count, 256) == blocks
    assert expand(key, count, modulus) == [block % modulus for block in blocks]


def test_a_longer_expansion_starts_with_the_shorter_one() -> None:
    modulus = 2**255 + 95
    assert expand(b"k" * 32, 9, modulus)[:4] == expand(b"k" * 32, 4, modulus)
