"""The best of many candidates, two by two; on equal ones the first wins. Words ride along with the winners.

Numbers decide, and are carried by the comparison itself. The words of a candidate (its code, its column) stay
XOR-shared and follow the bits of the comparisons one round later, beside the next comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shared.mpc.arithmetic import conjunction, conjunction_terms, reshare_binary
from shared.mpc.comparison import less_than_choosing
from shared.mpc.conversion import sign_bits
from shared.mpc.fractions import wide_fraction_choosing
from shared.mpc.masked_bits import choices_from_terms
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import Words
from shared.mpc.selection import low_bits, word_masks
from shared.mpc.sharing import BinaryShare, Share

Entrants = list[Any]
"""Arrays of one length along the first axis, one candidate each; what they mean is the comparison's business."""
Match = Callable[[Party, Entrants, Entrants], Program[tuple[Entrants, BinaryShare]]]
"""Given left and right entrants, the winners, and words 0 or 1: 1 where the right one is better."""


def knock_out(
    party: Party, entrants: Sequence[Any], words: Sequence[BinaryShare], match: Match
) -> Program[tuple[Entrants, list[BinaryShare]]]:
    """The best along the first axis.

    Args: entrants: shapes (candidates, ..). words: shape (candidates, w); the match's bits have this w.
    Returns: both with one candidate left, first axis of length 1.
    Rounds: those of a match for each of log2(candidates) levels, rounded up, and 1.
    Sends: candidates - 1 matches, and 3 words for each of the words in each. Leaks: nothing.
    """
    field, riding, wins = list(entrants), list(words), None
    while (pairs := len(field[0]) // 2) > 0:
        playing: list[Program[Any]] = [match(party, _lefts(field, pairs), _rights(field, pairs))]
        if wins is not None:
            playing.append(_follow(party, wins, riding))
        (winners, next_wins), *rode = yield from together(*playing)
        if rode:
            riding = rode[0]
        field = [_with_rest(won, one[2 * pairs :]) for won, one in zip(winners, field, strict=True)]
        wins = next_wins
    if wins is not None:
        riding = yield from _follow(party, wins, riding)
    return field, riding


def by_fraction(party: Party, left: Entrants, right: Entrants) -> Program[tuple[Entrants, BinaryShare]]:
    """Numerators and positive denominators, uint64, shape (pairs, w).

    Source: protocol section 11, step 7. Rounds: 7. Sends: 137.875 bytes a pair. Leaks: nothing.
    """
    shape = left[0].shape
    (b, e), (a, d) = ([x.reshape(-1) for x in side] for side in (left, right))
    differences = _stacked([a - b, d - e])
    bits, products = yield from wide_fraction_choosing(party, a, d, b, e, differences)
    winners = [(b + products[0]).reshape(*shape), (e + products[1]).reshape(*shape)]
    return winners, low_bits(bits).reshape(*shape)


def by_numerator(party: Party, left: Entrants, right: Entrants) -> Program[tuple[Entrants, BinaryShare]]:
    """Numerators, uint32 with differences below 2^31, shape (pairs, w), and packed bits of validity, (pairs, w / 64).

    A valid candidate beats an invalid one. right wins = v_right (1 - v_left + v_left [left < right]).
    Source: protocol section 11, step 6. Rounds: 6. Sends: 48.. bytes a pair. Leaks: nothing.
    """
    (numerators, valid), (others, others_valid) = left, right
    shape, difference = numerators.shape, (others - numerators).reshape(1, -1)
    both_valid: list[BinaryShare] = []

    def right_wins() -> Program[Words]:
        greater, both = yield from together(
            sign_bits(party, -difference[0]), conjunction(party, valid, others_valid)
        )
        both_valid.append(both)
        parts = conjunction_terms(both, greater.reshape(*both.shape))
        parts ^= both.own
        parts ^= others_valid.own
        return parts.reshape(-1)

    bits, products = yield from choices_from_terms(party, right_wins(), difference)
    either_valid = valid ^ others_valid ^ both_valid[0]
    return [numerators + products.reshape(*shape), either_valid], low_bits(bits).reshape(*shape)


def by_count(party: Party, left: Entrants, right: Entrants) -> Program[tuple[Entrants, BinaryShare]]:
    """Counts, uint32, shape (pairs, w). Rounds: 5. Leaks: nothing."""
    shape = left[0].shape
    [x], [y] = ([x.reshape(-1) for x in side] for side in (left, right))
    bits, products = yield from less_than_choosing(party, x, y, (y - x).reshape(1, -1))
    return [(x + products[0]).reshape(*shape)], low_bits(bits).reshape(*shape)


def _follow(party: Party, wins: BinaryShare, riding: list[BinaryShare]) -> Program[list[BinaryShare]]:
    pairs = len(wins)
    winners = yield from together(
        *(
            _followed(party, wins, x, y)
            for x, y in zip(_lefts(riding, pairs), _rights(riding, pairs), strict=True)
        )
    )
    return [_with_rest(won, one[2 * pairs :]) for won, one in zip(winners, riding, strict=True)]


def _followed(party: Party, wins: BinaryShare, left: BinaryShare, right: BinaryShare) -> Program[BinaryShare]:
    parts = conjunction_terms(word_masks(wins, left.dtype), left ^ right)
    parts ^= left.own
    return (yield from reshare_binary(party, parts))


def _lefts(field: list[Any], pairs: int) -> list[Any]:
    return [one[0 : 2 * pairs : 2] for one in field]


def _rights(field: list[Any], pairs: int) -> list[Any]:
    return [one[1 : 2 * pairs : 2] for one in field]


def _with_rest(won: Any, rest: Any) -> Any:
    if not len(rest):
        return won
    return type(won)(np.concatenate([won.own, rest.own]), np.concatenate([won.next, rest.next]))


def _stacked(rows: Sequence[Share]) -> Share:
    return Share(np.stack([row.own for row in rows]), np.stack([row.next for row in rows]))
