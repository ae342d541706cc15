from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from shared.crypto.identity import IdentityKey
from shared.crypto.wrapping import WRAPPED_BYTES, UnwrappingKey, WrappingKey
from shared.errors import ErrorCode, InputError, PeerError

SEED = bytes(range(32))


@pytest.fixture(scope="module")
def key() -> UnwrappingKey:
    return UnwrappingKey.generate()


def test_a_wrapped_seed_unwraps_under_its_label(key: UnwrappingKey) -> None:
    wrapped = key.public.wrap(SEED, b"label")
    assert len(wrapped) == WRAPPED_BYTES
    assert key.unwrap(wrapped, b"label") == SEED


def test_every_fault_gives_the_same_code_and_text(key: UnwrappingKey) -> None:
    wrapped = key.public.wrap(SEED, b"label")
    flipped = bytes([wrapped[0], wrapped[1] ^ 1]) + wrapped[2:]
    faults = [
        (wrapped, b"other"),
        (flipped, b"label"),
        (wrapped[:-1], b"label"),
        (b"", b"label"),
        (b"\xff" * WRAPPED_BYTES, b"label"),
        (key.public.wrap(SEED[:-1], b"label"), b"label"),
    ]
    texts = set()
    for raw, label in faults:
        with pytest.raises(PeerError) as caught:
            key.unwrap(raw, label)
        assert caught.value.code is ErrorCode.CONTRIBUTION_REJECTED
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        texts.add(str(caught.value))
    assert texts == {"the contribution is rejected"}


def test_forms_keep_the_key_and_the_fingerprint_is_of_the_spki(key: UnwrappingKey) -> None:
    public = key.public
    assert UnwrappingKey.from_pem(key.to_pem()).public.to_der() == public.to_der()
    assert WrappingKey.from_pem(public.to_pem()).fingerprint == public.fingerprint
    assert WrappingKey.from_der(public.to_der()).fingerprint == hashlib.sha256(public.to_der()).hexdigest()


def test_other_keys_are_refused_with_the_files_name() -> None:
    small = rsa.generate_private_key(65537, 2048)
    pems = [
        small.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        IdentityKey.generate().to_pem(),
    ]
    for pem in [*pems, b"nothing"]:
        with pytest.raises(InputError, match=r"cloud\.pem.*3072 bits"):
            UnwrappingKey.from_pem(pem, where="cloud.pem")
    spki = small.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for der in (spki, b"nothing"):
        with pytest.raises(InputError, match="3072 bits"):
            WrappingKey.from_der(der)
    with pytest.raises(InputError, match="3072 bits"):
        WrappingKey.from_pem(b"nothing")


def test_an_unusual_exponent_is_refused() -> None:
    other = rsa.generate_private_key(3, 3072).public_key()
    with pytest.raises(InputError, match="exponent 65537"):
        WrappingKey.from_der(other.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def test_repr_shows_no_key(key: UnwrappingKey) -> None:
    assert (repr(key), repr(key.public)) == ("UnwrappingKey()", "WrappingKey()")
