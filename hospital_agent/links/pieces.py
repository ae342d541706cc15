"""How a message of arrays is cut into the contents of frames, the same way at both ends. No keys, no numbers.

The bytes of the arrays (row by row, little-endian words) follow one another and are cut every `PIECE_BYTES`; so a big
message is on its way while its rest is still to be sealed, and what both ends know of the shapes says how long each
frame is. A message without bytes has no frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from shared.mpc.program import Spec
from shared.mpc.ring import Words

PIECE_BYTES: Final = 2**19


def contents_of(arrays: Sequence[Words]) -> Iterator[bytes | memoryview]:
    """The contents of the frames, in order; large ones are views of the arrays."""
    total = sum(words.nbytes for words in arrays)
    if total <= PIECE_BYTES:
        if total:
            yield arrays[0].tobytes() if len(arrays) == 1 else b"".join([words.tobytes() for words in arrays])
        return
    for parts in _cut([_bytes_of(words) for words in arrays if words.nbytes]):
        yield parts[0] if len(parts) == 1 else b"".join(parts)


class Incoming:
    """The arrays of one expected message, which are filled frame by frame. `arrays`: whole once `complete`."""

    __slots__ = ("_frames", "arrays", "frames_in_all")

    def __init__(self, specs: Sequence[Spec]) -> None:
        self.arrays = tuple([np.empty(spec.shape, spec.dtype) for spec in specs])
        self._frames = deque(_cut([_bytes_of(words) for words in self.arrays if words.nbytes]))
        self.frames_in_all = len(self._frames)

    @property
    def complete(self) -> bool:
        """Whether every frame has come."""
        return not self._frames

    @property
    def next_bytes(self) -> int:
        """How long the content of the next frame must be."""
        parts = self._frames[0]
        return len(parts[0]) if len(parts) == 1 else sum(map(len, parts))

    @property
    def next_target(self) -> memoryview | None:
        """Where the next content can be written to directly; None if it belongs to several arrays."""
        parts = self._frames[0]
        return parts[0] if len(parts) == 1 else None

    def fill(self, content: bytes | bytearray) -> None:
        """Take the next content, which has `next_bytes` bytes."""
        start, view = 0, memoryview(content)
        for part in self._frames[0]:
            part[:] = view[start : start + len(part)]
            start += len(part)
        self.pass_on()

    def pass_on(self) -> None:
        """The next content was written to `next_target`."""
        self._frames.popleft()


def _bytes_of(words: Words) -> memoryview:
    return np.ascontiguousarray(words).data.cast("B")


def _cut(views: Sequence[memoryview]) -> list[list[memoryview]]:
    """The views one after the other, as frames of `PIECE_BYTES` and a rest; each a list of parts."""
    if sum(map(len, views)) <= PIECE_BYTES:
        return [list(views)] if views else []
    frames: list[list[memoryview]] = []
    room = 0
    for view in views:
        place = 0
        while place < len(view):
            if room == 0:
                frames.append([])
                room = PIECE_BYTES
            part = view[place : place + room]
            frames[-1].append(part)
            place += len(part)
            room -= len(part)
    return frames
