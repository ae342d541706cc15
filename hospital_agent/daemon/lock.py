"""One daemon a folder: two would give two contributions."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from machine.files import PRIVATE
from shared.errors import InputError

LOCK_FILE: Final = "agent.lock"
_WAITS: Final = (0.0, 0.1, 0.2)
"""Seconds before each try: a look at the lock by `is_running` holds it for a moment."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder; the system lets go of it however the process ends.

    Raises: InputError: another agent runs there.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        if not any(_taken(descriptor, wait_seconds) for wait_seconds in _WAITS):
            raise InputError(
                "another agent runs in this folder",
                where=str(folder),
                remedy="Stop it first; `privet agent status DIR` shows what it does.",
                number="A014",
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
        return not _taken(descriptor, 0.0)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, wait_seconds: float) -> bool:
    time.sleep(wait_seconds)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
