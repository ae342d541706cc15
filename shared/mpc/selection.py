"""Secret conditions on XOR-shared words: from numbers 0 and 1 to bits, to masks, and words where a bit is 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from shared.mpc.program import Party
from shared.mpc.ring import U8, Words
from shared.mpc.sharing import PARTIES, BinaryShare, Share


def low_bits(x: Share) -> BinaryShare:
    """The lowest bit of numbers, as uint8 words 0 or 1: the parts' lowest bits XOR to it; local."""
    return BinaryShare(_low_bits(x.own), _low_bits(x.next))


def negated(party: Party, bits: BinaryShare) -> BinaryShare:
    """1 - b for words b of 0 and 1; local."""
    one = bits.dtype.type(1)
    return BinaryShare(
        bits.own ^ one if party.index == 0 else bits.own,
        bits.next ^ one if party.index == PARTIES - 1 else bits.next,
    )


def word_masks(bits: BinaryShare, dtype: np.dtype[Any]) -> BinaryShare:
    """Words of all ones where the lowest bit is 1, else 0; local. Args: bits: words of any type.

    The parts of a shared 0 or 1 are words of any value: only their lowest bits are looked at.
    """
    return bits.map(lambda part: np.negative((part & part.dtype.type(1)).astype(dtype)))


def _low_bits(part: Words) -> Words:
    return part.astype(U8) & U8.type(1)
