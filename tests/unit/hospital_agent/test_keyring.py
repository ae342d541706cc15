"""Keys at rest and at work: made once, joined with a bundle that holds, kept for every epoch."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hospital_agent.keyring import Keyring, MeteredCipher
from hospital_agent.keyring import cipher as cipher_module
from shared.crypto import certificates
from shared.crypto.certificates import Role
from shared.errors import InputError, PeerError
from shared.ids import AgentId
from shared.protocol.enrolment import fingerprint, request_fingerprint
from tests.support.cloud_server import agent_bundle, signed_federation
from tests.support.federation import SealedParties
from tests.support.toy_keys import fixed_key
from tests.support.world import SECRET

PARTIES = SealedParties([AgentId(name) for name in ("h1", "h2", "h3")], fixed_key(2048))
ROOT = fingerprint(PARTIES.root)


def folder_of(path: Path, agent: str) -> Path:
    """The keys of a party, as `init` would have made them."""
    (path / "keys").mkdir(mode=0o700)
    (path / "keys" / "identity.pem").write_bytes(PARTIES.identities[agent].to_pem())
    (path / "keys" / "sealing.key").write_text(PARTIES.sealing[agent].hex())
    return path


def bundle_file(path: Path, agent: str = "h1", **changes: object) -> Path:
    file = path / "received.bundle"
    file.write_bytes(agent_bundle(PARTIES, agent, **changes).canonical())
    return file


def test_fresh_keys_are_private_and_make_a_request(tmp_path: Path) -> None:
    ring = Keyring.create(tmp_path / "agent", "h1")
    files = [path for path in (tmp_path / "agent").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    subject = certificates.parse_request((tmp_path / "agent" / "h1.csr").read_bytes())
    assert (subject.id, subject.role, subject.public_key) == ("h1", Role.AGENT, ring.identity.public)
    assert ring.request_fingerprint("h1") == request_fingerprint(subject)
    assert Keyring.open(tmp_path / "agent").identity.public == ring.identity.public


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    Keyring.create(tmp_path / "agent", "h1")
    with pytest.raises(InputError, match="there are keys already"):
        Keyring.create(tmp_path / "agent", "h1")


@pytest.mark.parametrize("agent", ["cloud", "all", "", "H1", "a" * 65])
def test_a_name_that_no_agent_may_have(tmp_path: Path, agent: str) -> None:
    with pytest.raises(InputError, match="--id"):
        Keyring.create(tmp_path / "agent", agent)


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent").chmod(0o755)
    with pytest.raises(InputError, match="chmod 700"):
        Keyring.create(tmp_path / "agent", "h1")


def test_a_bundle_makes_a_member(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    assert not ring.is_member
    spoken = " ".join(ROOT[n : n + 4] for n in range(0, 64, 4)).upper()
    ring.join(bundle_file(tmp_path), spoken, "h1")
    keys = Keyring.open(tmp_path).hospital_keys()
    assert keys.round_keys.secret == SECRET
    assert keys.round_keys.cipher.public == PARTIES.key.public
    assert set(keys.trust.members) == {"cloud", "h1", "h2", "h3"}


def test_the_secrets_of_a_bundle_stay_sealed_at_rest(tmp_path: Path) -> None:
    Keyring.open(folder_of(tmp_path, "h1")).join(bundle_file(tmp_path), ROOT, "h1")
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert f"{int(PARTIES.key.p):x}".encode() not in content
    assert SECRET.hex().encode() not in content


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (None, "needed the first time"),
        ("12 34", "64 hexadecimal digits"),
        ("zz" * 32, "64 hexadecimal digits"),
    ],
)
def test_the_roots_fingerprint_is_typed_by_a_person(tmp_path: Path, typed: str | None, message: str) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    with pytest.raises(InputError, match=message):
        ring.join(bundle_file(tmp_path), typed, "h1")
    assert not Keyring.open(tmp_path).is_member


def test_a_bundle_of_another_root_is_refused(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    with pytest.raises(PeerError, match="root certificate"):
        ring.join(bundle_file(tmp_path), "00" * 32, "h1")


def test_a_bundle_for_another_agent_is_refused(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    with pytest.raises(PeerError, match="another identity key"):
        ring.join(bundle_file(tmp_path, "h2"), ROOT, "h1")
    with pytest.raises(InputError, match="the bundle is for h1, this agent is h9"):
        ring.join(bundle_file(tmp_path), ROOT, "h9")


def test_a_later_bundle_needs_no_fingerprint_but_the_same_root(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    ring.join(bundle_file(tmp_path), ROOT, "h1")
    ring.join(bundle_file(tmp_path, issued=2), None, "h1")
    with pytest.raises(InputError, match="another root"):
        ring.join(bundle_file(tmp_path, issued=3), "00" * 32, "h1")


def test_the_list_of_members_never_goes_back(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    ring.join(bundle_file(tmp_path, issued=5), ROOT, "h1")
    assert ring.renew(signed_federation(PARTIES, issued=6, without=["h3"]))
    assert not ring.renew(signed_federation(PARTIES, issued=6, without=["h3"]))
    assert "h3" not in Keyring.open(tmp_path).hospital_trust().members
    for older in (4, 5):
        with pytest.raises(PeerError, match="older"):
            ring.renew(signed_federation(PARTIES, issued=older))


def test_an_unknown_key_names_the_remedy(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    with pytest.raises(InputError, match="has not joined a federation"):
        ring.hospital_keys()
    ring.join(bundle_file(tmp_path), ROOT, "h1")
    with pytest.raises(InputError, match="Import the newest bundle"):
        ring.hospital_keys("ab" * 32)


@pytest.mark.parametrize("content", ["", "zz", "ab" * 31])
def test_a_damaged_sealing_key_is_named(tmp_path: Path, content: str) -> None:
    folder_of(tmp_path, "h1")
    (tmp_path / "keys" / "sealing.key").write_text(content)
    with pytest.raises(InputError, match=r"sealing\.key: expected 64 hexadecimal digits"):
        Keyring.open(tmp_path)


def test_no_secret_shows(tmp_path: Path) -> None:
    ring = Keyring.open(folder_of(tmp_path, "h1"))
    ring.join(bundle_file(tmp_path), ROOT, "h1")
    shown = repr(ring) + repr(ring.hospital_keys()) + repr(ring.cipher(PARTIES.key.public.key_id))
    for secret in (str(int(PARTIES.key.p)), SECRET.hex(), repr(SECRET), PARTIES.sealing["h1"].hex()):
        assert secret not in shown


def test_the_cipher_meters_what_it_does() -> None:
    cipher = MeteredCipher.create(fixed_key(512))
    assert cipher.decrypt(cipher.encrypt([1, 2, 3])) == [1, 2, 3]
    assert cipher.all_zero([int.from_bytes(raw, "big") for raw in cipher.encrypt([0, 0])])
    assert (cipher.spent.encryptions, cipher.spent.decryptions) == (5, 4)
    assert cipher.spent.encrypt_seconds > 0
    assert cipher.spent.decrypt_cpu_seconds > 0


def test_large_batches_go_to_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cipher_module.os, "cpu_count", lambda: 2)
    cipher = MeteredCipher.create(fixed_key(512))
    cipher.pool_from = 64
    try:
        numbers = list(range(64))
        assert cipher.decrypt(cipher.encrypt(numbers)) == numbers
        assert cipher.processes
        assert cipher.spent.encrypt_cpu_seconds > 0
    finally:
        cipher.close()
    assert not cipher.processes


@pytest.mark.parametrize("content", [b"no JSON", b"{}", b'{"certificate":"of a cloud"}'])
def test_a_file_that_is_no_bundle_is_the_users_slip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(InputError, match=r"other: this is no bundle for a hospital's agent\. Name the file"):
        Keyring.open(folder_of(tmp_path, "h1")).join(tmp_path / "other", ROOT, "h1")
