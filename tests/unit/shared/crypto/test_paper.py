from __future__ import annotations

import pytest
import rsa

from shared.crypto.paillier import decode_ciphertext
from shared.crypto.paper import from_phe, phe_public, to_phe, unwrap_nonce, wrap_nonce
from shared.crypto.wrapping import UnwrappingKey
from shared.errors import ErrorCode, PeerError
from tests.support.toy_keys import t4_key

KEY = t4_key()
NONCE = bytes(range(32))


@pytest.fixture(scope="module")
def key() -> UnwrappingKey:
    return UnwrappingKey.generate()


def test_a_nonce_unwraps_to_itself(key: UnwrappingKey) -> None:
    assert unwrap_nonce(key, wrap_nonce(key.public, NONCE)) == NONCE


def test_every_fault_gives_the_same_code_and_text(key: UnwrappingKey) -> None:
    wrapped = wrap_nonce(key.public, NONCE)
    numbers = key.public.key.public_numbers()
    short = rsa.encrypt(NONCE[:-1], rsa.PublicKey(numbers.n, numbers.e))
    flipped = wrapped[:10] + bytes([wrapped[10] ^ 1]) + wrapped[11:]
    for raw in (flipped, short, b"", b"\x00", wrapped + b"\x00", b"\xff" * 384):
        with pytest.raises(PeerError) as caught:
            unwrap_nonce(key, raw)
        assert caught.value.code is ErrorCode.CONTRIBUTION_REJECTED
        assert str(caught.value) == "the contribution is rejected"


def test_phe_numbers_carry_our_ciphertexts_unchanged() -> None:
    public = phe_public(KEY.public)
    ciphertext = public.raw_encrypt(41, r_value=3)
    raw = from_phe(KEY.public, to_phe(public, ciphertext))
    assert decode_ciphertext(KEY.public, raw) == ciphertext
    assert (
        KEY.decrypt(decode_ciphertext(KEY.public, from_phe(KEY.public, to_phe(public, ciphertext) + 1))) == 42
    )
