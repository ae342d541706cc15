"""Bits of XOR-shared words: many 0/1 words in one 64-bit word and back, and words turned into planes of bits.

All of it is local. Bit i of packed word j is element 64 j + i; words are little-endian, as everywhere in the engine.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from shared.mpc.ring import U8, U64, Words
from shared.mpc.sharing import BinaryShare

WORD_BITS: Final = 64
_BLOCK: Final = 2**13
"""Words cut into planes at once, so that their bits stay in the cache; a multiple of 8."""


def packed_length(count: int) -> int:
    """How many 64-bit words hold `count` bits."""
    return -(-count // WORD_BITS)


def pack_bits(x: BinaryShare) -> BinaryShare:
    """64 words 0 or 1 to one uint64, along the last axis.

    Args: x: shape (..., n); the parts may be any words: only their lowest bits count. Returns: (..., ceil(n / 64)).
    """
    return x.map(lambda part: pack(part & part.dtype.type(1)))


def unpack_bits(x: BinaryShare, count: int, dtype: DTypeLike = U8) -> BinaryShare:
    """The first `count` bits as words 0 or 1 of `dtype`, along the last axis: the inverse of `pack_bits`."""
    return x.map(lambda part: unpack(part, count, dtype))


def planes_of(x: BinaryShare, width_bits: int) -> BinaryShare:
    """The low bits of words, bit by bit. Args: x: shape (n,). Returns: (width_bits, ceil(n / 64)), lowest bit first."""
    return x.map(lambda part: plane_words(part, width_bits))


def words_of(planes: BinaryShare, count: int, dtype: DTypeLike) -> BinaryShare:
    """Words from planes of bits: the inverse of `planes_of`. Args: planes: shape (at most the bits of dtype, words)."""
    return planes.map(lambda part: _words_of_planes(part, count, np.dtype(dtype)))


def pack(bits: Words) -> Words:
    """Plain bits (bool, or words 0 and 1) along the last axis to uint64 words."""
    octets = np.packbits(bits if bits.dtype.itemsize == 1 else bits.astype(U8), axis=-1, bitorder="little")
    missing = -octets.shape[-1] % U64.itemsize
    if missing:
        octets = np.concatenate([octets, np.zeros((*octets.shape[:-1], missing), U8)], axis=-1)
    return octets.view(U64)


def unpack(words: Words, count: int, dtype: DTypeLike = U8) -> Words:
    """The first `count` bits of uint64 words along the last axis, as words 0 or 1."""
    octets = np.ascontiguousarray(words).view(U8)
    bits = np.unpackbits(octets, axis=-1, count=count, bitorder="little")
    return bits if np.dtype(dtype) == U8 else bits.astype(dtype)


def plane_words(words: Words, width_bits: int) -> Words:
    """Plain words, shape (n,), to packed planes of their low bits, shape (width_bits, ceil(n / 64))."""
    planes = np.zeros((width_bits, packed_length(len(words))), U64)
    octets = planes.view(U8)
    places = words.dtype.type(1) << np.arange(width_bits, dtype=words.dtype)[:, None]
    for start in range(0, len(words), _BLOCK):
        rows = np.packbits((words[start : start + _BLOCK] & places) != 0, axis=-1, bitorder="little")
        octets[:, start // 8 : start // 8 + rows.shape[1]] = rows
    return planes


def _words_of_planes(planes: Words, count: int, dtype: np.dtype[Any]) -> Words:
    words = np.zeros(count, dtype)
    for place, plane in enumerate(planes):
        words |= unpack(plane, count, dtype) << dtype.type(place)
    return words
