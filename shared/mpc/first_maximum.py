"""Where the first maximum of some numbers stands, as a bit for each number, among those that may win.

Unlike `shared.mpc.maximum`, which returns numbers, the answer stays in bits: 1 for the winner, 0 for all others. All
pairs of a group are compared at once, and a number wins that no other one beats. Conditions of any kind join the same
tree of ANDs, so that they cost no round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.arithmetic import conjunction, product_terms, reshare, reshare_binary
from shared.mpc.bits import pack_bits, unpack_bits
from shared.mpc.conversion import bits_to_arithmetic, sign_bits
from shared.mpc.gates import all_terms
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U8
from shared.mpc.selection import negated
from shared.mpc.sharing import BinaryShare, Share, concatenate_binary, public_binary_share

COMPARISONS_AT_ONCE: Final = 2**19
"""Groups grow as long as no more pairs than this are compared at once; P0 holds some 300 bytes for each."""


def all_of(party: Party, rows: Sequence[BinaryShare]) -> Program[BinaryShare]:
    """The AND of equally shaped arrays of 0/1 bytes.

    Rounds: ceil(log2 of their number), none for one. Sends: 3/8 byte a gate and element, in
    whole words. Leaks: nothing.
    """
    if len(rows) == 1:
        return rows[0].masked(1)
    shape = rows[0].shape
    packed = _packed(_stacked([row.reshape(1, -1) for row in rows]))
    return (yield from _all_packed(party, packed, shape))


def first_maximum(
    party: Party,
    values: Share,
    width_bits: int,
    may_win: BinaryShare | None = None,
    conditions: Sequence[BinaryShare] = (),
) -> Program[BinaryShare]:
    """1 at the lowest index of the maximum along the first axis, if the conditions hold there; 0 elsewhere.

    Args: values: shape (k, n); signed differences below 2^(width_bits - 1). may_win: 0/1 bytes, shape (k, n): only
        those with 1 compete; where there is none, the column is 0. conditions: 0/1 bytes, shape (k, n), which the
        winner must meet besides: they do not change who wins.
    Returns: 0/1 bytes, shape (k, n).
    Rounds: one group (all k, unless there are very many): those of a comparison, ceil(log2(k - 1 + conditions)), and
        with `may_win` one more and one more condition. Sends: (k - 1) / 2 comparisons and k - 1 gates a number, twice
        as many gates with `may_win`. Leaks: nothing.
    """
    count, columns = values.shape
    group = max(2, min(count, 2 * COMPARISONS_AT_ONCE // max(1, count * columns)))
    if group >= count:
        losing = yield from _losing(party, values, width_bits, may_win)
        met = [*losing, *conditions] if may_win is None else [*losing, may_win, *conditions]
        return (yield from all_of(party, met or [_ones(party, values.shape)]))
    parts = [slice(start, start + group) for start in range(0, count, group)]
    winners = yield from together(
        *(
            first_maximum(party, values[part], width_bits, None if may_win is None else may_win[part])
            for part in parts
        )
    )
    best = yield from _values_of(party, values, winners, parts)
    # A group without a candidate has no winner, so the XOR of its winners tells whether it has one.
    alive = None if may_win is None else _stacked([_xor_of(won) for won in winners])
    of_groups = yield from first_maximum(party, best, width_bits, alive)
    spread = _stacked([of_groups[np.full(len(won), g)] for g, won in enumerate(winners)])
    return (
        yield from all_of(party, [spread.reshape(*values.shape), concatenate_binary(winners), *conditions])
    )


def _losing(
    party: Party, values: Share, width_bits: int, may_win: BinaryShare | None
) -> Program[list[BinaryShare]]:
    """For each of the k - 1 others of a number: 1 where that other one does not beat it."""
    count, columns = values.shape
    if count == 1:
        return []
    pairs = _pairs(count)
    differences = values[pairs.lower] - values[pairs.upper]
    signs = yield from sign_bits(party, differences.reshape(-1), width_bits)
    less = unpack_bits(signs, differences.own.size).reshape(len(pairs.lower), columns)
    unbeaten = less[pairs.meetings] ^ public_binary_share(
        party.index, np.broadcast_to(pairs.unbeaten_by_not, (count - 1, count, columns))
    )
    if may_win is not None:
        beaten = negated(party, unbeaten)
        rivals = may_win[pairs.others].reshape(-1)
        packed = yield from conjunction(party, _packed(beaten.reshape(-1)), _packed(rivals))
        unbeaten = negated(party, unpack_bits(packed, rivals.own.size).reshape(*beaten.shape))
    return [unbeaten[slot] for slot in range(count - 1)]


def _values_of(party: Party, values: Share, winners: list[BinaryShare], parts: list[slice]) -> Program[Share]:
    """The winner's number of each group, 0 without a winner; shape (groups, n)."""
    chosen = yield from bits_to_arithmetic(party, concatenate_binary(winners), values.dtype)
    terms = product_terms(chosen, values)
    return (yield from reshare(party, np.add.reduceat(terms, [part.start for part in parts], axis=0)))


def _all_packed(party: Party, rows: BinaryShare, shape: tuple[int, ...]) -> Program[BinaryShare]:
    met = yield from reshare_binary(party, (yield from all_terms(party, rows)))
    return unpack_bits(met, int(np.prod(shape))).reshape(*shape)


def _stacked(rows: list[BinaryShare]) -> BinaryShare:
    return concatenate_binary([row.reshape(-1, row.shape[-1]) for row in rows])


def _xor_of(rows: BinaryShare) -> BinaryShare:
    return rows.map(lambda part: np.bitwise_xor.reduce(part, axis=0))


def _packed(bits: BinaryShare) -> BinaryShare:
    """Only the lowest bits of the parts of a shared 0 or 1 mean anything, and packing looks at all."""
    return pack_bits(bits.masked(1))


def _ones(party: Party, shape: tuple[int, ...]) -> BinaryShare:
    return public_binary_share(party.index, np.ones(shape, U8))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """All pairs lower < upper of k numbers.

    `meetings`, `others`: shape (k - 1, k), the pairs of each number and whom it meets there. `unbeaten_by_not`: 1 where
    the pair's bit [lower < upper] must be 0 for the number to stand, shape (k - 1, k, 1).
    """

    lower: NDArray[np.intp]
    upper: NDArray[np.intp]
    meetings: NDArray[np.intp]
    others: NDArray[np.intp]
    unbeaten_by_not: NDArray[np.uint8]


@lru_cache(maxsize=64)
def _pairs(count: int) -> _Pairs:
    lower, upper = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.intp)
    place[lower, upper] = place[upper, lower] = np.arange(len(lower))
    number = np.arange(count)
    slot = np.arange(count - 1)[:, None]
    others = slot + (slot >= number)
    return _Pairs(lower, upper, place[number, others], others, (number < others).astype(U8)[:, :, None])
