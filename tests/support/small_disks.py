"""A file system of a few megabytes that a test can fill, for programs whose disk is full.

with small_disk(tmp_path / "h1") as disk:
    disk.fill()
    disk.make_room()
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

_PIECE: Final = b"\1" * 2**12
_BALLAST: Final = "ballast"


@dataclass(frozen=True)
class SmallDisk:
    """`folder`: where it is mounted."""

    folder: Path

    def fill(self) -> None:
        """Take all room that is left."""
        descriptor = os.open(self.folder / _BALLAST, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            while True:
                os.write(descriptor, _PIECE)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(descriptor)

    def make_room(self) -> None:
        """Give it back."""
        (self.folder / _BALLAST).unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int = 16) -> Iterator[SmallDisk]:
    """Mounted at `folder`, which only the present user may enter. Skips where nobody may mount."""
    folder.mkdir(mode=0o700, parents=True)
    options = f"size={megabytes}m,mode=0700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here: this needs root")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
