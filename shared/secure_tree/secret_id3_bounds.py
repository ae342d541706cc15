"""Mode I, what a node must reach besides: least gain, and the share of one class that ends growth there.

Both bounds follow from the node's number of records, which is secret, by a public table: one look-up a node, beside
the look-ups of the scores. What is opened stays one word a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shared.mpc.lookup import LookupTable, sums_of_entries
from shared.mpc.program import Party, Program
from shared.mpc.ring import U64
from shared.mpc.sharing import Share
from shared.secure_tree.secret_id3_layout import Layout
from shared.tree.criteria import SCALE_BITS
from shared.tree.growth_rules import GrowthRules

_BAR_BITS = 2
"""A bar lies at most twice the range of scores away from them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Public tables by a node's (weighed) number of records N, None where the job has no such rule.

    `gain`: the least integer that is not below min_gain N 2^32. `stop`: the least count that is a class' share of N.
    """

    layout: Layout
    gain: LookupTable | None = field(repr=False)
    stop: LookupTable | None = field(repr=False)

    @classmethod
    def of(cls, layout: Layout, rules: GrowthRules) -> Self:
        """The tables of a job.

        No gain exceeds log2 of the classes, so a least gain one bit above that is as good as every greater one.
        """
        gain = stop = None
        if rules.min_gain:
            unreached = Fraction((layout.classes - 1).bit_length() + 1)
            gain = LookupTable.of(
                least_multiples(min(rules.min_gain, unreached) * 2**SCALE_BITS, layout.most)
            )
        if (share := rules.stop_share) is not None:
            stop = LookupTable.of(least_multiples(share, layout.most))
        return cls(layout, gain, stop)

    @property
    def score_bits(self) -> int:
        """Differences of scores, and of a score and a bar, are numbers of so many bits in two's complement."""
        return self.layout.score_bits + (_BAR_BITS if self.gain else 0)


def least_multiples(factor: Fraction, most: int) -> NDArray[np.uint64]:
    """For x from 0 to `most` the least integer that is not below factor times x, below 2^64. In integers throughout."""
    whole, rest = divmod(factor.numerator, factor.denominator)
    numbers = np.arange(most + 1, dtype=U64)
    further = numbers * U64.type(rest) + U64.type(factor.denominator - 1)
    return np.asarray(numbers * U64.type(whole) + further // U64.type(factor.denominator))


def bound_of(party: Party, table: LookupTable, sizes: Share) -> Program[Share]:
    """What a table says of each node. Args: sizes: uint32, shape (nodes,). Returns: uint64, shape (nodes,).

    Rounds, Sends: those of one look-up a node. Leaks: nothing.
    """
    ones = np.ones(len(sizes), U64)
    return (yield from sums_of_entries(party, table, sizes, ones, np.arange(len(sizes))))
