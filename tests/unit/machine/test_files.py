"""Files replaced in one step: after a failure the old one is there, and a private one was never open to others."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from machine.files import PUBLIC, make_private_folder, read_file, write_file, write_new, write_pieces
from shared.errors import InputError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes_are_what_was_asked_for_whatever_the_umask(tmp_path: Path) -> None:
    former = os.umask(0o077)
    try:
        write_file(tmp_path / "public", b"", mode=PUBLIC)
        os.umask(0)
        write_pieces(tmp_path / "private", [b"a", memoryview(b"b")])
        make_private_folder(tmp_path / "new" / "folder")
    finally:
        os.umask(former)
    assert (mode(tmp_path / "public"), mode(tmp_path / "private")) == (0o644, 0o600)
    assert (tmp_path / "private").read_bytes() == b"ab"
    assert mode(tmp_path / "new" / "folder") == 0o700


def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(InputError, match="other users may enter"):
        make_private_folder(tmp_path)


def test_what_a_person_asked_for_overwrites_nothing(tmp_path: Path) -> None:
    write_new(tmp_path / "file", b"first")
    with pytest.raises(InputError, match="exists already"):
        write_new(tmp_path / "file", b"second")
    with pytest.raises(InputError, match="No such file"):
        write_new(tmp_path / "no" / "file", b"")
    assert (tmp_path / "file").read_bytes() == b"first"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    write_file(path, b"old")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", _power_cut)
        with pytest.raises(OSError, match="power"):
            write_file(path, b"new")
    assert path.read_bytes() == b"old"
    write_file(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(path, max_bytes=5, remedy="") == b"12345"
    with pytest.raises(InputError, match="longer than 4 bytes"):
        read_file(path, max_bytes=4, remedy="")


def _power_cut(*_: object) -> None:
    raise OSError("power cut")
