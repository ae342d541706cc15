"""What a doctor looks at in a program's folder."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shared.errors import InputError

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def check_private(paths: Iterable[Path]) -> None:
    """Raises: InputError: other users of this machine can get at one of these."""
    for path in paths:
        if path.stat().st_mode & _OTHERS:
            mode = 700 if path.is_dir() else 600
            raise InputError(
                "other users can get at this", where=str(path), remedy=f"Run: chmod {mode} {path}"
            )


def check_usable(paths: Iterable[Path]) -> None:
    """Raises: InputError: this user cannot read and write one of these."""
    for path in paths:
        if not os.access(path, os.R_OK | os.W_OK, effective_ids=True):
            raise InputError("this user cannot read and write it", where=str(path))


def room_on_disk(folder: Path, least_bytes: int) -> str:
    """A sentence that so much is free. Raises: InputError: less is."""
    least = f"{least_bytes >> 20} MB"
    if shutil.disk_usage(folder).free < least_bytes:
        raise InputError(f"less than {least} are free", where=str(folder))
    return f"more than {least} are free"
