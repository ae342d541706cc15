"""How much of the memory the bodies of requests may take together, by what their heads say of them.

A body of many small things takes some twenty times its bytes once it is read. So few large ones are let in at a time,
and of all bodies so many bytes; who finds no room is told to come again before anything of the body is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

LARGE_BYTES: Final = 2**20
LARGE_AT_ONCE: Final = 2
MAX_BYTES_AT_ONCE: Final = 64 * 2**20
RETRY_SECONDS: Final = 2


class NoRoomError(Exception):
    """Too much is worked on already."""


@dataclass(slots=True)
class Room:
    """What is in it now. Belongs to the event loop, so it needs no lock."""

    _large: int = 0
    _bytes: int = 0

    @contextmanager
    def holding(self, length: int) -> Iterator[None]:
        """Room for a body while it comes and is answered. Args: length: in bytes. Raises: NoRoomError."""
        is_large = length > LARGE_BYTES
        if self._large + is_large > LARGE_AT_ONCE or self._bytes + length > MAX_BYTES_AT_ONCE:
            raise NoRoomError
        self._large += is_large
        self._bytes += length
        try:
            yield
        finally:
            self._large -= is_large
            self._bytes -= length
