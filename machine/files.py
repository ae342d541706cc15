"""Files that are either the old or the new version, never half of one, and private from their first byte."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shared.errors import InputError

PRIVATE: Final = 0o600
PUBLIC: Final = 0o644
_PRIVATE_FOLDER: Final = 0o700


def make_private_folder(folder: Path) -> None:
    """Create `folder` (0700) and its parents; a folder that is there must already be closed to others.

    Raises: InputError: others may enter it.
    """
    folder.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        raise InputError(
            "other users may enter this folder of private files",
            where=str(folder),
            remedy=f"Run: chmod 700 {folder}",
        )


def write_file(path: Path, content: bytes, *, mode: int = PRIVATE) -> None:
    """Replace `path` in one step: after a power cut the old or the new version is there."""
    write_pieces(path, [content], mode=mode)


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview], *, mode: int = PRIVATE) -> None:
    """As `write_file`, for content that need not be put together in memory.

    It is synced to disk before the old version goes. The file beside it is created with its final mode, so that a
    private one is never readable by others.
    """
    aside = path.with_name(f".{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        aside.unlink()
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        os.fchmod(stream.fileno(), mode)  # what the umask took away from a public file
        for piece in pieces:
            stream.write(piece)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """A file (0600) that a person asked for. Raises: InputError: it is there already, or cannot be written."""
    if path.exists():
        raise InputError("it exists already", where=str(path), remedy="Name another file.")
    try:
        write_file(path, content)
    except OSError as error:
        reason = error.strerror or "cannot be written"
        raise InputError(reason, where=str(path), remedy="Name a file that can be written.") from None


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
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", where=str(path), remedy=remedy) from None
    if len(content) > max_bytes:
        raise InputError(f"longer than {max_bytes} bytes", where=str(path), remedy=remedy)
    return content
