"""Which records sit in which slot, in the records' own order, and how they answer the tests of a layer.

Used by the trainer (phase "split") and by secret inference alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from shared.mpc.arithmetic import conjunction, conjunction_terms, reshare_binary
from shared.mpc.bits import pack, unpack_bits
from shared.mpc.comparison import less_than_words
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U8, Words, word_of_width
from shared.mpc.selection import word_masks
from shared.mpc.sharing import BinaryShare, public_binary_share
from shared.secure_tree.gain_ratio.arrays import interleaved
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, as_words

_MASK_BITS: Final = 64


def all_in_root(party: Party, records: int) -> BinaryShare:
    """Everybody in slot 0: packed bits, shape (1, ceil(n / 64))."""
    return public_binary_share(party.index, pack(np.ones((1, records), U8)))


def answers(
    party: Party,
    plan: GainRatioPlan,
    keys: Sequence[BinaryShare],
    members: BinaryShare,
    thresholds: BinaryShare,
    chosen: BinaryShare,
) -> Program[BinaryShare]:
    """Whether each record is above the threshold of its slot, in the slot's column.

    Every record gets its slot's threshold and the column's indicators, picks its own code by them, and compares.
    A leaf has threshold 0 and no column, so its records pick 0 and are not above.
    Args: keys: a column each, shape (n,). members: packed bits, shape (slots, ceil(n / 64)). thresholds: shape
        (slots,). chosen: words 0 or 1, shape (columns, slots).
    Returns: packed bits, shape (ceil(n / 64),).
    Rounds: 2, and those of `less_than_words`. Sends, a record: 6 words of a code, 3 words of a bit a column, and
        the comparison. Leaks: nothing.
    """
    size = keys[0].shape[0]
    groups = [
        range(first, min(first + _MASK_BITS, plan.columns)) for first in range(0, plan.columns, _MASK_BITS)
    ]
    masks = [_joined_bits(chosen[group.start : group.stop]) for group in groups]
    threshold, *marks = yield from together(
        *(handed_out(party, members, values, size) for values in (thresholds, *masks))
    )
    parts = np.zeros(size, plan.key_dtype)
    for group, mark in zip(groups, marks, strict=True):
        for place, column in enumerate(group):
            own = as_words(keys[column], plan.key_dtype)
            parts ^= conjunction_terms(word_masks(mark.bit(place), plan.key_dtype), own)
    code = yield from reshare_binary(party, parts)
    return (yield from less_than_words(party, threshold, code, plan.width))


def moved_on(party: Party, members: BinaryShare, right: BinaryShare) -> Program[BinaryShare]:
    """Members of the next layer's slots: of each slot the records that go left, then those that go right.

    Args: members: shape (slots, words). right: packed bits, shape (words,).
    Rounds: 1. Sends: 3 bits a record and slot. Leaks: nothing.
    """
    moved = yield from conjunction(
        party, members, right.map(lambda part: np.broadcast_to(part, members.shape))
    )
    return interleaved(members ^ moved, moved)


def handed_out(party: Party, members: BinaryShare, values: BinaryShare, size: int) -> Program[BinaryShare]:
    """To every record its slot's word. Args: values: shape (slots,). Returns: shape (n,).

    Rounds: 1. Sends: 3 words a record. Leaks: nothing.
    """
    parts = np.zeros(size, values.dtype)
    for slot in range(len(values)):
        mine = word_masks(unpack_bits(members[slot], size), values.dtype)
        parts ^= conjunction_terms(mine, values[slot : slot + 1])
    return (yield from reshare_binary(party, parts))


def _joined_bits(rows: BinaryShare) -> BinaryShare:
    """Rows of bits to one word a column of the array, the first row in the lowest bit."""
    return rows.map(_words_of_rows)


def _words_of_rows(rows: Words) -> Words:
    dtype = word_of_width(len(rows))
    words = np.zeros(rows.shape[1], dtype)
    for place, row in enumerate(rows):
        words |= (row & row.dtype.type(1)).astype(dtype) << dtype.type(place)
    return words
