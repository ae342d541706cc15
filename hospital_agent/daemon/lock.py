"""One daemon a folder: two would give two contributions."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hospital_agent.files import PRIVATE
from shared.errors import InputError

LOCK_FILE: Final = "agent.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the system lets go of it however the process ends.

    Raises: InputError: another agent runs there.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        if not _taken(descriptor):
            raise InputError(
                "another agent runs in this folder",
                where=str(folder),
                remedy="Stop it first; `privet agent status DIR` shows what it does.",
            )
        yield
    finally:
        os.close(descriptor)


def is_running(folder: Path) -> bool:
    """Whether a daemon holds the folder now."""
    path = folder / LOCK_FILE
    if not path.exists():
        return False
    descriptor = os.open(path, os.O_RDWR)
    try:
        return not _taken(descriptor)
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
