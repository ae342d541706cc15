"""Inner products between slots and positions: what belongs to a slot to its positions, and back.

`flags` has shape (slots, n): 1 where a position is the slot's. Whatever the lengths, a result costs one word a party.
"""

from __future__ import annotations

import numpy as np

from shared.mpc.arithmetic import conjunction_terms, reshare, reshare_binary
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share


def spread(party: Party, flags: Share, values: Share) -> Program[Share]:
    """To every position its slot's values. Args: values: shape (k, slots). Returns: shape (k, n).

    Rounds: 1. Sends: 3 words a result. Leaks: nothing.
    """
    total = np.zeros((values.shape[0], flags.shape[1]), flags.dtype)
    both = values.own + values.next
    for slot in range(flags.shape[0]):
        for row, target in enumerate(total):
            target += flags.own[slot] * both[row, slot]
            target += flags.next[slot] * values.own[row, slot]
    return (yield from reshare(party, total))


def totals(party: Party, flags: Share, columns: Share) -> Program[Share]:
    """Of every slot the sum of some columns. Args: columns: shape (k, n). Returns: shape (k, slots).

    Rounds: 1. Sends: 3 words a result. Leaks: nothing.
    """
    total = _dots(columns.own + columns.next, flags.own)
    total += _dots(columns.own, flags.next)
    return (yield from reshare(party, total))


def _dots(rows: Words, flags: Words) -> Words:
    return np.array([[np.dot(row, flag) for flag in flags] for row in rows], flags.dtype)


def any_of(party: Party, x: BinaryShare, y: BinaryShare) -> Program[BinaryShare]:
    """XOR over the first axis of x AND y. Args: shapes (k, n). Rounds: 1. Sends: 3 words a result. Leaks: nothing."""
    return (yield from reshare_binary(party, np.bitwise_xor.reduce(conjunction_terms(x, y), axis=0)))
