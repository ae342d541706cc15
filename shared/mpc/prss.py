"""Correlated randomness without messages (PRSS): each pair of parties draws from a common key stream.

P_i shares one key with P_(i-1) and one with P_(i+1). Both members of a pair must draw the same lengths in the same
order, so every sub-protocol draws at fixed places, whichever party runs it. Streams are AES-128-CTR, one running
cipher a key: making a cipher costs as much as 64 KiB of its output (measured, `docs/performance.md`).

Source: AFLNO16 in docs/sources.md, section 3 (correlated randomness); protocol section 9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import DTypeLike

from shared.mpc.ring import Words

KEY_BYTES: Final = 16
_PIECE: Final = memoryview(bytes(2**16))
_SHORT: Final = 2**10
_AHEAD_WORDS: Final = 2**9


class Stream:
    """The running AES-128-CTR key stream of one pair of parties."""

    __slots__ = ("_ahead", "_encryptor", "_used")

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a pair key has {KEY_BYTES} bytes")
        self._encryptor: Any = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._ahead = np.empty(0, np.uint64)
        self._used = 0

    def words(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Words:
        """Uniform words, the next of the stream. Returns: array of this shape and unsigned dtype.

        Short draws are cut from a piece drawn ahead, each from the next multiple of 8 bytes: they are many, and a
        call of the cipher costs more than they do. Which bytes a draw gets depends on the lengths of all before it.
        """
        kind = np.dtype(dtype)
        length = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
        if length > _SHORT:
            drawn = np.empty(shape, kind)
            self._fill(drawn.reshape(-1).view(np.uint8).data)
            return drawn
        start = self._used
        if start + length > self._ahead.nbytes:
            self._ahead = np.empty(_AHEAD_WORDS, np.uint64)
            self._fill(self._ahead.view(np.uint8).data)
            start = 0
        self._used = start + length + -length % 8
        return np.ndarray(shape, kind, self._ahead.data, start)

    def _fill(self, target: memoryview) -> None:
        update = self._encryptor.update_into
        for start in range(0, len(target), len(_PIECE)):
            piece = target[start : start + len(_PIECE)]
            update(_PIECE[: len(piece)], piece)


@dataclass(frozen=True, slots=True)
class Prss:
    """The two streams of party i. `previous`: common with P_(i-1), key k_i; `next`: with P_(i+1), key k_(i+1)."""

    previous: Stream = field(repr=False)
    next: Stream = field(repr=False)

    @classmethod
    def from_keys(cls, previous: bytes, following: bytes) -> Prss:
        """Args: previous, following: 16-byte keys common with the previous and with the next party."""
        return cls(Stream(previous), Stream(following))

    def zero(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Words:
        """This party's part of a fresh additive sharing of zero: PRF(k_i) - PRF(k_(i+1)) (protocol section 9)."""
        drawn = self.previous.words(shape, dtype)
        np.subtract(drawn, self.next.words(shape, dtype), out=drawn)
        return drawn

    def zero_xor(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Words:
        """This party's part of a fresh XOR sharing of zero."""
        drawn = self.previous.words(shape, dtype)
        np.bitwise_xor(drawn, self.next.words(shape, dtype), out=drawn)
        return drawn
