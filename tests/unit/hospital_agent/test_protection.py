"""An agent's folder encrypted: where the key comes from, conversions that are cut off, large files in pieces."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hospital_agent import protection as module
from hospital_agent.commands import protecting
from hospital_agent.journal import Journal
from hospital_agent.keyring import Keyring
from hospital_agent.protection import KEY_FILE, PROTECTION_FILE, Protection
from privet.__main__ import run
from shared.errors import InputError
from tests.support.federation import write_file


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    write_file(path, os.urandom(32).hex().encode())
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    assert run(["agent", "init", str(tmp_path / "agent"), "--id", "h1"]) == 0
    return tmp_path / "agent"


def plain_text_in(folder: Path) -> bool:
    return any(b"PRIVATE KEY" in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_init_takes_a_key_from_the_start(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["agent", "init", str(tmp_path / "a"), "--id", "h1", "--key-file", str(key), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["encrypted"] is True
    assert not plain_text_in(tmp_path / "a")
    with pytest.raises(InputError, match="no key was given"):
        Keyring.open(tmp_path / "a")
    monkeypatch.setenv(KEY_FILE, str(key))
    identity = Keyring.open(tmp_path / "a").identity.public
    assert run(["agent", "init", str(tmp_path / "b"), "--id", "h2"]) == 0  # the surroundings name the key
    assert not plain_text_in(tmp_path / "b")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    write_file(credentials / "privet-key", key.read_bytes())
    monkeypatch.delenv(KEY_FILE)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    assert Keyring.open(tmp_path / "a").identity.public == identity


def test_a_folder_is_protected_rekeyed_and_opened_again(
    folder: Path, key: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = Keyring.open(folder).identity.public
    assert plain_text_in(folder)
    assert run(["agent", "protect", str(folder), "--key-file", str(key)]) == 0
    assert not plain_text_in(folder)
    monkeypatch.setenv(KEY_FILE, str(key))
    assert Keyring.open(folder).identity.public == identity
    other = tmp_path / "other"
    write_file(other, b"five words that nobody guesses")
    assert run(["agent", "protect", str(folder), "--key-file", str(other)]) == 0
    with pytest.raises(InputError, match="under a passphrase"):
        Keyring.open(folder)
    monkeypatch.setenv(KEY_FILE, str(other))
    assert Keyring.open(folder).identity.public == identity
    assert run(["agent", "protect", str(folder), "--remove"]) == 0
    assert not (folder / PROTECTION_FILE).exists()
    monkeypatch.delenv(KEY_FILE)
    assert Keyring.open(folder).identity.public == identity


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_conversion_that_is_cut_off_is_finished_by_the_next(
    folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch, after: int, remove: bool
) -> None:
    """At each file the process dies: the folder still works, and the same command ends what was begun."""
    identity = Keyring.open(folder).identity.public
    words = ["agent", "protect", str(folder), *(["--remove"] if remove else ["--key-file", str(key)])]
    monkeypatch.setenv(KEY_FILE, str(key))
    if remove:
        assert run(["agent", "protect", str(folder), "--key-file", str(key)]) == 0
    files = protecting._private_files(folder)
    monkeypatch.setattr(protecting, "_private_files", lambda _folder: [*files[:after], Path("/none")])
    assert run(words) != 0
    assert Keyring.open(folder).identity.public == identity
    with Journal.open(folder) as journal:
        assert journal.jobs() == []
    monkeypatch.undo()
    monkeypatch.setenv(KEY_FILE, str(key))
    assert run(words) == 0
    assert plain_text_in(folder) is remove
    assert Keyring.open(folder).identity.public == identity


def test_a_key_that_protects_nothing_is_refused(folder: Path, key: Path) -> None:
    inside = folder / "key"
    write_file(inside, key.read_bytes())
    with pytest.raises(InputError, match="beside what it protects"):
        Protection.begin(folder, inside)
    key.chmod(0o644)
    with pytest.raises(InputError, match="all users"):
        Protection.begin(folder, key)
    with pytest.raises(InputError, match="openssl rand"):
        Protection.begin(folder, folder.parent / "none")
    assert not (folder / PROTECTION_FILE).exists()


def test_a_folder_that_lost_its_protection_says_so(folder: Path, key: Path) -> None:
    assert run(["agent", "protect", str(folder), "--key-file", str(key)]) == 0
    (folder / PROTECTION_FILE).unlink()
    with pytest.raises(InputError, match="the file protection of its folder is gone"):
        Keyring.open(folder)


def test_large_content_is_sealed_in_pieces_that_have_their_place(
    folder: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE_BYTES", 10)
    protection = Protection.begin(folder, key)
    content = bytes(range(95))
    sealed = protection.seal_large(content, "name")
    assert protection.open_large(sealed, "name") == content
    assert protection.open_large(protection.seal_large(b"", "name"), "name") == b""
    assert content[:10] not in sealed
    assert Protection(folder).open_large(content, "name") == content
    piece = len(protection.at_rest.seal(bytes(10), name="")) if protection.at_rest else 0
    start = len(sealed) - 9 * piece - (piece - 5)
    swapped = sealed[:start] + sealed[start + piece : start + 2 * piece] + sealed[start : start + piece]
    for wrong in (sealed[:-1], sealed + b"x", sealed[:40], swapped + sealed[start + 2 * piece :]):
        with pytest.raises(InputError, match=r"cut short|changed"):
            protection.open_large(wrong, "name")
    with pytest.raises(InputError, match="changed"):
        protection.open_large(sealed, "another name")
