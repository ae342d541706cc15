from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from shared.crypto import certificates
from shared.crypto.certificates import Certificate, Role, Subject, Validity
from shared.crypto.identity import IdentityKey
from shared.errors import ErrorCode, PeerError
from shared.protocol.enrolment import (
    FEDERATION_CONTEXT,
    check_successor,
    fingerprint,
    keys_of,
    open_cloud_bundle,
    request_fingerprint,
    sign_federation,
    spoken,
    verify_federation,
)
from shared.wire.base import encode_base64url
from shared.wire.enrolment import (
    MAX_FEDERATION_BYTES,
    CloudBundle,
    Federation,
    FederationSecrets,
    Member,
    SignedFederation,
)
from tests.support.members import Party, cloud
from tests.support.toy_keys import fixed_key

ROOT = IdentityKey.from_raw(b"\x07" * 32)
OTHER_ROOT = IdentityKey.from_raw(b"\x08" * 32)
NOW = datetime(2026, 11, 30, tzinfo=UTC)
VALIDITY = Validity(NOW, NOW + timedelta(days=1000))
ROOT_DER = certificates.create_root(ROOT, "Test", VALIDITY, 1)
ROOT_SHA256 = fingerprint(ROOT_DER)

Change = Callable[[Federation], Federation]


def certificate_of(party: Party, root: IdentityKey = ROOT, root_der: bytes = ROOT_DER) -> Certificate:
    der = certificates.issue(root, root_der, certificates.parse_request(party.request), VALIDITY, 2)
    return certificates.read(der)


def member_of(party: Party) -> Member:
    return Member(id=party.id, role=party.role.value, certificate_sha256=certificate_of(party).sha256)


def federation(**changes: object) -> Federation:
    public = fixed_key(2048).public
    plain = Federation(
        name="Test",
        epoch=3,
        key_id=public.key_id,
        n=f"{public.n:x}",
        key_bits=2048,
        root_certificate=encode_base64url(ROOT_DER),
        members=[member_of(cloud()), member_of(Party("h1")), member_of(Party("h2"))],
        issued=1000,
    )
    return plain.model_copy(update=changes)


def secrets(**changes: object) -> FederationSecrets:
    private = fixed_key(2048)
    values = {
        "p": f"{private.p:x}",
        "q": f"{private.q:x}",
        "G": "0f" * 32,
        "key_id": private.public.key_id,
        "epoch": 3,
    }
    return FederationSecrets.model_validate(values).model_copy(update=changes)


def test_a_signed_document_survives_the_wire() -> None:
    raw = sign_federation(ROOT, federation()).canonical()
    document = SignedFederation.parse(raw, what="document", max_bytes=MAX_FEDERATION_BYTES)
    assert verify_federation(document, ROOT_SHA256) == federation()
    assert document.canonical() == raw


def test_the_signature_covers_its_context() -> None:
    bare = SignedFederation(federation=federation(), signature=ROOT.sign(federation().canonical()).hex())
    with pytest.raises(PeerError) as caught:
        verify_federation(bare, ROOT_SHA256)
    assert caught.value.code is ErrorCode.BAD_SIGNATURE
    assert (
        sign_federation(ROOT, federation()).signature
        == ROOT.sign(FEDERATION_CONTEXT + federation().canonical()).hex()
    )


def test_any_changed_field_breaks_the_signature() -> None:
    signed = sign_federation(ROOT, federation())
    for changes in ({"epoch": 4}, {"issued": 1001}, {"name": "Test2"}, {"members": []}):
        forged = signed.model_copy(update={"federation": federation(**changes)})
        with pytest.raises(PeerError, match="does not verify"):
            verify_federation(forged, ROOT_SHA256)


def test_another_root_is_refused() -> None:
    other_der = certificates.create_root(OTHER_ROOT, "Test", VALIDITY, 1)
    document = sign_federation(OTHER_ROOT, federation(root_certificate=encode_base64url(other_der)))
    assert verify_federation(document, fingerprint(other_der)).epoch == 3
    with pytest.raises(PeerError, match="expected fingerprint"):
        verify_federation(document, ROOT_SHA256)


def test_a_leaf_is_no_root() -> None:
    leaf = certificate_of(Party("h1"))
    document = sign_federation(Party("h1").identity, federation(root_certificate=encode_base64url(leaf.der)))
    with pytest.raises(PeerError):
        verify_federation(document, leaf.sha256)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda f: f.model_copy(update={"members": f.members[::-1]}), "ascending order"),
        (lambda f: f.model_copy(update={"members": [f.members[1], f.members[1]]}), "ascending order"),
        (
            lambda f: f.model_copy(update={"members": [f.members[1], _renamed(f.members[1], "h5")]}),
            "same certificate",
        ),
        (lambda f: f.model_copy(update={"members": [_renamed(f.members[0], "h5")]}), "does not fit its role"),
        (
            lambda f: f.model_copy(update={"members": [_renamed(f.members[1], "cloud")]}),
            "does not fit its role",
        ),
        (
            lambda f: f.model_copy(update={"members": [_renamed(f.members[1], "all")]}),
            "does not fit its role",
        ),
        (lambda f: f.model_copy(update={"key_bits": 3072}), "do not belong together"),
        (lambda f: f.model_copy(update={"key_id": "0" * 64}), "do not belong together"),
        (lambda f: f.model_copy(update={"n": f"{fixed_key(2048).public.n + 2:x}"}), "do not belong together"),
        (lambda f: f.model_copy(update={"n": f"{fixed_key(2048).public.n + 1:x}"}), "odd"),
        (lambda f: f.model_copy(update={"n": f"{fixed_key(2048).public.n >> 1:x}"}), "exactly 2048"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(change: Change, reason: str) -> None:
    with pytest.raises(PeerError, match=reason) as caught:
        verify_federation(sign_federation(ROOT, change(federation())), ROOT_SHA256)
    assert caught.value.code is ErrorCode.MALFORMED


def _renamed(member: Member, name: str) -> Member:
    return member.model_copy(update={"id": name})


@pytest.mark.parametrize("changes", [{}, {"issued": 1001}, {"epoch": 4, "key_id": "1" * 64, "issued": 1001}])
def test_a_newer_document_may_follow(changes: dict[str, object]) -> None:
    check_successor(federation(), federation(**changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"issued": 999}, "older"),
        ({"epoch": 2, "issued": 2000}, "older"),
        ({"epoch": 4, "issued": 2000}, "epoch without a new key"),
        ({"key_id": "1" * 64, "issued": 2000}, "without a new epoch"),
        ({"name": "Other"}, "another federation"),
        ({"root_certificate": "AAAA"}, "another federation"),
    ],
)
def test_nothing_older_or_foreign_may_follow(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(PeerError, match=reason):
        check_successor(federation(), federation(**changes))


def test_secrets_belong_to_their_document() -> None:
    keys = keys_of(secrets(), federation())
    assert keys.p * keys.q == fixed_key(2048).public.n
    assert keys.secret == b"\x0f" * 32


@pytest.mark.parametrize(
    "changes", [{"epoch": 2}, {"key_id": "0" * 64}, {"p": "f" * 256}, {"q": f"{fixed_key(3072).q:x}"}]
)
def test_secrets_of_another_document_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(PeerError) as caught:
        keys_of(secrets(**changes), federation())
    assert caught.value.code is ErrorCode.MALFORMED
    assert "f" * 20 not in str(caught.value)


def test_an_agent_cannot_pose_as_the_cloud() -> None:
    agent = Party("h1")
    bundle = CloudBundle(
        certificate=encode_base64url(certificate_of(agent).der),
        federation=sign_federation(ROOT, federation()),
    )
    with pytest.raises(PeerError, match="as cloud"):
        open_cloud_bundle(bundle, ROOT_SHA256, identity_public=agent.identity.public)


def test_a_certificate_that_the_document_does_not_name_is_refused() -> None:
    bundle = CloudBundle(
        certificate=encode_base64url(certificate_of(cloud()).der),
        federation=sign_federation(ROOT, federation(members=[member_of(Party("h1"))])),
    )
    with pytest.raises(PeerError, match="not a present member"):
        open_cloud_bundle(bundle, ROOT_SHA256, identity_public=cloud().identity.public)


def test_the_request_fingerprint_covers_everything_asked_for() -> None:
    asked = certificates.parse_request(Party("h1").request)
    others = [
        Subject(Party("h2").id, asked.role, asked.public_key, asked.second_key),  # type: ignore[arg-type]
        Subject(asked.id, Role.CLOUD, asked.public_key, asked.second_key),
        Subject(asked.id, asked.role, bytes(32), asked.second_key),
        Subject(asked.id, asked.role, asked.public_key, "0" * 64),
    ]
    assert len({request_fingerprint(subject) for subject in [asked, *others]}) == 5


def test_a_fingerprint_is_spoken_in_groups_of_four() -> None:
    assert spoken("0123456789abcdef" * 4) == " ".join(["0123", "4567", "89ab", "cdef"] * 4)
