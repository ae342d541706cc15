"""Fractions by levels: in pairs while there are many, all against all in larger groups once there are few.

Few candidates wait for the network, not for the processor. In a group of g all pairs are compared at once and the first
that no other beats wins: ceil(log2(g - 1)) rounds more than one comparison, in place of log2(g) comparisons in a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from shared.mpc.arithmetic import conjunction_terms, reshare_binary
from shared.mpc.bits import WORD_BITS
from shared.mpc.fractions import wide_fraction_greater
from shared.mpc.gates import all_terms, complement
from shared.mpc.masked_bits import choices_from_terms
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U64, Words
from shared.mpc.selection import low_bits, word_masks
from shared.mpc.sharing import BinaryShare, Share, concatenate_binary, public_share
from shared.secure_tree.gain_ratio.arrays import stacked
from shared.secure_tree.gain_ratio.knock_out import Follow, Riding, by_pairs
from shared.secure_tree.gain_ratio.matches import Entrants, by_fraction

COMPARISONS_AT_ONCE: Final = 2**13
"""Groups of more than two are formed where a level then compares no more pairs than this."""
LARGEST_GROUP: Final = 16

_pairs = by_pairs(by_fraction)


def by_fractions(party: Party, field: Entrants) -> Program[tuple[Entrants, Follow]]:
    """One level for numerators and positive denominators, uint64, shape (candidates, w).

    Source: protocol section 11, step 7: any order of evaluation gives its result, as the first of equals always wins.
    Rounds: 7 in pairs, 7 + ceil(log2(g - 1)) in groups of g. Sends: 137.875 bytes a pair, or 65.5 bytes a pair of the
        group and 73 bytes a candidate; 3 words for each word of a winner. Leaks: nothing.
    """
    size = group_size(*field[0].shape)
    if size == 2:
        return (yield from _pairs(party, field))
    return (yield from _all_at_once(party, field, size))


def group_size(candidates: int, width: int) -> int:
    """How many candidates meet at once. Args: width: how many such fields are played side by side."""
    size = 2
    for larger in (4, 8, LARGEST_GROUP):
        columns = _columns(candidates, width, larger)
        if larger // 2 < candidates and columns * larger * (larger - 1) // 2 <= COMPARISONS_AT_ONCE:
            size = larger
    return size


def _columns(candidates: int, width: int, size: int) -> int:
    """Groups side by side, filled up to whole words of packed bits."""
    return -(-(-(-candidates // size) * width) // WORD_BITS) * WORD_BITS


def _all_at_once(party: Party, field: Entrants, size: int) -> Program[tuple[Entrants, Follow]]:
    candidates, width = field[0].shape
    groups = -(-candidates // size)
    numbers = [_grouped(party, one, size, fill) for one, fill in zip(field, (-1, 1), strict=True)]
    columns = numbers[0].shape[1]
    differences = stacked(numbers).reshape(2, -1)
    bits, products = yield from choices_from_terms(party, _unbeaten(party, numbers, size), differences)
    best = products.map(lambda part: part.reshape(2, size, columns).sum(axis=1, dtype=U64))
    winners = [best[row, : groups * width].reshape(groups, width) for row in range(2)]
    wins = low_bits(bits).reshape(size, columns)
    return winners, partial(_follow, party, wins, (groups, width))


def _unbeaten(party: Party, numbers: Sequence[Share], size: int) -> Program[Words]:
    """XOR parts of packed bits, 1 where a candidate is greater than all before it and not less than any after it."""
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    earlier, later = ([pair[side] for pair in pairs] for side in (0, 1))
    a, d = (one[later].reshape(-1) for one in numbers)
    b, e = (one[earlier].reshape(-1) for one in numbers)
    greater = (yield from wide_fraction_greater(party, a, d, b, e)).reshape(len(pairs), -1)
    not_greater = complement(party, greater)
    place = {pair: index for index, pair in enumerate(pairs)}
    rows = []
    for other in range(size - 1):
        own = [
            greater[place[other, i]] if other < i else not_greater[place[i, other + 1]] for i in range(size)
        ]
        rows.append(concatenate_binary(own))
    return (yield from all_terms(party, stacked(rows)))


def _follow(party: Party, wins: BinaryShare, shape: tuple[int, int], riding: Riding) -> Program[Riding]:
    """The words of the winners. Rounds: 1."""
    return (yield from together(*(_followed(party, wins, shape, word) for word in riding)))


def _followed(
    party: Party, wins: BinaryShare, shape: tuple[int, int], word: BinaryShare
) -> Program[BinaryShare]:
    size, columns = wins.shape
    grouped = word.map(lambda part: _rows(part, size, columns))
    masks = word_masks(wins, word.dtype)
    parts = np.bitwise_xor.reduce(conjunction_terms(masks, grouped), axis=0)[: shape[0] * shape[1]]
    return (yield from reshare_binary(party, parts.reshape(shape)))


def _grouped(party: Party, one: Share, size: int, fill: int) -> Share:
    """Candidates as (size, groups side by side), filled up with a number that never wins."""
    columns = _columns(one.shape[0], one.shape[1], size)
    missing = public_share(party.index, fill, one.dtype, (1, 1))
    return Share(
        _rows(one.own - missing.own, size, columns) + missing.own,
        _rows(one.next - missing.next, size, columns) + missing.next,
    )


def _rows(part: Words, size: int, columns: int) -> Words:
    """Shape (candidates, w) to (size, columns): candidate c of column q to row c mod size of group c // size."""
    candidates, width = part.shape
    groups = -(-candidates // size)
    filled = np.zeros((groups * size, width), part.dtype)
    filled[:candidates] = part
    rows = np.zeros((size, columns), part.dtype)
    rows[:, : groups * width] = filled.reshape(groups, size, width).swapaxes(0, 1).reshape(size, -1)
    return rows
