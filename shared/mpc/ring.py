"""The rings Z_2^32 and Z_2^64 as numpy words, and the word types of XOR sharing. What a word is, nothing of shares.

Arithmetic on unsigned numpy arrays wraps modulo 2^bits, which is exactly the ring's arithmetic (protocol section 9,
values in two's complement).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

Words = NDArray[Any]
"""An array of unsigned words; its dtype is the ring, or the word type of an XOR sharing."""

U8: Final = np.dtype(np.uint8)
U16: Final = np.dtype(np.uint16)
U32: Final = np.dtype(np.uint32)
U64: Final = np.dtype(np.uint64)
ARITHMETIC_DTYPES: Final = frozenset({U32, U64})
BINARY_DTYPES: Final = frozenset({U8, U16, U32, U64})


def bits_of(dtype: DTypeLike) -> int:
    """Bits of one word of this type."""
    return np.dtype(dtype).itemsize * 8


def signed(words: Words) -> NDArray[np.int64]:
    """The same residues read as two's complement numbers, int64. Args: words: uint32 or uint64."""
    return words.view(np.int32 if words.dtype == U32 else np.int64).astype(np.int64)


def word_of_width(width_bits: int) -> np.dtype[Any]:
    """The smallest word type that holds `width_bits` bits (1 to 64)."""
    for dtype in (U8, U16, U32, U64):
        if width_bits <= bits_of(dtype):
            return dtype
    raise ValueError(f"a word has at most 64 bits, {width_bits} were asked")
