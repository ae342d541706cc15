"""Secret inference: labels of shared records by a shared tree. Neither the tree nor a path is opened."""

from __future__ import annotations

from collections.abc import Sequence

from shared.mpc.program import Party, Program
from shared.mpc.sharing import BinaryShare
from shared.secure_tree.gain_ratio.deciding import indicators
from shared.secure_tree.gain_ratio.members import all_in_root, answers, handed_out, moved_on
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, checked_keys
from shared.secure_tree.gain_ratio.shared_tree import SharedTree


def predict_shared(
    party: Party, plan: GainRatioPlan, tree: SharedTree, keys: Sequence[BinaryShare]
) -> Program[BinaryShare]:
    """The class index of each record.

    Args: plan: of the training; the number of records may be another. tree: its result. keys: of each column one code
        a record, in the words in which rows are shared (`key_input_dtype`), shape (n,).
    Returns: words of the plan's label type, shape (n,).
    Rounds: a layer, 2, those of `answers` and of `equal_words` of a column index; and 1. Sends: a layer and record,
        as `answers` and 3 bits a slot. Leaks: nothing.
    Raises: InternalError: shares of another shape or word type than the plan's.
    """
    columns = checked_keys(plan, keys)
    records = columns[0].shape[0]
    members = all_in_root(party, records)
    for layer in range(plan.height):
        party.meter.layer = layer + 1
        own = slice((1 << layer) - 1, (2 << layer) - 1)
        chosen = yield from indicators(party, plan, tree.columns[own], tree.splits[own])
        right = yield from answers(party, plan, columns, members, tree.thresholds[own], chosen)
        members = yield from moved_on(party, members, right)
    return (yield from handed_out(party, members, tree.labels[plan.slots :], records))
