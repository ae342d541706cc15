from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

import pytest

from shared.crypto.certificates import Role
from shared.crypto.paillier_private import PrivateKey
from shared.errors import ErrorCode, InputError, PeerError
from shared.protocol.enrolment import (
    Enrolment,
    FederationKeys,
    check_successor,
    open_bundle,
    open_cloud_bundle,
    trust_of,
)
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.enrolment import AgentBundle
from tests.support.members import Party, cloud
from tests.support.toy_keys import fixed_key
from trusted_authority import ceremony, describing
from trusted_authority.bundles import former_holders, write_bundles
from trusted_authority.requests import read_requests

from .conftest import NOW, House


def opened(house: House, party: Party) -> tuple[Enrolment, FederationKeys]:
    return open_bundle(
        house.agent_bundle(party.id),
        house.root_sha256,
        identity_public=party.identity.public,
        sealing_private=party.sealing_private,
    )


def spellings(number: int, length: int) -> Iterable[bytes]:
    """The ways a secret could stand in a file: digits, raw bytes, base64url at each of three offsets."""
    raw = number.to_bytes(length, "big")
    yield f"{number:x}".encode()
    yield str(number).encode()
    yield raw
    for offset in range(3):
        # A base64 text of bytes that stand inside a longer array begins at one of three phases.
        yield encode_base64url(raw[offset:])[:40].encode()


def secrets_in(content: bytes, house: House) -> list[str]:
    """Which of p, q and G stand in `content` in any spelling."""
    private, secrets = fixed_key(2048), house.vault.secrets(1)
    values = {"p": (private.p, 128), "q": (private.q, 128), "G": (int(secrets.g, 16), 32)}
    return [
        name
        for name, (number, length) in values.items()
        if any(spelling in content for spelling in spellings(number, length))
    ]


def test_every_agent_opens_its_bundle_to_the_same_keys(full_house: House, agents: Sequence[Party]) -> None:
    results = [opened(full_house, agent) for agent in agents]
    for (enrolment, keys), agent in zip(results, agents, strict=True):
        assert enrolment.certificate.id == agent.id
        assert PrivateKey.create(keys.p, keys.q).public.key_id == enrolment.federation.key_id
        assert keys == results[0][1]
        assert len(keys.secret) == 32
    assert [member.id for member in results[0][0].federation.members] == ["cloud", "h1", "h2", "h3"]


def test_the_cloud_opens_its_bundle(full_house: House) -> None:
    enrolment = open_cloud_bundle(
        full_house.cloud_bundle(), full_house.root_sha256, identity_public=cloud().identity.public
    )
    assert enrolment.certificate.role is Role.CLOUD
    assert enrolment.federation.n == f"{fixed_key(2048).public.n:x}"


def test_nothing_handed_out_shows_p_q_or_g(full_house: House) -> None:
    for path in full_house.vault.out.iterdir():
        assert secrets_in(path.read_bytes(), full_house) == [], path.name


def test_the_scan_for_p_q_and_g_finds_them_where_they_are(full_house: House) -> None:
    vault = full_house.vault
    assert secrets_in((vault.folder / "epochs" / "0001.secrets").read_bytes(), full_house) == ["p", "q", "G"]
    private = fixed_key(2048)
    array = b"12345" + private.p.to_bytes(128, "big") + private.q.to_bytes(128, "big")
    assert secrets_in(encode_base64url(array).encode(), full_house) == ["p", "q"]


def test_the_cloud_bundle_has_no_field_for_a_secret(full_house: House) -> None:
    bundle = full_house.cloud_bundle()
    assert set(bundle.model_dump()) == {"v", "kind", "certificate", "federation"}
    assert set(bundle.federation.federation.model_dump()) == {
        "v", "name", "epoch", "key_id", "n", "key_bits", "root_certificate", "members", "issued",
    }  # fmt: skip


def test_reprs_show_no_secret(full_house: House, agents: Sequence[Party]) -> None:
    _, keys = opened(full_house, agents[0])
    shown = repr(keys) + repr(full_house.vault.secrets(1)) + repr(full_house.vault)
    assert secrets_in(shown.encode(), full_house) == []
    assert repr(keys.secret) not in shown


def test_another_agents_keys_open_nothing(full_house: House, agents: Sequence[Party]) -> None:
    bundle, (own, other, _) = full_house.agent_bundle("h1"), agents
    with pytest.raises(PeerError, match="does not open"):
        open_bundle(
            bundle,
            full_house.root_sha256,
            identity_public=own.identity.public,
            sealing_private=other.sealing_private,
        )
    with pytest.raises(PeerError, match="another identity key"):
        open_bundle(
            bundle,
            full_house.root_sha256,
            identity_public=other.identity.public,
            sealing_private=own.sealing_private,
        )


def test_a_bundle_of_another_root_is_refused(full_house: House, agents: Sequence[Party]) -> None:
    with pytest.raises(PeerError, match="expected fingerprint") as caught:
        open_bundle(
            full_house.agent_bundle("h1"),
            "0" * 64,
            identity_public=agents[0].identity.public,
            sealing_private=agents[0].sealing_private,
        )
    assert caught.value.code is ErrorCode.BAD_SIGNATURE


@pytest.mark.parametrize("part", ["sealed", "certificate", "id", "epoch", "signature"])
def test_a_changed_bundle_is_refused(full_house: House, agents: Sequence[Party], part: str) -> None:
    bundle, other = full_house.agent_bundle("h1"), full_house.agent_bundle("h2")
    changes: dict[str, object] = {
        "sealed": other.bundle.sealed,
        "certificate": other.bundle.certificate,
        "id": "h2",
        "epoch": 2,
    }
    if part == "signature":
        forged = AgentBundle(bundle=bundle.bundle, signature=other.signature)
    else:
        body = bundle.bundle.model_copy(update={part: changes[part]})
        forged = AgentBundle(bundle=body, signature=bundle.signature)
    with pytest.raises(PeerError) as caught:
        open_bundle(
            forged,
            full_house.root_sha256,
            identity_public=agents[0].identity.public,
            sealing_private=agents[0].sealing_private,
        )
    assert caught.value.code is ErrorCode.BAD_SIGNATURE


def test_a_member_that_comes_later_refreshes_the_clouds_bundle(full_house: House) -> None:
    before = full_house.vault.federation()
    written = full_house.certify(Party("h4"))
    assert sorted(written.bundles) == ["cloud", "h4"]
    offered = full_house.cloud_bundle().federation.federation
    assert offered.member("h4") is not None
    check_successor(before, offered)
    with pytest.raises(PeerError, match="older"):
        check_successor(offered, before)


def test_the_same_request_again_renews_the_certificate(full_house: House, agents: Sequence[Party]) -> None:
    before = full_house.vault.federation().member("h1")
    full_house.certify(agents[0], now=NOW + timedelta(days=700))
    after = full_house.vault.federation().member("h1")
    assert before is not None
    assert after is not None
    assert after.certificate_sha256 != before.certificate_sha256
    assert opened(full_house, agents[0])[0].certificate.sha256 == after.certificate_sha256


def test_new_keys_for_a_member_need_replace(full_house: House) -> None:
    renewed = Party("h1", generation=2)
    with pytest.raises(InputError, match="--replace"):
        full_house.certify(renewed)
    full_house.certify(renewed, replace=True)
    assert opened(full_house, renewed)[0].certificate.public_key == renewed.identity.public
    with pytest.raises(PeerError):
        opened(full_house, Party("h1"))


def test_a_key_is_certified_for_one_id_only(full_house: House, agents: Sequence[Party]) -> None:
    twin = Party("h4")
    object.__setattr__(twin, "identity", agents[0].identity)
    with pytest.raises(InputError, match="already certified for h1"):
        full_house.certify(twin)


def test_two_requests_for_one_id_are_refused(house: House) -> None:
    path = Party("h1").write_request(house.desk)
    with pytest.raises(InputError, match="same id"):
        read_requests(house.vault, [path, path], replace=False)


def test_files_that_are_no_requests_are_refused_by_name(house: House) -> None:
    path = house.desk / "h1.csr"
    with pytest.raises(InputError, match=r"h1\.csr"):
        read_requests(house.vault, [path], replace=False)
    path.write_bytes(b"x" * 20_000)
    with pytest.raises(InputError, match="longer than"):
        read_requests(house.vault, [path], replace=False)
    path.write_bytes(b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n")
    with pytest.raises(InputError, match="send its request again"):
        read_requests(house.vault, [path], replace=False)


def test_a_request_signed_by_another_key_is_refused(house: House) -> None:
    own, other = Party("h1").request, Party("h1", generation=2).request
    der_own, der_other = _der(own), _der(other)
    # The signature of an Ed25519 request is its last 64 bytes.
    path = house.desk / "h1.csr"
    path.write_bytes(_pem(der_own[:-64] + der_other[-64:]))
    with pytest.raises(InputError, match="not self-signed"):
        read_requests(house.vault, [path], replace=False)


def test_a_removed_agent_is_in_no_document_and_asks_for_rotation(full_house: House) -> None:
    vault = full_house.vault
    before = vault.federation()
    certificate = vault.certificate(before.members[2])
    assert certificate.id == "h2"
    ceremony.remove(vault, "h2", out=vault.out, now=NOW)
    after = vault.federation()
    assert after.member("h2") is None
    assert after.issued > before.issued
    assert not (vault.out / "h2.bundle").exists()
    assert former_holders(vault, after) == ["h2"]
    assert trust_of(before).certificate(certificate.der, role=Role.AGENT).id == "h2"
    with pytest.raises(PeerError, match="not a present member"):
        trust_of(after).certificate(certificate.der, role=Role.AGENT)


def test_certifying_again_takes_a_removal_back(full_house: House, agents: Sequence[Party]) -> None:
    vault = full_house.vault
    ceremony.remove(vault, "h2", out=vault.out, now=NOW)
    full_house.certify(agents[1])
    assert former_holders(vault, vault.federation()) == []
    assert opened(full_house, agents[1])[1].epoch == 1


def test_removing_the_cloud_needs_no_rotation(full_house: House) -> None:
    vault = full_house.vault
    written = ceremony.remove(vault, "cloud", out=vault.out, now=NOW)
    assert written.bundles == {}
    assert former_holders(vault, written.federation) == []


def test_removing_a_stranger_is_refused(full_house: House) -> None:
    with pytest.raises(InputError, match="no member of that id"):
        ceremony.remove(full_house.vault, "h9", out=full_house.vault.out, now=NOW)


def test_rotation_gives_every_remaining_member_the_new_keys(
    full_house: House, agents: Sequence[Party]
) -> None:
    vault = full_house.vault
    old_federation, old_keys = vault.federation(), opened(full_house, agents[0])[1]
    ceremony.remove(vault, "h2", out=vault.out, now=NOW)
    written = ceremony.rotate(vault, key_bits=3072, out=vault.out, now=NOW)
    assert sorted(written.bundles) == ["cloud", "h1", "h3"]
    enrolment, keys = opened(full_house, agents[0])
    assert (keys.epoch, keys.p) == (2, fixed_key(3072).p)
    assert keys.secret != old_keys.secret
    assert enrolment.federation.key_bits == 3072
    check_successor(old_federation, enrolment.federation)
    with pytest.raises(PeerError, match="older"):
        check_successor(enrolment.federation, old_federation)
    assert former_holders(vault, written.federation) == []


def test_old_private_keys_stay_readable(full_house: House) -> None:
    vault = full_house.vault
    before = vault.secrets(1)
    ceremony.rotate(vault, key_bits=3072, out=vault.out, now=NOW)
    assert vault.secrets(1) == before
    assert vault.secrets(2).key_id != before.key_id


def test_an_interrupted_rotation_leaves_the_old_epoch(
    full_house: House, agents: Sequence[Party], monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = full_house.vault
    with monkeypatch.context() as patch:
        patch.setattr(type(vault), "write_document", _power_cut)
        with pytest.raises(OSError, match="power"):
            ceremony.rotate(vault, key_bits=3072, out=vault.out, now=NOW)
    assert vault.federation().epoch == 1
    write_bundles(vault, ["h1"], out=vault.out)
    assert opened(full_house, agents[0])[1].epoch == 1
    ceremony.rotate(vault, key_bits=3072, out=vault.out, now=NOW)
    assert opened(full_house, agents[0])[1].epoch == 2


def test_lost_bundles_are_written_again(full_house: House, agents: Sequence[Party]) -> None:
    vault = full_house.vault
    (vault.out / "h1.bundle").unlink()
    write_bundles(vault, ["h1"], out=vault.out)
    assert opened(full_house, agents[0])[1].epoch == 1


def test_secrets_of_another_key_are_not_handed_out(full_house: House) -> None:
    vault = full_house.vault
    swapped = vault.secrets(1).model_copy(update={"p": f"{fixed_key(3072).p:x}"})
    vault.write_secrets(swapped, None)
    with pytest.raises(InputError, match=r"0001\.secrets.*factors"):
        write_bundles(vault, ["h1"], out=vault.out)


def test_warnings_name_what_is_due(full_house: House) -> None:
    vault = full_house.vault

    def warnings(days: int) -> str:
        return " ".join(describing.warnings_of(vault, vault.federation(), NOW + timedelta(days=days)))

    assert "year" not in warnings(365)
    assert "more than a year old" in warnings(366)
    assert "Certificates end" not in warnings(600)
    assert "Certificates end within 60 days: cloud, h1, h2, h3" in warnings(700)
    ceremony.remove(vault, "h3", out=vault.out, now=NOW)
    assert "h3 left and still holds the current key" in warnings(0)
    assert "at least 3 agents; certified so far: 2" in warnings(0)


def _power_cut(*_: object) -> None:
    raise OSError("power cut")


def _der(pem: bytes) -> bytes:
    lines = pem.decode().strip().splitlines()[1:-1]
    text = "".join(lines).rstrip("=").replace("+", "-").replace("/", "_")
    return decode_base64url(text, what="request")


def _pem(der: bytes) -> bytes:
    text = encode_base64url(der).replace("-", "+").replace("_", "/")
    text += "=" * (-len(text) % 4)
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(
        ["-----BEGIN CERTIFICATE REQUEST-----", *lines, "-----END CERTIFICATE REQUEST-----", ""]
    ).encode()
