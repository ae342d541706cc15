"""From the best test of every slot to the layer's decisions: leaf or test, on which column, at which code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.arithmetic import add_public, conjunction
from shared.mpc.bits import unpack_bits
from shared.mpc.comparison import equal_words
from shared.mpc.conversion import sign_bits
from shared.mpc.program import Party, Program, together
from shared.mpc.selection import negated, word_masks
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


def decide(party: Party, plan: GainRatioPlan, best: Candidates, sizes: Share) -> Program[Decisions]:
    """A slot splits if its best gain is positive and it has `min_node` records.

    Args: best: shape (slots,). sizes: records of each slot, uint32.
    Source: protocol section 11, step 7.
    Rounds: 9 to 13, by the number of columns. Sends: some 80 bytes a slot, 6 a slot and column. Leaks: nothing.
    """
    slots = len(sizes)
    programs: list[Program[Any]] = [sign_bits(party, -best.numerators)]
    if plan.rules.min_node > 1:
        # Bounds come from a manifest and may not fit the ring; none above the number of records makes a difference.
        least = min(plan.rules.min_node, plan.records + 1)
        programs.append(sign_bits(party, add_public(party, sizes, -least)))
    positive, *small = yield from together(*programs)
    splits = unpack_bits(positive, slots)
    if small:
        enough = negated(party, unpack_bits(small[0], slots))
        splits = yield from conjunction(party, splits, enough)
    words = yield from together(
        *(conjunction(party, word_masks(splits, word.dtype), word) for word in best.words)
    )
    thresholds, columns, *following = words
    chosen = yield from indicators(party, plan, columns, splits)
    return Decisions(splits, columns, thresholds, following[0] if following else None, chosen)


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
