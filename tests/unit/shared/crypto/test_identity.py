from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from shared.crypto.identity import IdentityKey, verify
from shared.errors import ErrorCode, InputError, PeerError

# RFC 8032, section 7.1, test 1.
SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
SIGNATURE = bytes.fromhex(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
    "d25bf5f0595bbe24655141438e7a100b"
)


def test_rfc_8032_vector() -> None:
    key = IdentityKey.from_raw(SECRET)
    assert key.public == PUBLIC
    assert key.sign(b"") == SIGNATURE
    verify(PUBLIC, SIGNATURE, b"")


@pytest.mark.parametrize(
    ("public", "signature", "message"),
    [
        (PUBLIC, SIGNATURE, b"x"),
        (PUBLIC, SIGNATURE[:-1] + bytes([SIGNATURE[-1] ^ 1]), b""),
        (PUBLIC, SIGNATURE[:-1], b""),
        (PUBLIC[:-1], SIGNATURE, b""),
        (IdentityKey.from_raw(b"\x01" * 32).public, SIGNATURE, b""),
    ],
)
def test_a_wrong_signature_raises(public: bytes, signature: bytes, message: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        verify(public, signature, message)
    assert caught.value.code is ErrorCode.BAD_SIGNATURE


def test_pem_and_raw_keep_the_key() -> None:
    key = IdentityKey.generate()
    assert IdentityKey.from_pem(key.to_pem()).public == key.public
    assert IdentityKey.from_raw(key.to_raw()).public == key.public


def test_repr_shows_no_key() -> None:
    assert repr(IdentityKey.generate()) == "IdentityKey()"


def test_wrong_files_name_the_file_and_the_remedy() -> None:
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    unknown = (
        IdentityKey.from_raw(bytes(32)).to_pem().replace(b"K2Vw", b"K2V7")
    )  # of 1.3.101.123, which is nothing
    for pem in (b"", b"not a key", other, unknown):
        with pytest.raises(InputError, match=r"agent\.pem.*init command"):
            IdentityKey.from_pem(pem, where="agent.pem")
    with pytest.raises(InputError, match="32 bytes"):
        IdentityKey.from_raw(b"short")
