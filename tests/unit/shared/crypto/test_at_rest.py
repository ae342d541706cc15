"""Files at rest: what opens, what does not, and what counts as a key."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.crypto.at_rest import (
    AtRest,
    OuterSecret,
    is_sealed,
    lock,
    new_data_key,
    parse_secret,
    unlock,
)
from shared.errors import InputError

KEY = bytes(range(200, 232))
DATA = AtRest(bytes(32))


@given(st.binary(max_size=300), st.text(max_size=20))
def test_what_is_sealed_opens_under_its_name(content: bytes, name: str) -> None:
    sealed = DATA.seal(content, name=name)
    assert is_sealed(sealed)
    assert DATA.open(sealed, name=name) == content


def test_nothing_else_opens() -> None:
    sealed = DATA.seal(b"a key", name="keys/identity.pem")
    for content, name, data in (
        (sealed, "keys/sealing.key", DATA),
        (sealed, "keys/identity.pem", AtRest(bytes([1]) * 32)),
        (sealed[:-1], "keys/identity.pem", DATA),
        (sealed[:20], "keys/identity.pem", DATA),
        (sealed[:-1] + bytes([sealed[-1] ^ 1]), "keys/identity.pem", DATA),
    ):
        with pytest.raises(InputError, match="changed, or belongs to another"):
            data.open(content, name=name)


def test_the_same_content_is_sealed_differently_each_time() -> None:
    assert DATA.seal(b"same", name="n") != DATA.seal(b"same", name="n")
    assert not is_sealed(b"-----BEGIN PRIVATE KEY-----")


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        KEY.hex().encode() + b"\n",
        KEY.hex().upper().encode(),
        base64.b64encode(KEY) + b"\n",
        base64.urlsafe_b64encode(KEY).rstrip(b"="),
    ],
)
def test_a_key_is_32_bytes_in_any_common_form(content: bytes) -> None:
    assert parse_secret(content, where="f") == OuterSecret("key", KEY)


def test_one_long_line_is_a_passphrase_and_all_else_is_refused() -> None:
    assert parse_secret(b"five words that nobody guesses\n", where="f").kind == "passphrase"
    assert parse_secret(b"32 characters, all of them typed", where="f").kind == "passphrase"
    for content in (b"", b"short", b"two lines that are\nlong enough", KEY[:31], KEY + KEY, b"\xff" * 40):
        with pytest.raises(InputError, match="32 bytes"):
            parse_secret(content, where="f")


def test_a_folder_opens_by_the_secret_that_locked_it() -> None:
    data = new_data_key()
    for secret in (OuterSecret("key", KEY), OuterSecret("passphrase", b"five words that nobody guesses")):
        document = lock(data, secret)
        assert unlock(document, secret, where="f") == data
        assert data.key.hex().encode() not in document
        with pytest.raises(InputError, match="does not open this folder"):
            unlock(document, OuterSecret(secret.kind, b"other" * 6), where="f")
    with pytest.raises(InputError, match="under a passphrase, and a key was given"):
        unlock(document, OuterSecret("key", KEY), where="f")
    for damaged in (
        b"",
        b"{}",
        document[:40],
        document.replace(b"privet-protection-1", b"privet-protection-2"),
    ):
        with pytest.raises(InputError, match="no document"):
            unlock(damaged, secret, where="f")


def test_no_secret_is_shown() -> None:
    assert KEY.hex() not in repr(OuterSecret("key", KEY))
    assert "\\x" not in repr(AtRest(KEY))
