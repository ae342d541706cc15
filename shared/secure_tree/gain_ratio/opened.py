"""A result party's side of mode G: opened arrays to the layers of the plain tree, equal to the oracle's bit for bit.

The arrays come from `sealed_result.combine_sealed`. They hold the tree and nothing besides it: what no honest program
gives is refused, so that a value hidden in an unused slot is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shared.errors import JobCode, JobFailure
from shared.mpc.ring import Words
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.tree.gain_ratio_growing import GroupLeaf, GroupTest, Layer


def layers_of(plan: GainRatioPlan, arrays: Sequence[Words]) -> tuple[Layer, ...]:
    """The layers of the tree, as `shared.tree.gain_ratio_growing` gives them.

    Args: arrays: the values of `SharedTree.arrays`, shaped as `result_specs` says.
    Raises: JobFailure: `share_inconsistent`: they are no tree of this plan.
    """
    splits, columns, thresholds, labels = arrays
    inner = slice(0, plan.slots)
    leaves = splits == 0
    honest = (
        (splits <= 1).all()
        and (columns < plan.columns).all()
        and (thresholds.astype(np.uint64) < 2**plan.width).all()
        and (labels < plan.classes).all()
        and not columns[leaves].any()
        and not thresholds[leaves].any()
        and not labels[inner][~leaves].any()
    )
    if not honest:
        raise JobFailure(
            JobCode.SHARE_INCONSISTENT,
            "the opened result is no tree of this study; the job ends here",
        )
    layers: list[Layer] = []
    slots = [0]
    for depth in range(plan.height + 1):
        entries = [(1 << depth) - 1 + slot for slot in slots]
        tested = [depth < plan.height and bool(splits[entry]) for entry in entries]
        layers.append(
            tuple(
                GroupTest(int(columns[entry]), int(thresholds[entry]))
                if test
                else GroupLeaf(int(labels[entry]))
                for entry, test in zip(entries, tested, strict=True)
            )
        )
        slots = [2 * slot + side for slot, test in zip(slots, tested, strict=True) if test for side in (0, 1)]
        if not slots:
            break
    return tuple(layers)
