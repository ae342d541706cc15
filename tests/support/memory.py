"""The memory of another process of the same user, as Linux shows it."""

from __future__ import annotations

import io
import os
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) [0-9a-f]+ \S+ \d+\s*(.*)$")
_PIECE = 2**22


@dataclass(frozen=True)
class Region:
    """One mapping: addresses, rights such as `rw-p`, and what file it is of."""

    start: int
    end: int
    rights: str
    file: str

    @property
    def may_hold_secrets(self) -> bool:
        """Readable, and not merely a file's own bytes: code and constants cannot change."""
        is_file = self.file.startswith("/")
        return self.rights[0] == "r" and not (is_file and self.rights[1] == "-") and self.file != "[vvar]"


def regions(pid: int) -> list[Region]:
    """All mappings of a process."""
    found = (_LINE.match(line) for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
    return [Region(int(m[1], 16), int(m[2], 16), m[3], m[4]) for m in found if m is not None]


def memory_of(pid: int) -> bytes:
    """Everything in which a process can keep something. Raises: PermissionError: the system does not allow it."""
    with io.FileIO(f"/proc/{pid}/mem") as memory:
        return b"".join(
            piece for region in regions(pid) if region.may_hold_secrets for piece in _read(memory, region)
        )


def _read(memory: io.FileIO, region: Region) -> Iterator[bytes]:
    for start in range(region.start, region.end, _PIECE):
        memory.seek(start)
        try:
            yield memory.read(min(_PIECE, region.end - start))
        except OSError:
            return  # a guard page, or one that the kernel keeps to itself


@dataclass(frozen=True)
class PythonInts:
    """How integers of a process's interpreter begin: the address of their type, and their length."""

    type_address: int

    @classmethod
    def of(cls, pid: int) -> PythonInts:
        """Of a process that runs the same interpreter as this one."""
        address = id(int)
        here = regions(os.getpid())
        own = next(region for region in here if region.start <= address < region.end)
        base = min(region.start for region in here if region.file == own.file)
        there = min(region.start for region in regions(pid) if region.file == own.file)
        return cls(address - base + there)

    def head(self, digits: int) -> bytes:
        """The bytes before the digits of a positive integer."""
        size = digits if sys.version_info < (3, 12) else digits << 3
        return struct.pack("<QQ", self.type_address, size)
