"""Mode I, the classes of nodes: computed in secret for all nodes, opened for leaves only (protocol section 10).

No decision waits for a label, so those of a level's children are computed while the next level is decided.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shared.mpc.arithmetic import multiply
from shared.mpc.comparison import is_zero
from shared.mpc.maximum import index_of_maximum
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32
from shared.mpc.sharing import Share, concatenate
from shared.secure_tree.decisions import open_leaf_classes
from shared.secure_tree.secret_id3_layout import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Nodes whose labels are computed together: a level's children, or the root.

    `totals`: uint32, per class and their sum, shape (nodes, classes + 1), right in their low `count_bits` bits.
    `above`: the parents' labels, uint32, shape (nodes,). `labels`: empty, or the own ones, of that shape.
    """

    totals: Share = field(repr=False)
    above: Share = field(repr=False)
    labels: list[Share] = field(default_factory=list, repr=False)


@dataclass(slots=True, eq=False)
class Labelling:
    """Families that await their labels, leaves that await their opening, and the opened `classes` by node number."""

    party: Party
    layout: Layout
    classes: dict[int, int] = field(default_factory=dict)
    _families: list[Family] = field(default_factory=list)
    _leaves: list[tuple[Family, int, int]] = field(default_factory=list)

    def add(self, family: Family) -> None:
        """Have a family labelled at the next opportunity."""
        self._families.append(family)

    def add_leaf(self, family: Family, place: int, node: int) -> None:
        """Have the label at a place of a family opened, once it is there, as the class of a node."""
        self._leaves.append((family, place, node))

    def label(self) -> Program[None]:
        """Label all families: the first most frequent class, the parent's where there is no record (rule 2).

        Most frequent as the classes weigh.
        Without a record all counts are 0, so the first class wins, whose index is 0: adding the parent's is enough.
        Rounds: those of an argmax over the classes, and 1. Leaks: nothing.
        """
        families, self._families = self._families, []
        if not families:
            return
        totals = concatenate([family.totals for family in families])
        by_class = self.layout.weighed(totals)[:, :-1].map(lambda words: np.ascontiguousarray(words.T))
        majority, empty = yield from together(
            index_of_maximum(self.party, by_class, self.layout.count_bits),
            is_zero(self.party, totals[:, -1], U32, self.layout.count_bits),
        )
        above = concatenate([family.above for family in families])
        labels = majority + (yield from multiply(self.party, empty, above))
        start = 0
        for family in families:
            family.labels.append(labels[start : start + len(family.above)])
            start += len(family.above)

    def open_leaves(self) -> Program[None]:
        """Open the classes of all leaves whose labels are there. Rounds: 1, none without such leaves."""
        ready = [leaf for leaf in self._leaves if leaf[0].labels]
        if not ready:
            return
        self._leaves = [leaf for leaf in self._leaves if not leaf[0].labels]
        labels = concatenate([family.labels[0][place : place + 1] for family, place, _ in ready])
        opened = yield from open_leaf_classes(self.party, labels)
        self.classes.update(zip((node for _, _, node in ready), opened.tolist(), strict=True))
