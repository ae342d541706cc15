"""The secret that parts records: made once, private, the same for all that ask at once, encrypted with its folder."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hospital_agent.keyring.selection_key import SELECTION_FILE, selection_key
from hospital_agent.protection import KEY_FILE, Protection
from shared.errors import InputError


def test_it_is_made_once_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir(0o700)
    key = selection_key(folder)
    assert len(key) == 32
    assert selection_key(folder) == key == (folder / SELECTION_FILE).read_bytes()
    assert (folder / SELECTION_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == ["keys"]
    other = tmp_path / "other"
    other.mkdir(0o700)
    assert selection_key(other) != key


def test_all_that_ask_at_once_get_the_same(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def ask(_: int) -> bytes:
        together.wait()
        return selection_key(tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_it_is_sealed_in_an_encrypted_folder_and_damage_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key_file = tmp_path / "agent", tmp_path / "outer.key"
    folder.mkdir(0o700)
    key_file.write_bytes(b"k" * 32)
    key_file.chmod(0o600)
    monkeypatch.setenv(KEY_FILE, str(key_file))
    Protection.begin(folder, key_file)
    key = selection_key(folder)
    assert key not in (folder / SELECTION_FILE).read_bytes()
    assert selection_key(folder) == key
    (folder / SELECTION_FILE).write_bytes(b"short")
    with pytest.raises(InputError, match="expected 32 bytes"):
        selection_key(folder)
