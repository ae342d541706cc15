"""Thresholds on a public grid, so that they are not some record's value: once for all slots, after the last layer.

A threshold c with next code d may be any t with c <= t < d: the records of its slot answer alike. It becomes the
greatest multiple of the column's step below d, if that is not less than c (protocol section 11, step 8).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from shared.mpc.arithmetic import add_public, multiply
from shared.mpc.bits import words_of
from shared.mpc.comparison import less_than_choosing
from shared.mpc.conversion import binary_to_arithmetic, bits_to_arithmetic, to_binary, to_words
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, U64
from shared.mpc.sharing import BinaryShare, Share
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, as_words
from shared.tree.numbers import MAX_CODE_BITS

_POINT: Final = MAX_CODE_BITS


def on_grid(
    party: Party, plan: GainRatioPlan, thresholds: BinaryShare, following: BinaryShare, chosen: BinaryShare
) -> Program[BinaryShare]:
    """Thresholds rounded up to their columns' grids.

    Args: thresholds, following: words, shape (slots,), 0 at a leaf. chosen: words 0 or 1 at the test's column, shape
        (columns, slots).
    Returns: words like `thresholds`, 0 at a leaf.
    Rounds: 29 for columns of 32 bits, fewer for narrower ones. Sends: about 1 kB a slot. Leaks: nothing.
    """
    programs: list[Program[Any]] = [
        binary_to_arithmetic(party, thresholds, plan.width, U64),
        binary_to_arithmetic(party, following, plan.width, U64),
        bits_to_arithmetic(party, chosen, U64),
    ]
    code, next_code, flags = yield from together(*programs)
    step = _of_column(flags, plan.rules.grid)
    multiple = yield from _multiple_below(
        party, next_code, step, _of_column(flags, _inverses(plan.rules.grid))
    )
    _, rise = yield from less_than_choosing(party, code, multiple, (multiple - code).reshape(1, -1))
    words = yield from to_words(party, code + rise[0], plan.width)
    return as_words(words, plan.key_dtype)


def _multiple_below(party: Party, bound: Share, step: Share, inverse: Share) -> Program[Share]:
    """The greatest multiple of the step that is less than the bound, 0 where the step is 0.

    With v = bound - 1 and inverse = floor(2^32 / step), v * inverse / 2^32 is less than v / step by less than v / 2^32,
    so its integer part is the quotient or one less, and the remainder tells which.
    Args: uint64, shape (slots,); bound 1 to 2^32 - 1 where the step is not 0.
    """
    value = add_public(party, bound, -1)
    scaled = yield from multiply(party, value, inverse)
    planes = yield from to_binary(party, scaled, 2 * _POINT)
    quotient = yield from binary_to_arithmetic(party, words_of(planes[_POINT:], len(bound), U32), _POINT, U64)
    multiple = yield from multiply(party, quotient, step)
    below = add_public(party, step, -1)
    _, more = yield from less_than_choosing(party, below, value - multiple, step.reshape(1, -1))
    return multiple + more[0]


def _of_column(flags: Share, numbers: tuple[int, ...]) -> Share:
    """The number of the column that the flags show; local. Args: flags: (columns, slots). Returns: (slots,)."""
    return flags.times(np.array(numbers, np.uint64)[:, None]).sum(axis=0)


def _inverses(grid: tuple[int, ...]) -> tuple[int, ...]:
    return tuple((1 << _POINT) // step if step else 0 for step in grid)
