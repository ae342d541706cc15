"""Mode G's trainer: from shared records to a shared tree, layer by layer (protocol section 11).

The layers do the same work with the same sizes whatever the data; all columns of a layer, and all its slots, share
their rounds. Nothing is opened but positions under fresh shuffles (`shared.mpc.permutation`).

Source: protocol section 11 (JP7494932B2, the test decision on groups); the order of work (sort once, partition after
each layer) follows Ents and Bhardwaj 2024 in docs/sources.md.
Deviations: the numerators of all columns come from one vector a layer (`tables`), attributes are compared before
positions (`candidates`), blocks before groups (`group_maximum`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.mpc.arithmetic import multiply
from shared.mpc.bits import unpack_bits
from shared.mpc.conversion import bits_to_arithmetic, widen
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32
from shared.mpc.sharing import BinaryShare, Share, concatenate, concatenate_binary
from shared.secure_tree.gain_ratio.arrays import interleaved, joined, stacked, transposed
from shared.secure_tree.gain_ratio.candidates import best_columns
from shared.secure_tree.gain_ratio.deciding import Decisions, decide
from shared.secure_tree.gain_ratio.grid import on_grid
from shared.secure_tree.gain_ratio.group_maximum import best_of_slots
from shared.secure_tree.gain_ratio.members import all_in_root, answers, moved_on
from shared.secure_tree.gain_ratio.numerators import class_flags, column_scores
from shared.secure_tree.gain_ratio.one_class import one_class
from shared.secure_tree.gain_ratio.orders import Order, SplitFrame, fetch, partition, sorted_order
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows
from shared.secure_tree.gain_ratio.shared_tree import SharedTree, leaf_labels, one_leaf
from shared.secure_tree.gain_ratio.sums import spread, totals
from shared.secure_tree.gain_ratio.tables import LayerTables, layer_tables, step_tables


def secret_gain_ratio(party: Party, rows: SharedRows, plan: GainRatioPlan) -> Program[SharedTree]:
    """Grow the gain-ratio tree of shared records.

    Args: rows: shapes and words as the plan says.
    Returns: the tree that `shared.tree.gain_ratio_growing` grows from the same records, shared.
    Phases: sort, link, tables, numerators, attribute maximum, group maximum, split, labels.
    Rounds: a layer has 7 for each of log2(columns) levels, those of `best_of_slots` (about 90 for 10^5 records), some
        50 and 2 for each layer above it; layers of many cells have 40 to 60 more (`cells`). Besides, the sort.
    Leaks: uniform positions.
    Raises: InternalError: shares of another shape than the plan's. JobFailure: `share_inconsistent`.
    """
    rows = rows.checked(plan)
    party.meter.layer = 0
    if plan.records == 0 or plan.classes == 1:
        return one_leaf(party, plan)
    training = _Training(party, plan, rows)
    yield from training.begin()
    for layer in range(plan.height):
        party.meter.layer = layer + 1
        yield from training.grow_layer()
    return (yield from training.finish())


class _Training:
    """The state between layers: each column's order, the members of the slots, the class counts of the slots."""

    def __init__(self, party: Party, plan: GainRatioPlan, rows: SharedRows) -> None:
        self._party = party
        self._plan = plan
        self._rows = rows
        self._public = step_tables(plan.records, plan.scale)
        self._members = all_in_root(party, plan.records)
        self._orders: list[Order] = []
        self._counts: list[Share] = []
        self._decisions: list[Decisions] = []

    def begin(self) -> Program[None]:
        """Sort every column once, and count the classes."""
        party = self._party
        with party.meter.phase("sort"):
            classes = yield from one_class(party, self._rows.classes, self._plan.classes)
            rows = self._rows = replace(self._rows, classes=classes)
            flags = yield from class_flags(party, rows.classes, self._plan.classes)
            self._counts.append(flags.sum(axis=1).reshape(1, -1))
            self._orders = yield from together(
                *(
                    sorted_order(party, keys, width, rows.classes)
                    for keys, width in zip(rows.keys, self._plan.widths, strict=True)
                )
            )

    def grow_layer(self) -> Program[None]:
        """Decide all slots of a layer, and hand their records on."""
        party, plan, counts = self._party, self._plan, self._counts[-1]
        with party.meter.phase("tables"):
            tables = yield from layer_tables(party, plan, self._public, counts)
        with party.meter.phase("numerators"):
            flags = yield from together(
                *(class_flags(party, order.classes, plan.classes) for order in self._orders)
            )
            scores = yield from together(
                *(
                    column_scores(party, order, flag, width, tables)
                    for order, flag, width in zip(self._orders, flags, plan.widths, strict=True)
                )
            )
            first_flags = flags[0]
            del flags
        with party.meter.phase("attribute maximum"):
            keys = [order.keys for order in self._orders]
            candidates = yield from best_columns(party, plan, keys, scores, tables.split)
            del scores
        with party.meter.phase("group maximum"):
            programs: list[Program[Any]] = [
                best_of_slots(party, candidates, tables.flags, plan.lowest_numerator)
            ]
            if plan.has_bounds:
                programs.append(widen(party, counts))
            best, *wide = yield from together(*programs)
            del candidates, programs
        with party.meter.phase("split"):
            sizes = counts.sum(axis=1)
            decisions = yield from decide(party, plan, best, sizes, *wide)
            self._decisions.append(decisions)
            right = yield from answers(
                party, plan, self._rows.keys, self._members, decisions.thresholds, decisions.chosen
            )
            self._members = yield from moved_on(party, self._members, right)
        yield from self._hand_on(tables, first_flags, unpack_bits(right, plan.records))

    def _hand_on(self, tables: LayerTables, first_flags: Share, right: BinaryShare) -> Program[None]:
        """Bring the records' answers to every column's order, count the kids' classes, and split the orders."""
        party = self._party
        last = len(self._decisions) == self._plan.height
        linked = self._orders[:1] if last else self._orders
        with party.meter.phase("link"):
            bits = yield from together(*(self._answers_in(order, right) for order in linked))
        with party.meter.phase("split"):
            ones = yield from _class_totals(party, tables.flags, first_flags, bits[0])
            counts = self._counts[-1]
            self._counts.append(interleaved(counts - ones, ones))
            if last:
                self._orders = []
                return
            frame = yield from _frame(party, tables.flags, counts, ones)
            orders, self._orders = self._orders, []
            self._orders = yield from together(
                *(partition(party, order, bit, frame) for order, bit in zip(orders, bits, strict=True))
            )

    def _answers_in(self, order: Order, right: BinaryShare) -> Program[Share]:
        bits = yield from fetch(self._party, order, right)
        return (yield from bits_to_arithmetic(self._party, bits, U32))

    def finish(self) -> Program[SharedTree]:
        """Label the leaves, round thresholds to the grid, and put the layers together."""
        party, plan, layers = self._party, self._plan, self._decisions
        with party.meter.phase("labels"):
            splits = concatenate_binary([layer.splits for layer in layers])
            thresholds = concatenate_binary([layer.thresholds for layer in layers])
            programs = [leaf_labels(party, plan, splits, self._counts)]
            following = [layer.following for layer in layers if layer.following is not None]
            if following:
                chosen = joined([layer.chosen for layer in layers], axis=1)
                programs.append(on_grid(party, plan, thresholds, concatenate_binary(following), chosen))
            labels, *rounded = yield from together(*programs)
        columns = concatenate_binary([layer.columns for layer in layers])
        return SharedTree(splits, columns, rounded[0] if rounded else thresholds, labels)


def _class_totals(party: Party, flags: Share, classes: Share, right: Share) -> Program[Share]:
    """Records that go right, of each slot and class; uint32, shape (slots, classes).

    Args: flags: (slots, n). classes: (classes, n) in the order of one column. right: (n,) in that order.
    Rounds: 2. Sends: 12 bytes a record and class but one. Leaks: nothing.
    """
    products = yield from multiply(party, classes[:-1], right.reshape(1, -1))
    counted = yield from totals(party, flags, concatenate([products, right.reshape(1, -1)]))
    rest = counted[-1] - counted[:-1].sum(axis=0)
    return transposed(concatenate([counted[:-1], rest.reshape(1, -1)]))


def _frame(party: Party, flags: Share, counts: Share, ones: Share) -> Program[SplitFrame]:
    """What all columns' partitions of this layer have in common. Rounds: 1. Sends: 24 bytes a record."""
    sizes, right = counts.sum(axis=1), ones.sum(axis=1)
    before = right.cumsum() - right
    start = sizes.cumsum() - right
    handed = yield from spread(party, flags, stacked([before, start]))
    return SplitFrame(handed[0], handed[1])
