"""The tree that comes out of mode G: shared, layer by layer, one entry a slot. Nothing in its sizes tells its form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shared.errors import InternalError
from shared.mpc.arithmetic import conjunction
from shared.mpc.program import Party, Program, Spec
from shared.mpc.ring import U8
from shared.mpc.selection import word_masks
from shared.mpc.sharing import BinaryShare, Share, concatenate, concatenate_binary, public_binary_share
from shared.secure_tree.gain_ratio.arrays import transposed
from shared.secure_tree.gain_ratio.knock_out import by_pairs, knock_out
from shared.secure_tree.gain_ratio.matches import by_count
from shared.secure_tree.gain_ratio.plan import GainRatioPlan


@dataclass(frozen=True, slots=True)
class SharedTree:
    """Slots of all layers in heap order: slot s of layer k is entry 2^k - 1 + s, its kids are 2s and 2s + 1.

    splits (1 for a test), columns, thresholds: shape (2^height - 1,), words 0 at a leaf. labels: shape
    (2^(height+1) - 1,), 0 at a test. Below a leaf, slots 2s repeat it and the others are empty, leaves of class 0.
    """

    splits: BinaryShare
    columns: BinaryShare
    thresholds: BinaryShare
    labels: BinaryShare

    @classmethod
    def of(cls, plan: GainRatioPlan, arrays: Sequence[BinaryShare]) -> SharedTree:
        """From its arrays. Raises: InternalError: they are not those of the plan's tree."""
        if tuple(Spec.of(array.own) for array in arrays) != result_specs(plan):
            raise InternalError("the shared tree has other arrays than its plan says")
        return cls(*arrays)

    @property
    def arrays(self) -> tuple[BinaryShare, BinaryShare, BinaryShare, BinaryShare]:
        """All that there is, in a fixed order."""
        return self.splits, self.columns, self.thresholds, self.labels


def result_specs(plan: GainRatioPlan) -> tuple[Spec, ...]:
    """Shapes and words of `SharedTree.arrays`: public, so that a result party knows what to expect."""
    return (
        Spec((plan.slots,), U8),
        Spec((plan.slots,), plan.column_dtype),
        Spec((plan.slots,), plan.key_dtype),
        Spec((2 * plan.slots + 1,), plan.label_dtype),
    )


def one_leaf(party: Party, plan: GainRatioPlan) -> SharedTree:
    """The tree of no records, or of one class: a leaf of class 0, as public shares."""
    arrays = (np.zeros(spec.shape, spec.dtype) for spec in result_specs(plan))
    return SharedTree(*(public_binary_share(party.index, array) for array in arrays))


def leaf_labels(
    party: Party, plan: GainRatioPlan, splits: BinaryShare, counts: Sequence[Share]
) -> Program[BinaryShare]:
    """The majority label of each slot, the lowest class on ties, and 0 where the slot splits.

    Args: splits: of all layers of tests. counts: of all layers and of what is below them, uint32, shape (slots,
        classes) each.
    Source: protocol section 11, step 8, and section 4, rule 2.
    Rounds: 5 for each of log2(classes) levels, rounded up, and 2. Leaks: nothing.
    """
    by_class = transposed(concatenate(list(counts)))
    names = np.repeat(np.arange(plan.classes, dtype=plan.label_dtype)[:, None], by_class.shape[1], axis=1)
    _, [labels] = yield from knock_out(
        party, [by_class], [public_binary_share(party.index, names)], by_pairs(by_count)
    )
    inner = labels[0, : plan.slots]
    hidden = yield from conjunction(party, word_masks(splits, inner.dtype), inner)
    return concatenate_binary([inner ^ hidden, labels[0, plan.slots :]])
