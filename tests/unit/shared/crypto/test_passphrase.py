from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto import passphrase
from shared.crypto.passphrase import MAGIC, is_protected, protect, unprotect
from shared.errors import InputError


@pytest.fixture(autouse=True, scope="module")
def _cheap_scrypt() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passphrase, "_SCRYPT_N", 2**4)
        yield


@given(st.binary(max_size=200), st.text(min_size=1, max_size=40), st.text(max_size=20))
@settings(max_examples=50, deadline=None)
def test_what_is_protected_opens_again(plaintext: bytes, secret: str, name: str) -> None:
    content = protect(plaintext, secret, name=name)
    assert is_protected(content)
    assert unprotect(content, secret, name=name) == plaintext


def test_salt_and_nonce_are_fresh() -> None:
    assert protect(b"key", "secret", name="file") != protect(b"key", "secret", name="file")


@pytest.mark.parametrize(("secret", "name"), [("other", "file"), ("secret", "file2")])
def test_another_passphrase_or_name_opens_nothing(secret: str, name: str) -> None:
    with pytest.raises(InputError, match="does not open"):
        unprotect(protect(b"key", "secret", name="file"), secret, name=name)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_no_changed_bit_goes_unseen(data: st.DataObject) -> None:
    content = bytearray(protect(b"some key", "secret", name="file"))
    position = data.draw(st.integers(len(MAGIC), len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(InputError):
        unprotect(bytes(content), "secret", name="file")


@pytest.mark.parametrize("length", [0, 10, 27, 28, 40])
def test_a_cut_file_opens_to_nothing(length: int) -> None:
    with pytest.raises(InputError):
        unprotect(protect(b"key", "secret", name="file")[: len(MAGIC) + length], "secret", name="file")


def test_a_plain_file_is_not_taken_for_a_protected_one() -> None:
    assert not is_protected(b"-----BEGIN PRIVATE KEY-----")
    assert not is_protected(b"")


def test_the_key_is_scrypts_of_rfc_7914(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7914 section 12, third vector, first 32 bytes; and the cost that MAGIC's version promises."""
    monkeypatch.setattr(passphrase, "_SCRYPT_N", 16384)
    derived = passphrase._key("pleaseletmein", b"SodiumChloride")
    assert derived.hex() == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
