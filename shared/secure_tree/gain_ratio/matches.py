"""Two candidates against each other, many pairs at a time: the right one wins only if it is better.

Each takes the numbers of left and right candidates and returns those of the winners, and words 0 or 1: 1 where the
right one won. How levels of matches follow each other is `knock_out`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.mpc.arithmetic import conjunction, conjunction_terms
from shared.mpc.comparison import less_than_choosing
from shared.mpc.conversion import sign_bits
from shared.mpc.fractions import wide_fraction_choosing
from shared.mpc.masked_bits import choices_from_terms
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import Words
from shared.mpc.selection import low_bits
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.gain_ratio.arrays import stacked

Entrants = list[Any]
"""Arrays of one length along the first axis, one candidate each; what they mean is the match's business."""
Match = Callable[[Party, Entrants, Entrants], Program[tuple[Entrants, BinaryShare]]]


def by_fraction(party: Party, left: Entrants, right: Entrants) -> Program[tuple[Entrants, BinaryShare]]:
    """Numerators and positive denominators, uint64, shape (pairs, w).

    Source: protocol section 11, step 7. Rounds: 7. Sends: 137.875 bytes a pair. Leaks: nothing.
    """
    shape = left[0].shape
    (b, e), (a, d) = ([x.reshape(-1) for x in side] for side in (left, right))
    differences = stacked([a - b, d - e])
    bits, products = yield from wide_fraction_choosing(party, a, d, b, e, differences)
    winners = [(b + products[0]).reshape(*shape), (e + products[1]).reshape(*shape)]
    return winners, low_bits(bits).reshape(*shape)


def by_numerator(party: Party, left: Entrants, right: Entrants) -> Program[tuple[Entrants, BinaryShare]]:
    """Numerators, uint32 with differences below 2^31, shape (pairs, w), and packed bits of validity, (pairs, w / 64).

    A valid candidate beats an invalid one. right wins = v_right (1 - v_left + v_left [left < right]).
    Source: protocol section 11, step 6. Rounds: 6. Sends: 49 bytes a pair. Leaks: nothing.
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
    """Counts, uint32, shape (pairs, w). Rounds: 5. Sends: 48.25 bytes a pair. Leaks: nothing."""
    shape = left[0].shape
    [x], [y] = ([x.reshape(-1) for x in side] for side in (left, right))
    bits, products = yield from less_than_choosing(party, x, y, (y - x).reshape(1, -1))
    return [(x + products[0]).reshape(*shape)], low_bits(bits).reshape(*shape)
