from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.crypto import passphrase as container
from shared.errors import InputError
from tests.support.members import Party
from trusted_authority import ceremony, describing, passphrases
from trusted_authority.passphrases import VARIABLE, PassphraseSource
from trusted_authority.vault import Vault

from .conftest import NOW, House

PASSPHRASE = "correct horse battery staple"


@pytest.fixture(autouse=True)
def cheap_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_SCRYPT_N", 2**4)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_files_are_private_and_no_temporary_is_left(full_house: House) -> None:
    folder = full_house.vault.folder
    files = [path for path in folder.rglob("*") if path.is_file()]
    public = {path for path in files if path.suffix in {".crt", ".bundle"} or path.name == "federation.json"}
    assert {mode(path) for path in public} == {0o644}
    assert {path.name for path in set(files) - public} == {"root.key", "0001.secrets", "0001.json"}
    assert {mode(path) for path in set(files) - public} == {0o600}
    assert {mode(path) for path in [folder, *folder.rglob("*")] if path.is_dir()} == {0o700}


def test_a_folder_in_use_is_not_overwritten(house: House) -> None:
    before = (house.vault.folder / "root.key").read_bytes()
    with pytest.raises(InputError, match="nothing is overwritten"):
        ceremony.found(house.vault.folder, name="Other", key_bits=2048, passphrase=None, now=NOW)
    assert (house.vault.folder / "root.key").read_bytes() == before


def test_a_file_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "authority"
    path.write_text("mine")
    with pytest.raises(InputError, match="nothing is overwritten"):
        ceremony.found(path, name="Test", key_bits=2048, passphrase=None, now=NOW)
    assert path.read_text() == "mine"


def test_an_interrupted_founding_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "authority"
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "write_document", _power_cut)
        with pytest.raises(OSError, match="power"):
            ceremony.found(folder, name="Test", key_bits=2048, passphrase=None, now=NOW)
    assert not folder.exists()
    vault, _ = ceremony.found(folder, name="Test", key_bits=2048, passphrase=None, now=NOW)
    assert Vault.open(vault.folder).federation().name == "Test"
    assert [path.name for path in tmp_path.iterdir()] == ["authority"]


def test_a_folder_that_others_may_enter_is_refused(house: House) -> None:
    house.vault.folder.chmod(0o755)
    with pytest.raises(InputError, match="chmod 700"):
        Vault.open(house.vault.folder)


def test_a_folder_without_a_federation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no federation in this folder"):
        Vault.open(tmp_path)


@pytest.mark.parametrize(
    "name", ["federation.json", "root.crt", "root.key", "epochs/0001.secrets", "epochs/0001.json"]
)
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff" * 40, None])
def test_a_damaged_file_is_named(full_house: House, name: str, damage: bytes | None) -> None:
    path = full_house.vault.folder / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(InputError) as caught:
        full_house.certify(Party("h4"))
    assert caught.value.where.endswith(name)
    assert caught.value.remedy


def test_a_changed_document_is_refused(full_house: House) -> None:
    path = full_house.vault.folder / "federation.json"
    path.write_bytes(path.read_bytes().replace(b'"epoch":1', b'"epoch":2'))
    with pytest.raises(InputError, match="does not verify"):
        full_house.vault.federation()


def test_a_root_key_of_another_federation_is_refused(house: House) -> None:
    (house.vault.folder / "root.key").write_bytes(Party("h1").identity.to_pem())
    with pytest.raises(InputError, match=r"does not belong to root\.crt"):
        house.vault.root_key()


def test_a_passphrase_covers_every_private_file(
    found: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = found(PASSPHRASE)
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    secrets = house.vault.secrets(1)
    house.certify(Party("h1"))
    ceremony.rotate(house.vault, key_bits=3072, out=house.vault.out, now=NOW)
    for name in ("root.key", "epochs/0001.secrets", "epochs/0002.secrets"):
        content = (house.vault.folder / name).read_bytes()
        assert container.is_protected(content)
        assert secrets.p.encode() not in content
        assert b"PRIVATE KEY" not in content
    assert "passphrase" not in " ".join(describing.warnings_of(house.vault, house.vault.federation(), NOW))


def test_without_a_passphrase_show_says_so(house: House) -> None:
    assert "not under a passphrase" in " ".join(
        describing.warnings_of(house.vault, house.vault.federation(), NOW)
    )


def test_another_passphrase_opens_nothing(
    found: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = found(PASSPHRASE)
    monkeypatch.setenv(VARIABLE, PASSPHRASE + "!")
    with pytest.raises(InputError, match="does not open this file"):
        house.certify(Party("h1"))


def test_one_protected_file_cannot_stand_in_for_another(
    found: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = found(PASSPHRASE)
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    folder = house.vault.folder
    (folder / "root.key").write_bytes((folder / "epochs" / "0001.secrets").read_bytes())
    with pytest.raises(InputError, match="does not open this file"):
        house.vault.root_key()


def test_without_a_terminal_the_variable_is_named(
    found: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = found(PASSPHRASE)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(InputError, match=VARIABLE):
        house.vault.root_key()


def test_the_passphrase_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def prompt(question: str, **_: object) -> str:
        asked.append(question)
        return PASSPHRASE

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    source = PassphraseSource()
    assert [source.get(), source.get()] == [PASSPHRASE, PASSPHRASE]
    assert len(asked) == 1
    assert PASSPHRASE not in repr(source)


def test_a_short_passphrase_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "short")
    with pytest.raises(InputError, match="fewer than 12"):
        passphrases.choose(asked_for=False)


def test_no_passphrase_is_chosen_unasked() -> None:
    assert passphrases.choose(asked_for=False) is None


def _power_cut(*_: object) -> None:
    raise OSError("power cut")
