"""The greatest of some numbers, the lowest place where it stands, and what goes with it.

Two ways, mixed by size. In a tournament of pairs each level costs a comparison: few bytes, many rounds. In a group of
g all pairs are compared at once and a number wins that beats all the others: ceil(log2(g - 1)) rounds more than one
comparison, but (g - 1) / 2 comparisons a number. Small inputs wait for the network, so their groups are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.arithmetic import add_public
from shared.mpc.bits import pack_bits, unpack_bits
from shared.mpc.comparison import less_than, less_than_choosing
from shared.mpc.conversion import sign_bits
from shared.mpc.gates import all_terms
from shared.mpc.masked_bits import choices_from_terms, numbers_from_terms
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U32, Words
from shared.mpc.sharing import Share, public_binary_share, public_share

COMPARISONS_AT_ONCE: Final = 2**14
"""Groups grow as long as a level does not compare more than this."""


def maximum_with_index(
    party: Party, values: Share, width_bits: int | None = None, carried: Sequence[Share] = ()
) -> Program[tuple[Share, Share, list[Share]]]:
    """The maximum along the first axis, its lowest index, and the entries of other arrays at that index.

    Args: values: shape (k, ...), signed; differences are below 2^(width_bits - 1), by default half of the ring.
        carried: of the values' shape and ring.
    Returns: maximum, index (uint32) and carried entries, each of the values' shape without the first axis.
    Rounds: for each level of groups of g those of a comparison and ceil(log2(g - 1)), at least 3; groups are as large
        as `COMPARISONS_AT_ONCE` allows, often one of all k. Sends: groups of two: one comparison and one product a
        field and pair (fields: value, carried, and the index after the first level); larger ones: (g - 1) / 2
        comparisons and one product a field for every number. Leaks: nothing.
    """
    rest = values.shape[1:]
    fields = _joined([one.reshape(1, len(one), -1) for one in (values, *carried)], axis=0)
    zero = public_share(party.index, 0, fields.dtype, fields.shape[1:])
    index = None
    while fields.shape[1] > 1:
        group = _group_size(*fields.shape[1:])
        fields, place = yield from _level(party, fields, group, width_bits)
        if index is None:
            index = place
            fields = _joined([fields, index.reshape(1, *index.shape)], axis=0)
    if index is None:
        fields = _joined([fields, zero.reshape(1, *zero.shape)], axis=0)
    best, *entries, place = (fields[row, 0].reshape(*rest) for row in range(fields.shape[0]))
    return best, place.to_ring32(), entries


def index_of_maximum(party: Party, values: Share, width_bits: int | None = None) -> Program[Share]:
    """The lowest index of the maximum along the first axis, without the maximum.

    Args: as `maximum_with_index`. Returns: uint32, the values' shape without the first axis.
    Rounds: as there. Sends: in one group of all k, no products of fields. Leaks: nothing.
    """
    count, rest = len(values), values.shape[1:]
    flat = values.reshape(count, -1)
    if count == 2:
        return (yield from less_than(party, values[0], values[1], U32, width_bits))
    if count == 1 or _group_size(*flat.shape) < count:
        _, index, _ = yield from maximum_with_index(party, values, width_bits)
        return index
    wins = yield from numbers_from_terms(
        party, _win_terms(party, flat, _plan(count, count), width_bits), flat.own.size, U32
    )
    return _weighted(wins.reshape(*flat.shape)).sum(axis=0).reshape(*rest)


def _group_size(count: int, columns: int) -> int:
    """Largest g with (g - 1) / 2 * count * columns comparisons within the bound."""
    return max(2, min(count, 1 + 2 * COMPARISONS_AT_ONCE // max(1, count * columns)))


def _level(party: Party, fields: Share, group: int, width_bits: int | None) -> Program[tuple[Share, Share]]:
    """The winners of groups of neighbours. Args: fields: shape (f, k, n), [0] is compared.

    Returns: fields of the winners, shape (f, groups, n), and their places among the k.
    """
    if group == 2:
        return (yield from _best_of_pairs(party, fields, width_bits))
    shape = fields.shape
    plan = _plan(shape[1], group)
    terms = _win_terms(party, fields[0], plan, width_bits)
    wins, products = yield from choices_from_terms(party, terms, fields.reshape(shape[0], -1))
    chosen = products.reshape(*shape).map(
        lambda part: np.add.reduceat(part, plan.starts, axis=1, dtype=part.dtype)
    )
    places = _weighted(wins.reshape(*shape[1:])).map(
        lambda part: np.add.reduceat(part, plan.starts, axis=0, dtype=part.dtype)
    )
    return chosen, places


def _best_of_pairs(party: Party, fields: Share, width_bits: int | None) -> Program[tuple[Share, Share]]:
    """Groups of two: the right one replaces the left one if it is greater."""
    rows, count, columns = fields.shape
    pairs = count // 2
    left, right = fields[:, 0 : 2 * pairs : 2], fields[:, 1 : 2 * pairs : 2]
    replaced, products = yield from less_than_choosing(
        party, left[0].reshape(-1), right[0].reshape(-1), (right - left).reshape(rows, -1), width_bits
    )
    chosen = left + products.reshape(rows, pairs, columns)
    even = np.arange(0, 2 * pairs, 2, dtype=fields.dtype)[:, None]
    places = add_public(party, replaced.reshape(pairs, columns), even)
    if count % 2:
        chosen = _joined([chosen, fields[:, -1:]], axis=1)
        last = public_share(party.index, count - 1, fields.dtype, (1, columns))
        places = _joined([places, last], axis=0)
    return chosen, places


@dataclass(frozen=True, slots=True)
class _Plan:
    """Who meets whom in groups of neighbours.

    `lower`, `upper`: the pairs. `meetings`: shape (g - 1, k), which pair decides over a number; `by_not`: where it
    wins if the pair's bit [lower < upper] is 0. A number of a smaller last group meets the pair after the last, whose
    bit is 0, and wins. `starts`: first number of each group.
    """

    lower: NDArray[np.intp]
    upper: NDArray[np.intp]
    meetings: NDArray[np.intp]
    by_not: NDArray[np.uint8]
    starts: NDArray[np.intp]


@lru_cache(maxsize=64)
def _plan(count: int, group: int) -> _Plan:
    starts = range(0, count, group)
    pairs = [
        (i, j)
        for start in starts
        for i in range(start, min(start + group, count))
        for j in range(i + 1, min(start + group, count))
    ]
    meetings = np.full((group - 1, count), len(pairs), np.intp)
    by_not = np.ones((group - 1, count), U8)
    met = [0] * count
    for pair, (i, j) in enumerate(pairs):
        for number, wins_by_not in ((i, 1), (j, 0)):
            meetings[met[number], number] = pair
            by_not[met[number], number] = wins_by_not
            met[number] += 1
    lower, upper = np.array(pairs, np.intp).T
    return _Plan(lower, upper, meetings, by_not[:, :, None], np.array(starts, np.intp))


def _win_terms(party: Party, values: Share, plan: _Plan, width_bits: int | None) -> Program[Words]:
    """XOR parts of packed bits, in the order of the values: who beats all of its group. Args: values: shape (k, n)."""
    columns = values.shape[1]
    pairs = len(plan.lower)
    differences = values[plan.lower] - values[plan.upper]
    signs = yield from sign_bits(party, differences.reshape(-1), width_bits)
    less = unpack_bits(signs, pairs * columns).map(
        lambda part: np.concatenate([part, np.zeros(columns, U8)]).reshape(pairs + 1, columns)
    )
    wins = less[plan.meetings] ^ public_binary_share(party.index, plan.by_not)
    return (yield from all_terms(party, pack_bits(wins.reshape(len(plan.meetings), -1))))


def _weighted(wins: Share) -> Share:
    """Row i times i."""
    return wins.times(np.arange(len(wins), dtype=wins.dtype)[:, None])


def _joined(shares: Sequence[Share], axis: int) -> Share:
    return Share(
        np.concatenate([one.own for one in shares], axis=axis),
        np.concatenate([one.next for one in shares], axis=axis),
    )
