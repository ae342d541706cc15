"""Who asked which model when, and about how many records: lines of JSON that never hold what was asked or answered.

Files rotate, so that the log never takes more than its share of the disk.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hospital_agent.models.names import SERVING
from machine.files import PRIVATE, make_private_folder

LOG_FILE: Final = "predictions.jsonl"
FILE_BYTES: Final = 16 * 2**20
FILES: Final = 8


@dataclass(slots=True)
class PredictionsLog:
    """The log of an agent's folder. `clock`: Unix seconds. `rotates`: the running agent does, and nobody else."""

    folder: Path
    clock: Callable[[], float]
    file_bytes: int = FILE_BYTES
    rotates: bool = True
    _descriptor: int | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def path(self) -> Path:
        """The newest file; older ones end in .1, .2 and so on."""
        return self.folder / SERVING / LOG_FILE

    def note(self, caller: str, model: str, tree_sha256: str | None, role: str, records: int) -> None:
        """One request that was answered. Raises: OSError: it cannot be written, such as on a full disk."""
        entry = {
            "time": round(self.clock(), 3),
            "caller": caller,
            "model": model,
            "tree_sha256": tree_sha256,
            "role": role,
            "records": records,
        }
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            descriptor = self._descriptor
            if descriptor is None or (self.rotates and self._is_full(descriptor, len(line))):
                descriptor = self._open_next()
            self._append(descriptor, line)

    def _is_full(self, descriptor: int, more: int) -> bool:
        """Whether so many bytes do not fit; commands write as well, so the file itself is asked."""
        return os.fstat(descriptor).st_size + more > self.file_bytes

    def _append(self, descriptor: int, line: bytes) -> None:
        """All of the line or nothing of it: a disk that fills up takes a part and says nothing.

        Commands note here as well, so what stands before the line is not what this object has written.
        """
        written = os.write(descriptor, line)
        if written < len(line):
            os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR) - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Nothing is noted from now on."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None  # first: the number may soon be another file's
        if descriptor is not None:
            os.close(descriptor)

    def _open_next(self) -> int:
        self._close()
        make_private_folder(self.path.parent)
        if self.rotates and self.path.exists() and self.path.stat().st_size + 1024 > self.file_bytes:
            for number in range(FILES - 1, 0, -1):
                older = self.path if number == 1 else _numbered(self.path, number - 1)
                if older.exists():
                    older.replace(_numbered(self.path, number))
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE)
        self._descriptor, size = descriptor, os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            self._append(
                descriptor, b"\n"
            )  # else the next entry would be lost with one that a power cut left half
        return descriptor


def read_log(folder: Path, most: int) -> list[dict[str, Any]]:
    """The newest entries, oldest first; a line that a power cut left half is passed over."""
    found: list[dict[str, Any]] = []
    path = folder / SERVING / LOG_FILE
    for file in (path, *(_numbered(path, number) for number in range(1, FILES))):
        if len(found) >= most or not file.is_file():
            break
        found[:0] = list(_entries(file))[-(most - len(found)) :]
    return found


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
