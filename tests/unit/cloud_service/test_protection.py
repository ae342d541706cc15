"""The cloud's private keys encrypted at rest: made so, turned so, changed, turned back, and found with nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloud_service.protection import KEY_FILE, PROTECTION_FILE
from cloud_service.service import folder as folders
from privet.__main__ import run
from shared.errors import InputError


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


def plain_keys(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.pem") if b"PRIVATE KEY" in path.read_bytes())


def test_keys_are_made_encrypted_and_open_with_their_key_only(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = tmp_path / "cloud"
    assert run(["cloud", "init", str(cloud), "--key-file", str(key)]) == 0
    assert plain_keys(cloud) == []
    assert (cloud / PROTECTION_FILE).stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="no key was given") as missing:
        folders.load_keys(cloud)
    assert missing.value.number == "C022"
    monkeypatch.setenv(KEY_FILE, str(key))
    keys = folders.load_keys(cloud)
    added = folders.add_rsa_key(cloud)
    assert plain_keys(cloud) == []
    assert keys.find(added.public.fingerprint) is not None
    other = tmp_path / "other"
    other.write_bytes(os.urandom(32))
    other.chmod(0o600)
    monkeypatch.setenv(KEY_FILE, str(other))
    with pytest.raises(InputError, match="does not open this folder") as wrong:
        folders.load_keys(cloud)
    assert wrong.value.number == "C022"


def test_an_existing_folder_is_converted_and_back(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positive control: before, the search finds both keys."""
    cloud = tmp_path / "cloud"
    assert run(["cloud", "init", str(cloud)]) == 0
    folders.add_rsa_key(cloud)
    names = plain_keys(cloud)
    assert len(names) == 3
    public = folders.load_keys(cloud).identity.public
    assert run(["cloud", "protect", str(cloud), "--key-file", str(key)]) == 0
    assert plain_keys(cloud) == []
    monkeypatch.setenv(KEY_FILE, str(key))
    passphrase = tmp_path / "passphrase"
    passphrase.write_text("five words that nobody guesses\n")
    passphrase.chmod(0o400)
    assert run(["cloud", "protect", str(cloud), "--key-file", str(passphrase)]) == 0
    monkeypatch.setenv(KEY_FILE, str(passphrase))
    assert folders.load_keys(cloud).identity.public == public
    assert run(["cloud", "protect", str(cloud), "--remove"]) == 0
    assert plain_keys(cloud) == names
    monkeypatch.delenv(KEY_FILE)
    assert folders.load_keys(cloud).identity.public == public


def test_what_is_no_safe_key_is_refused(tmp_path: Path, key: Path) -> None:
    cloud = tmp_path / "cloud"
    assert run(["cloud", "init", str(cloud)]) == 0
    inside = cloud / "key"
    inside.write_bytes(key.read_bytes())
    key.chmod(0o604)
    for path in (inside, key, tmp_path / "none"):
        with pytest.raises(InputError):
            folders.protect(cloud, path)
    assert len(plain_keys(cloud)) == 2
    assert run(["cloud", "protect", str(cloud)]) != 0
