"""Of one column in one layer: the numerators of all positions, and which positions may be cut (phase "numerators").

Source: protocol section 11, steps 2 to 5; why sums of fetched entries are numerators is told in `tables`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.arithmetic import add_public, conjunction_terms, product_terms, reshare, reshare_binary
from shared.mpc.comparison import equal_words
from shared.mpc.conversion import bits_to_arithmetic
from shared.mpc.permutation import gather
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32
from shared.mpc.sharing import BinaryShare, Share, concatenate
from shared.secure_tree.gain_ratio.orders import Order, next_codes
from shared.secure_tree.gain_ratio.tables import LayerTables


@dataclass(frozen=True, slots=True)
class ColumnScores:
    """Over n positions: Gain+ with no regard to validity, uint32; packed bits that say which are valid."""

    numerators: Share
    valid: BinaryShare


def class_flags(party: Party, words: BinaryShare, classes: int) -> Program[Share]:
    """Class words to numbers 0 and 1. Args: words: shape (n,). Returns: uint32, shape (classes, n).

    Rounds: 2. Sends: 12 bytes an element for each class but one. Leaks: nothing.
    """
    bits = words.map(lambda part: np.stack([(part >> c) & 1 for c in range(classes - 1)]))
    flags = yield from bits_to_arithmetic(party, bits, U32)
    rest = add_public(party, -flags.sum(axis=0), 1)
    return concatenate([flags, rest.reshape(1, -1)])


def column_scores(
    party: Party, order: Order, flags: Share, width_bits: int, tables: LayerTables
) -> Program[ColumnScores]:
    """Numerators and validity of every position of a column.

    Args: order: the column's. flags: its `class_flags`. width_bits: of its keys.
    Rounds: 5. Sends: 44 bytes an element, and `equal_words` with 3 bits. Leaks: uniform positions.
    """
    side_by_side: list[Program[Any]] = [
        _fetched_steps(party, flags, tables),
        _valid(party, order.keys, width_bits, tables.allowed),
    ]
    steps, valid = yield from together(*side_by_side)
    return ColumnScores(tables.split + steps.cumsum(), valid)


def _fetched_steps(party: Party, flags: Share, tables: LayerTables) -> Program[Share]:
    """Every row's own entry: its place by (slot, class) is its rank among its class, counted from its slot's start."""
    terms = np.zeros(flags.shape[1], U32)
    for flag, places in zip(_rows(flags), _rows(tables.places), strict=True):
        terms += product_terms(flag, flag.cumsum() + places)
    place = add_public(party, (yield from reshare(party, terms)), -1)
    [steps] = yield from gather(party, place, [tables.class_steps])
    return steps  # type: ignore[no-any-return]


def _valid(party: Party, keys: BinaryShare, width_bits: int, allowed: BinaryShare) -> Program[BinaryShare]:
    """A cut is where it leaves enough on both sides and the next code differs."""
    equal = yield from equal_words(party, keys, next_codes(keys), width_bits)
    parts = conjunction_terms(allowed, equal)
    parts ^= allowed.own
    return (yield from reshare_binary(party, parts))


def _rows(x: Share) -> list[Share]:
    return [x[index] for index in range(len(x))]
