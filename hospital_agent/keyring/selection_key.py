"""The secret by which this hospital parts its records for training and testing: `keys/selection.key`, made once.

It never leaves the folder. Without it the same records would fall otherwise in later jobs of a study; with it another
hospital could tell which of its guesses at a record were held out.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from hospital_agent.protection import Protection
from machine.files import PRIVATE, make_private_folder, sync_folder
from shared.errors import InputError
from shared.rng import random_bytes

SELECTION_FILE: Final = "keys/selection.key"
_BYTES: Final = 32
_REMEDY: Final = "Restore the file from a backup of the folder; a new one would part the records anew."


def selection_key(folder: Path) -> bytes:
    """The key of an agent's folder, 32 bytes; made at the first call, by whichever program comes first.

    Raises: InputError: the file is damaged, or encrypted and no key is at hand.
    """
    path, protection = folder / SELECTION_FILE, Protection.of(folder)
    if not path.exists():
        _make(path, protection)
    key = protection.read(path, max_bytes=_BYTES, remedy=_REMEDY)
    if len(key) != _BYTES:
        raise InputError(f"expected {_BYTES} bytes", where=str(path), remedy=_REMEDY)
    return key


def _make(path: Path, protection: Protection) -> None:
    make_private_folder(path.parent)
    # Not among the keys: `privet agent protect` converts every file there, and this may be left by a power cut.
    aside = path.parent.parent / f".{path.name}.{random_bytes(8).hex()}"
    content = protection.seal(random_bytes(_BYTES), SELECTION_FILE)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    # A link fails where the name is taken: of two programs at once, both go on with the first one's key.
    try:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink()
    sync_folder(path.parent)
