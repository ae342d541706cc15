from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from shared.crypto import certificates as c
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, InternalError, PeerError
from shared.ids import CLOUD, AgentId

ROOT = IdentityKey.from_raw(b"\x01" * 32)
AGENT = IdentityKey.from_raw(b"\x02" * 32)
VALIDITY = c.Validity(datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC))
ROOT_DER = c.create_root(ROOT, "Test federation", VALIDITY, 1)
HEX = "ab" * 32


def request(party: str = "h1", role: c.Role = c.Role.AGENT, second_key: str = HEX) -> bytes:
    return c.create_request(AGENT, AgentId(party), role, second_key)


def issued(party: str = "h1", role: c.Role = c.Role.AGENT) -> bytes:
    return c.issue(ROOT, ROOT_DER, c.parse_request(request(party, role)), VALIDITY, 2)


def code_of(call: object) -> ErrorCode:
    with pytest.raises(PeerError) as caught:
        call()  # type: ignore[operator]
    return caught.value.code


def test_a_request_becomes_a_certificate_with_the_same_names() -> None:
    der = issued()
    certificate = c.verify(der, ROOT_DER)
    assert (certificate.id, certificate.role, certificate.public_key) == ("h1", "agent", AGENT.public)
    assert certificate.x25519 == bytes.fromhex(HEX)
    assert certificate.sha256 == hashlib.sha256(der).hexdigest()
    assert certificate.validity == VALIDITY
    assert c.read(der) == certificate


def test_the_clouds_certificate_names_its_rsa_key() -> None:
    certificate = c.verify(issued("cloud", c.Role.CLOUD), ROOT_DER)
    assert (certificate.id, certificate.rsa_sha256) == (CLOUD, HEX)
    with pytest.raises(InternalError):
        _ = certificate.x25519


def test_pem_and_der_are_the_same_certificate() -> None:
    der = issued()
    assert c.from_pem(c.to_pem(der)) == der
    assert code_of(lambda: c.from_pem(b"nothing")) is ErrorCode.MALFORMED


def test_the_root_key_is_read_from_a_self_signed_authority_only() -> None:
    assert c.root_public_key(ROOT_DER) == ROOT.public
    assert code_of(lambda: c.root_public_key(issued())) is ErrorCode.MALFORMED
    assert code_of(lambda: c.root_public_key(b"nothing")) is ErrorCode.MALFORMED


def test_a_root_that_did_not_sign_itself_is_refused() -> None:
    changed = ROOT_DER[:-1] + bytes([ROOT_DER[-1] ^ 1])
    assert code_of(lambda: c.root_public_key(changed)) is ErrorCode.BAD_SIGNATURE


def test_another_root_of_the_same_name_does_not_verify() -> None:
    other = c.create_root(IdentityKey.from_raw(b"\x03" * 32), "Test federation", VALIDITY, 1)
    assert code_of(lambda: c.verify(issued(), other)) is ErrorCode.BAD_SIGNATURE


def test_a_changed_certificate_does_not_verify() -> None:
    der = issued()
    changed = der[:-1] + bytes([der[-1] ^ 1])
    assert code_of(lambda: c.verify(changed, ROOT_DER)) is ErrorCode.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("party", "role"),
    [
        ("H1", c.Role.AGENT),
        ("cloud", c.Role.AGENT),
        ("all", c.Role.AGENT),
        ("h1", c.Role.CLOUD),
        ("a b", c.Role.AGENT),
    ],
)
def test_names_follow_the_rules(party: str, role: c.Role) -> None:
    assert code_of(lambda: c.parse_request(request(party, role))) is ErrorCode.MALFORMED


@pytest.mark.parametrize("second_key", ["", "AB" * 32, "ab" * 31, "ab" * 33])
def test_the_second_key_has_64_lower_case_digits(second_key: str) -> None:
    assert code_of(lambda: c.parse_request(request(second_key=second_key))) is ErrorCode.MALFORMED


def test_a_request_with_a_broken_self_signature_is_refused() -> None:
    der = bytearray(x509.load_pem_x509_csr(request()).public_bytes(Encoding.DER))
    der[-1] ^= 1
    pem = x509.load_der_x509_csr(bytes(der)).public_bytes(Encoding.PEM)
    assert code_of(lambda: c.parse_request(pem)) is ErrorCode.BAD_SIGNATURE


def test_requests_of_other_kinds_are_malformed() -> None:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "h1")])
    bare = x509.CertificateSigningRequestBuilder(name).sign(AGENT.key, None).public_bytes(Encoding.PEM)
    uris = [f"urn:privet:role:{role}" for role in ("agent", "cloud")] + [f"urn:privet:x25519:{HEX}"]
    san = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])
    three = x509.CertificateSigningRequestBuilder(name).add_extension(san, critical=True)
    two_names = x509.CertificateSigningRequestBuilder(x509.Name([*name, *name]))
    pair = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris[::2]])
    curve = x509.CertificateSigningRequestBuilder(name).add_extension(pair, critical=True)
    others = [
        three.sign(AGENT.key, None).public_bytes(Encoding.PEM),
        two_names.add_extension(pair, critical=True).sign(AGENT.key, None).public_bytes(Encoding.PEM),
        curve.sign(ec.generate_private_key(ec.SECP256R1()), SHA256()).public_bytes(Encoding.PEM),
    ]
    for pem in [bare, b"nothing", *others]:
        assert code_of(lambda pem=pem: c.parse_request(pem)) is ErrorCode.MALFORMED


def test_a_party_is_no_authority() -> None:
    subject = c.parse_request(request())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "h1")])
    builder = x509.CertificateBuilder(
        x509.load_der_x509_certificate(ROOT_DER).subject,
        name,
        AGENT.key.public_key(),
        3,
        VALIDITY.not_before,
        VALIDITY.not_after,
    )
    uris = ["urn:privet:role:agent", f"urn:privet:x25519:{subject.second_key}"]
    san = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])
    named = builder.add_extension(san, critical=False)
    without = named.sign(ROOT.key, None).public_bytes(Encoding.DER)
    authority = named.add_extension(x509.BasicConstraints(True, None), critical=True).sign(ROOT.key, None)
    assert code_of(lambda: c.verify(without, ROOT_DER)) is ErrorCode.MALFORMED
    assert code_of(lambda: c.verify(authority.public_bytes(Encoding.DER), ROOT_DER)) is ErrorCode.MALFORMED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\x06\x03\x2b\x65\x70", b"\x06\x03\x2b\x65\x01"),
        (b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x01"),
    ],
    ids=["algorithm", "version"],
)
def test_a_certificate_of_an_unknown_kind_is_malformed(before: bytes, after: bytes) -> None:
    """What a stranger may show the cloud, and a cloud its hospitals."""
    changed = issued().replace(before, after)
    assert changed != issued()
    assert code_of(lambda: c.verify(changed, ROOT_DER)) is ErrorCode.MALFORMED
