"""Mode G as a program for `bench.parties`: the shared tree's arrays, from shared columns and rules as plain values."""

from __future__ import annotations

from typing import Any

from shared.mpc.program import Party, Program
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows
from shared.secure_tree.gain_ratio.training import secret_gain_ratio
from shared.tree.gain_ratio_growing import GainRatioRules


def gain_ratio(
    party: Party,
    widths: list[int],
    classes: int,
    rules: dict[str, Any],
    labels: BinaryShare,
    **keys: BinaryShare,
) -> Program[tuple[BinaryShare, ...]]:
    """Grow on shared rows. Args: labels: class words. keys: `column0`, `column1`, .. rules: of `GainRatioRules`."""
    columns = tuple(keys[f"column{index}"] for index in range(len(widths)))
    plan = GainRatioPlan(len(labels), tuple(widths), classes, GainRatioRules(**rules))
    tree = yield from secret_gain_ratio(party, SharedRows(columns, labels), plan)
    return tree.arrays
