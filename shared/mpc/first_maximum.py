"""Where the first maximum of some numbers stands, as a bit for each number, among those that may win.

Unlike `shared.mpc.maximum`, which returns numbers, the answer is 1 for the winner and 0 for all others. All pairs of a
group are compared at once. What speaks against a number, a rival that beats it or a condition it does not meet, is
counted, and one test of the count for zero takes the place of a tree of ANDs.

Arguments are programs, so that whatever they take shares its rounds with the comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.mpc.arithmetic import add_public, product_terms, reshare, reshare_binary
from shared.mpc.bits import pack_bits, unpack_bits
from shared.mpc.comparison import zero_terms
from shared.mpc.conversion import bits_to_arithmetic, sign_terms
from shared.mpc.gates import all_terms
from shared.mpc.halves import half_of
from shared.mpc.masked_bits import numbers_from_terms
from shared.mpc.program import Party, Program, T, together
from shared.mpc.ring import U8, U32, Words
from shared.mpc.sharing import BinaryShare, Share, concatenate_binary, public_binary_share

COMPARISONS_AT_ONCE: Final = 2**19
"""Groups grow as long as no more pairs than this are compared at once; P0 holds some 300 bytes for each."""


def ready(value: T) -> Program[T]:
    """A program that is over at once, for what is there already. Rounds: 0."""
    return value
    yield


def all_of(party: Party, rows: Sequence[BinaryShare]) -> Program[BinaryShare]:
    """The AND of equally shaped arrays of 0/1 bytes.

    Rounds: ceil(log2 of their number), none for one. Sends: 3/8 byte a gate and element, in whole words. Leaks:
    nothing.
    """
    if len(rows) == 1:
        return rows[0].masked(1)
    shape = rows[0].shape
    # Only the lowest bits of the parts of a shared 0 or 1 mean anything, and packing looks at all.
    packed = pack_bits(concatenate_binary([row.reshape(1, -1) for row in rows]).masked(1))
    met = yield from reshare_binary(party, (yield from all_terms(party, packed)))
    return unpack_bits(met, int(np.prod(shape))).reshape(*shape)


def first_maximum(
    party: Party,
    shape: tuple[int, int],
    values: Program[Share],
    width_bits: int,
    may_win: Program[BinaryShare] | None = None,
    conditions: Sequence[Program[BinaryShare]] = (),
) -> Program[BinaryShare]:
    """1 at the lowest index of the maximum along the first axis, if the conditions hold there; 0 elsewhere.

    Args: shape: (k, n). values: of that shape; signed differences below 2^(width_bits - 1). may_win: 0/1 bytes of that
        shape: only those with 1 compete; where there is none, the column is 0. conditions: 0/1 bytes that broadcast
        to the shape, which the winner must meet besides: they do not change who wins.
    Returns: 0/1 bytes, shape (k, n).
    Rounds: one group (all k, unless there are very many): those of the values and of a comparison, or of the longest
        condition and 2, whatever is more; then 2 up to 63 rivals and conditions, and 1 for `may_win`. For k = 1:
        those of the arguments and ceil(log2(conditions)).
    Sends: for each number (k - 1) / 2 comparisons to numbers of uint32, and 8 to 32 bytes; with `may_win` 24 more.
    Leaks: nothing.
    """
    count, columns = shape
    group = max(2, min(count, 2 * COMPARISONS_AT_ONCE // max(1, count * columns)))
    if 1 < count <= group:
        return (yield from _of_one_group(party, shape, values, width_bits, may_win, conditions))
    candidates: list[Program[BinaryShare]] = [] if may_win is None else [may_win]
    found: list[Any] = yield from together(*_any(values), *_any(*candidates), *_any(*conditions))
    bits = [_spread(each, shape) for each in found[1:]]
    if count == 1:
        return (yield from all_of(party, bits or [_ones(party, shape)]))
    return (
        yield from _of_groups(
            party, found[0], width_bits, group, bits[: len(candidates)], bits[len(candidates) :]
        )
    )


def _of_one_group(
    party: Party,
    shape: tuple[int, int],
    values: Program[Share],
    width_bits: int,
    may_win: Program[BinaryShare] | None,
    conditions: Sequence[Program[BinaryShare]],
) -> Program[BinaryShare]:
    pairs = _pairs(shape[0])
    demands = [*conditions] if may_win is None else [may_win, *conditions]
    less, *met = yield from together(
        _less(party, values, pairs, width_bits), *(_numbers(party, demand, shape) for demand in demands)
    )
    against = yield from _beaten(party, less, pairs, None if may_win is None else met[0])
    for number in met:
        against = against - number
    against = add_public(party, against, len(met))
    most = shape[0] - 1 + len(met)
    terms = yield from zero_terms(party, against.reshape(-1), most.bit_length())
    unbeaten = yield from reshare_binary(party, terms)
    return unpack_bits(unbeaten, shape[0] * shape[1]).reshape(*shape)


def _less(party: Party, values: Program[Share], pairs: _Pairs, width_bits: int) -> Program[Share]:
    """1 for each pair whose lower number is less than the upper one: uint32, shape (pairs, n)."""
    numbers = yield from values
    differences = (numbers[pairs.lower] - numbers[pairs.upper]).reshape(-1)
    terms = sign_terms(party, half_of(party, differences), width_bits)
    less = yield from numbers_from_terms(party, terms, len(differences), U32)
    return less.reshape(len(pairs.lower), -1)


def _beaten(party: Party, less: Share, pairs: _Pairs, may_win: Share | None) -> Program[Share]:
    """How many of its rivals beat each number, those with `may_win` only; uint32, shape (k, n)."""
    # A rival of higher index beats a number that is less, one of lower index a number that is not more.
    by_rival = less[pairs.meetings].times(pairs.signs)
    by_rival = add_public(party, by_rival, np.broadcast_to(pairs.offsets, by_rival.shape))
    if may_win is None:
        return by_rival.sum(axis=0)
    terms = product_terms(by_rival, may_win[pairs.others])
    return (yield from reshare(party, terms.sum(axis=0, dtype=U32)))


def _of_groups(
    party: Party,
    values: Share,
    width_bits: int,
    group: int,
    candidates: list[BinaryShare],
    conditions: list[BinaryShare],
) -> Program[BinaryShare]:
    """Winners of groups of neighbours, then the winner of those."""
    count, columns = values.shape
    parts = [slice(start, min(start + group, count)) for start in range(0, count, group)]
    winners = yield from together(
        *(
            first_maximum(
                party,
                (part.stop - part.start, columns),
                ready(values[part]),
                width_bits,
                ready(candidates[0][part]) if candidates else None,
            )
            for part in parts
        )
    )
    best = yield from _values_of(party, values, winners, parts)
    # A group without a candidate has no winner, so the XOR of its winners tells whether it has one.
    alive = [concatenate_binary([_xor_of(won).reshape(1, -1) for won in winners])] if candidates else []
    of_groups = yield from first_maximum(
        party, (len(parts), columns), ready(best), width_bits, ready(alive[0]) if alive else None
    )
    numbers = np.repeat(np.arange(len(parts)), [len(won) for won in winners])
    return (yield from all_of(party, [of_groups[numbers], concatenate_binary(winners), *conditions]))


def _values_of(party: Party, values: Share, winners: list[BinaryShare], parts: list[slice]) -> Program[Share]:
    """The winner's number of each group, 0 without a winner; shape (groups, n)."""
    chosen = yield from bits_to_arithmetic(party, concatenate_binary(winners), values.dtype)
    terms = product_terms(chosen, values)
    return (yield from reshare(party, np.add.reduceat(terms, [part.start for part in parts], axis=0)))


def _numbers(party: Party, bits: Program[BinaryShare], shape: tuple[int, int]) -> Program[Share]:
    """Bits that broadcast to a shape, as uint32 numbers of that shape."""
    found = yield from bits
    numbers = yield from bits_to_arithmetic(party, found.masked(1), U32)
    return numbers.map(lambda part: np.broadcast_to(part, shape))


def _spread(bits: BinaryShare, shape: tuple[int, int]) -> BinaryShare:
    return bits.map(lambda part: np.broadcast_to(part, shape))


def _xor_of(rows: BinaryShare) -> BinaryShare:
    return rows.map(lambda part: np.bitwise_xor.reduce(part, axis=0))


def _ones(party: Party, shape: tuple[int, int]) -> BinaryShare:
    return public_binary_share(party.index, np.ones(shape, U8))


def _any(*programs: Program[Any]) -> tuple[Program[Any], ...]:
    """Programs of different results for one `together`."""
    return programs


@dataclass(frozen=True, slots=True)
class _Pairs:
    """All pairs lower < upper of k numbers.

    `meetings`, `others`: shape (k - 1, k), the pairs of each number and whom it meets there. Whether that rival beats
    it is the pair's bit [lower < upper] times `signs` plus `offsets`, shape (k - 1, k, 1).
    """

    lower: NDArray[np.intp]
    upper: NDArray[np.intp]
    meetings: NDArray[np.intp]
    others: NDArray[np.intp]
    signs: Words
    offsets: Words


@lru_cache(maxsize=64)
def _pairs(count: int) -> _Pairs:
    lower, upper = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.intp)
    place[lower, upper] = place[upper, lower] = np.arange(len(lower))
    number = np.arange(count)
    slot = np.arange(count - 1)[:, None]
    others = slot + (slot >= number)
    by_not = (others < number)[:, :, None].astype(U32)
    return _Pairs(lower, upper, place[number, others], others, 1 - 2 * by_not, by_not)
