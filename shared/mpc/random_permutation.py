"""Permutations that a pair of parties draws from its common stream: exactly uniform, by throwing darts."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.prss import Stream
from shared.mpc.ring import U32

Indices = NDArray[np.int32]
"""Kept in half the bytes of numpy's index type, to which a walk turns them: trainers keep many routes."""

MAXIMAL_SIZE: Final = 2**29
"""The board has up to four cells an element, and their numbers are int32."""


def draw_permutation(stream: Stream, size: int) -> Indices:
    """A uniform permutation of 0..size-1, the same at both parties of the pair.

    Every element throws a dart at a board of at least 2 * size cells; who hits an empty cell stays there (the last of
    several, as numpy assigns repeated indices), the others throw again; the order on the board is the permutation.
    It is exactly uniform: taken one after the other, from the last, a throw hits an empty cell with a chance that
    depends on the number of taken cells only; so whatever the sequence of hits and misses, each hit is uniform among
    the empty cells. Three to five times faster than sorting random keys (10^5 elements: 1 ms).

    Source: Miller 1985 in docs/sources.md (dart throwing).
    """
    if not 1 <= size <= MAXIMAL_SIZE:
        raise ValueError(f"a permutation has 1 to {MAXIMAL_SIZE} elements, {size} were asked")
    cells = 1 << (2 * size - 1).bit_length()
    board = np.full(cells, size, np.int32)
    waiting = np.arange(size, dtype=np.int32)
    darts = _throw(stream, size, cells)
    board[darts] = waiting
    while True:
        waiting = waiting.take(np.flatnonzero(board.take(darts) != waiting))
        if not waiting.size:
            return board.take(np.flatnonzero(board != size))
        darts = _throw(stream, waiting.size, cells)
        hits = np.flatnonzero(board.take(darts) == size)
        board[darts.take(hits)] = waiting.take(hits)


def _throw(stream: Stream, darts: int, cells: int) -> NDArray[np.intp]:
    words = stream.words(darts, U32)
    words &= np.uint32(cells - 1)
    return words.astype(np.intp)
