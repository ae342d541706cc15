"""Files that are either the old or the new version, never half of one, and private from their first byte."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from shared.errors import InputError

PRIVATE: Final = 0o600
PUBLIC: Final = 0o644
_PRIVATE_FOLDER: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Create `folder` (0700) and its parents; a folder that is there must already be private.

    Raises: InputError: it is no folder, or others may enter it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        raise InputError(
            "other users may enter this folder of private keys",
            where=str(folder),
            remedy=f"Run: chmod 700 {folder}",
            number="T002",
        )


def write_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Replace `path` in one step, synced to disk before the old version goes.

    The temporary file is created with its final mode, so that a private key is never readable by others.
    """
    temporary = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)  # what the umask took away from a public file
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path, *, max_bytes: int, remedy: str) -> bytes:
    """The content of a file of at most `max_bytes`.

    Raises: InputError: it cannot be read or is too long; `remedy` says what to do.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", where=str(path), remedy=remedy) from None
    if len(content) > max_bytes:
        raise InputError(f"longer than {max_bytes} bytes", where=str(path), remedy=remedy)
    return content
