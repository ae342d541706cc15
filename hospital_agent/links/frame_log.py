"""The log of frames that one member of a job has received: from it, a member that was killed becomes what it was.

Every data frame is appended, sealed as it came, before it is acknowledged and before the program goes on. Running the
program again over the log gives the same messages bit for bit, because everything else it uses (keys, its own records)
is kept elsewhere. A tail that was cut by a crash is cut off at the next start. The file is closed to others (0600) and
deleted when the job is over (rule A6).

Form: `magic || context hash`, then records `u32 length || u16 sender || frame`; a record of length 0 marks a start.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, Self

from machine.files import PRIVATE, sync_folder
from shared.errors import InputError, TemporaryError

_MAGIC: Final = b"privet frame log 1\n"
_CONTEXT_BYTES: Final = 32
_RECORD: Final = struct.Struct(">IH")
_FLUSH_BYTES: Final = 2**18
_MAX_PARTS: Final = 512

Frame = bytes | bytearray


class FrameRecord(Protocol):
    """Where links write what they took. `starts`: how many times this member has begun, this time included."""

    starts: int

    def append(self, sender: int, frame: Frame) -> None:
        """Remember a frame of the member with this number; the caller does not change it afterwards."""

    def flush(self) -> None:
        """From here on, a killed process finds all appended frames again."""

    def replay(self) -> Iterator[tuple[int, bytes]]:
        """All frames so far, in order; what is appended meanwhile comes in its turn."""

    def cut(self) -> None:
        """The frame last replayed is damaged: it and all behind it are dropped."""


class NoLog:
    """For a run that need not survive a kill, such as a benchmark."""

    starts = 1

    def append(self, sender: int, frame: Frame) -> None:
        """Forget it."""

    def flush(self) -> None:
        """Nothing to do."""

    def replay(self) -> Iterator[tuple[int, bytes]]:
        """Nothing."""
        return iter(())

    def cut(self) -> None:
        """Nothing to cut."""


class FrameLog:
    """The log in a file. Used by one thread."""

    def __init__(self, path: Path, descriptor: int, starts: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._waiting: list[bytes | bytearray] = []
        self._waiting_bytes = 0
        self._replayed_from = len(_MAGIC) + _CONTEXT_BYTES
        self.starts = starts

    @classmethod
    def open(cls, path: Path, context: bytes) -> Self:
        """The log in `path`, made if there is none; a torn tail is cut off and a start is noted, durably.

        Args: context: 32 bytes, SHA-256 of all that must not change between starts (job, manifest, program, version).
        Raises: InputError: the file is of another context, or no frame log, or the disk does not take a start.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        except OSError as error:
            raise _not_begun(path, error) from None
        try:
            starts = _begin(path, descriptor, _MAGIC + context)
        except OSError as error:
            os.close(descriptor)
            raise _not_begun(path, error) from None
        except InputError:
            os.close(descriptor)
            raise
        return cls(path, descriptor, starts)

    def append(self, sender: int, frame: Frame) -> None:
        """See `FrameRecord`."""
        self._waiting += (_RECORD.pack(len(frame), sender), frame)
        self._waiting_bytes += len(frame)
        if self._waiting_bytes >= _FLUSH_BYTES or len(self._waiting) >= _MAX_PARTS:
            self.flush()

    def flush(self) -> None:
        """See `FrameRecord`. It reaches the kernel, not the disk: after a power cut the peers send the tail again.

        Raises: TemporaryError: the disk does not take it.
        """
        if not self._waiting:
            return
        try:
            self._write()
        except OSError as error:
            raise TemporaryError(
                f"the log of frames cannot be written ({error.strerror}): make room on the disk of {self._path.parent}"
            ) from None

    def _write(self) -> None:
        written = os.writev(self._descriptor, self._waiting)
        total = self._waiting_bytes + _RECORD.size * (len(self._waiting) // 2)
        if written < total:
            _write_whole(self._descriptor, memoryview(b"".join(self._waiting))[written:])
        self._waiting.clear()
        self._waiting_bytes = 0

    def replay(self) -> Iterator[tuple[int, bytes]]:
        """See `FrameRecord`."""
        place = len(_MAGIC) + _CONTEXT_BYTES
        while record := self._record_at(place):
            length, sender = record
            self._replayed_from, place = place, place + _RECORD.size + length
            if length:
                yield sender, os.pread(self._descriptor, length, place - length)

    def _record_at(self, place: int) -> tuple[int, int] | None:
        head = os.pread(self._descriptor, _RECORD.size, place)
        if len(head) < _RECORD.size and self._waiting:
            self.flush()
            head = os.pread(self._descriptor, _RECORD.size, place)
        return _RECORD.unpack(head) if len(head) == _RECORD.size else None

    def cut(self) -> None:
        """See `FrameRecord`."""
        os.ftruncate(self._descriptor, self._replayed_from)
        os.lseek(self._descriptor, self._replayed_from, os.SEEK_SET)
        for _ in range(self.starts):
            os.write(self._descriptor, _RECORD.pack(0, 0))
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Write what is left and let go of the file. Raises: TemporaryError: as `flush`; the file is let go of."""
        if self._descriptor >= 0:
            try:
                self.flush()
            finally:
                os.close(self._descriptor)
                self._descriptor = -1

    def delete(self) -> None:
        """The job is over: nothing of the log remains."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self.close()
        with suppress(FileNotFoundError):
            self._path.unlink()


def _begin(path: Path, descriptor: int, head: bytes) -> int:
    """Make the file ready and note a start; which one it is. Raises: OSError, InputError."""
    if os.fstat(descriptor).st_size < len(head):
        os.ftruncate(descriptor, 0)
        _write_whole(descriptor, head)
        sync_folder(path.parent)
    elif os.pread(descriptor, len(head), 0) != head:
        raise InputError(
            "this log of frames belongs to another job or to another version of the program",
            where=str(path),
            remedy="End the job, or go on with the version that began it.",
        )
    end, starts = _scan(descriptor, len(head))
    os.ftruncate(descriptor, end)
    os.lseek(descriptor, end, os.SEEK_SET)
    _write_whole(descriptor, _RECORD.pack(0, 0))
    os.fsync(descriptor)
    return starts + 1


def _write_whole(descriptor: int, raw: bytes | memoryview) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _not_begun(path: Path, error: OSError) -> InputError:
    return InputError(
        f"the log of frames cannot be begun ({error.strerror})",
        where=str(path),
        remedy="Make room on the disk, and see to it that the agent may write there.",
    )


def _scan(descriptor: int, start: int) -> tuple[int, int]:
    """Where the last whole record ends, and how many starts were noted."""
    size, place, starts = os.fstat(descriptor).st_size, start, 0
    while place + _RECORD.size <= size:
        length, _ = _RECORD.unpack(os.pread(descriptor, _RECORD.size, place))
        if place + _RECORD.size + length > size:
            break
        place += _RECORD.size + length
        starts += length == 0
    return place, starts
