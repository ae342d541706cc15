"""The best column at every position, by numerators alone (phase "attribute maximum").

At one position the left and right sizes, and so the denominator, are the same for all columns (protocol section 11,
step 6). Codes are not compared here, they ride along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shared.mpc.arithmetic import add_public, multiply
from shared.mpc.bits import WORD_BITS, packed_length, unpack_bits
from shared.mpc.conversion import bits_to_arithmetic
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32
from shared.mpc.sharing import BinaryShare, Share, public_binary_share
from shared.secure_tree.gain_ratio.arrays import filled_rows, stacked
from shared.secure_tree.gain_ratio.knock_out import by_pairs, knock_out
from shared.secure_tree.gain_ratio.matches import by_numerator
from shared.secure_tree.gain_ratio.numerators import ColumnScores
from shared.secure_tree.gain_ratio.orders import next_codes
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, as_words


@dataclass(frozen=True, slots=True)
class Candidates:
    """Tests as fractions; `words` ride along: code, column, and the next code where a grid is wanted. One shape.

    Where no test is valid the fraction is -1 / 1.
    """

    numerators: Share
    denominators: Share
    words: list[BinaryShare]


def best_columns(
    party: Party,
    plan: GainRatioPlan,
    keys: Sequence[BinaryShare],
    scores: Sequence[ColumnScores],
    denominators: Share,
) -> Program[Candidates]:
    """Of each position the valid test with the greatest numerator, on ties of the lowest column.

    Args: keys, scores: of every column in its own order. denominators: of all of them, uint32, shape (n,).
    Returns: candidates of shape (n,), numbers uint32.
    Rounds: 7 for each of log2(columns) levels, rounded up, and 3. Leaks: nothing.
    """
    size = WORD_BITS * packed_length(plan.records)
    entrants = [
        filled_rows([score.numerators for score in scores], size),
        filled_rows([score.valid for score in scores], packed_length(plan.records)),
    ]
    codes = [as_words(key, plan.key_dtype) for key in keys]
    columns = np.repeat(np.arange(plan.columns, dtype=plan.column_dtype)[:, None], size, axis=1)
    words = [filled_rows(codes, size), public_binary_share(party.index, columns)]
    if plan.has_grid:
        words.append(filled_rows([next_codes(code) for code in codes], size))
    (numerators, valid), words = yield from knock_out(party, entrants, words, by_pairs(by_numerator))
    flags = yield from bits_to_arithmetic(party, unpack_bits(valid[0], plan.records), U32)
    numbers = stacked([numerators[0, : plan.records], denominators])
    fractions = yield from where_flag(party, flags, numbers)
    return Candidates(fractions[0], fractions[1], [word[0, : plan.records] for word in words])


NO_TEST = np.array([-1, 1])
"""Numerator and denominator where no test is valid (protocol section 11, step 5)."""


def where_flag(party: Party, flags: Share, fractions: Share) -> Program[Share]:
    """The fractions where the flag is 1, -1 / 1 where it is 0.

    Args: flags: 0 or 1, shape (..). fractions: shape (2, ..), of the same ring.
    Rounds: 1. Sends: 6 words an element. Leaks: nothing.
    """
    neutral = NO_TEST.astype(fractions.dtype).reshape(2, *(1 for _ in fractions.shape[1:]))
    above = add_public(party, fractions, np.broadcast_to(np.negative(neutral), fractions.shape))
    masked = yield from multiply(party, flags, above)
    return add_public(party, masked, np.broadcast_to(neutral, fractions.shape))
