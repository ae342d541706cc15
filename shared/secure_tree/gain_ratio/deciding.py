"""From the best test of every slot to the layer's decisions: leaf or test, on which column, at which code."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shared.mpc.arithmetic import add_public, conjunction
from shared.mpc.bits import unpack_bits
from shared.mpc.comparison import equal_words
from shared.mpc.conversion import sign_bits
from shared.mpc.first_maximum import all_of
from shared.mpc.gates import complement
from shared.mpc.program import Party, Program, together
from shared.mpc.selection import word_masks
from shared.mpc.sharing import BinaryShare, Share, public_binary_share
from shared.secure_tree.gain_ratio.candidates import Candidates
from shared.secure_tree.gain_ratio.plan import GainRatioPlan


@dataclass(frozen=True, slots=True)
class Decisions:
    """Of every slot of a layer, shape (slots,), all 0 where the slot is a leaf.

    splits: 1 for a test. columns: its column. thresholds: its code, to the left if at most this. following: the next
    code of the slot in this column, where a grid is wanted. chosen: 1 at the column, shape (columns, slots).
    """

    splits: BinaryShare
    columns: BinaryShare
    thresholds: BinaryShare
    following: BinaryShare | None
    chosen: BinaryShare


def decide(
    party: Party, plan: GainRatioPlan, best: Candidates, sizes: Share, counts: Share | None = None
) -> Program[Decisions]:
    """A slot splits if its best gain is positive and it has `min_node` records, and if it reaches the plan's bounds.

    Args: best: shape (slots,). sizes: records of each slot, uint32. counts: of each class, uint64, shape (slots,
        classes), where the plan has bounds.
    Source: protocol section 11, step 7.
    Rounds: 9 to 13, by the number of columns; with `stop_share` log2(classes) more. Sends: some 80 bytes a slot, 6 a
        slot and column; with `stop_share` 50 a slot and class. Leaks: nothing.
    """
    splits = yield from _splits(party, plan, best, sizes, counts)
    words = yield from together(
        *(conjunction(party, word_masks(splits, word.dtype), word) for word in best.words)
    )
    thresholds, columns, *following = words
    chosen = yield from indicators(party, plan, columns, splits)
    return Decisions(splits, columns, thresholds, following[0] if following else None, chosen)


def _splits(
    party: Party, plan: GainRatioPlan, best: Candidates, sizes: Share, counts: Share | None
) -> Program[BinaryShare]:
    """1 where a slot splits, words 0 or 1, shape (slots,)."""
    slots = len(sizes)
    programs: list[Program[Any]] = [sign_bits(party, _negative_iff_gains(party, plan, best, counts))]
    if plan.rules.min_node > 1:
        # Bounds come from a manifest and may not fit the ring; none above the number of records makes a difference.
        least = min(plan.rules.min_node, plan.records + 1)
        programs.append(_is_not_negative(party, add_public(party, sizes, -least)))
    if plan.rules.stop_share is not None and counts is not None:
        programs += (sign_bits(party, below) for below in _below_share(plan.rules.stop_share, counts))
    conditions = [unpack_bits(packed, slots) for packed in (yield from together(*programs))]
    if len(conditions) == 1:
        return conditions[0]
    if len(conditions) == 2:
        return (yield from conjunction(party, *conditions))
    return (yield from all_of(party, conditions))


def _negative_iff_gains(party: Party, plan: GainRatioPlan, best: Candidates, counts: Share | None) -> Share:
    """A number that is negative where the best test gains enough: more than 0, and at least `min_gain`; local.

    The gain g / d of `min_gain` is reached iff `g N 2^s <= d Gain+`, which is then positive. uint64, shape (slots,).
    """
    if counts is None or plan.least_gain == 0:
        return -best.numerators
    least = plan.least_gain
    needed = counts.sum(axis=1).times(least.numerator << plan.scale)
    return add_public(party, needed - best.numerators.times(least.denominator), -1)


def _below_share(share: Fraction, counts: Share) -> list[Share]:
    """For each class numbers that are negative where it has less than its share of the slot; local."""
    needed = counts.sum(axis=1).times(share.numerator)
    return [counts[:, c].times(share.denominator) - needed for c in range(counts.shape[1])]


def _is_not_negative(party: Party, x: Share) -> Program[BinaryShare]:
    """Packed bits. Rounds, Sends: as `sign_bits`. Leaks: nothing."""
    return complement(party, (yield from sign_bits(party, x)))


def indicators(
    party: Party, plan: GainRatioPlan, columns: BinaryShare, splits: BinaryShare
) -> Program[BinaryShare]:
    """Of each slot that splits, 1 at its column's index.

    Args: columns, splits (words 0 or 1): shape (slots,). Returns: words 0 or 1, shape (columns, slots).
    Rounds: 1, and those of `equal_words` of an index. Sends: `equal_words` and 3 bytes for each slot and column.
    Leaks: nothing.
    """
    slots, bits = len(columns), max(1, (plan.columns - 1).bit_length())
    everyone = columns.map(lambda part: np.tile(part, plan.columns))
    indices = np.repeat(np.arange(plan.columns, dtype=columns.dtype), slots)
    found = yield from equal_words(party, everyone, public_binary_share(party.index, indices), bits)
    at_column = unpack_bits(found, len(indices)).reshape(plan.columns, slots)
    return (
        yield from conjunction(
            party, at_column, splits.map(lambda part: np.broadcast_to(part, at_column.shape))
        )
    )
