"""The largest tree that depth, records and floors allow, level by level: what costs of modes A and I are made of.

A node is asked only from `min_node` records on, and the nodes of one level share the records, so a level has at most
`records / min_node` of them, however many values attributes have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.advice.case import Case
from shared.wire.manifest import MAX_CELLS


@dataclass(frozen=True, slots=True)
class Level:
    """Open nodes of one depth, and the values of the attributes that may still be asked in each of them."""

    nodes: int
    attributes: int
    values: int

    def cells(self, classes: int) -> int:
        """Counts that a round of mode ppsdt asks; agents end a job that would ask more than `MAX_CELLS`."""
        return min(self.nodes * self.values * classes, MAX_CELLS)


def greatest(case: Case) -> tuple[Level, ...]:
    """Bounds of every level. A path asks the widest attributes first, which leaves the most nodes."""
    wide, narrow = sorted(case.values, reverse=True), sorted(case.values)
    depths = len(wide) if case.max_depth is None else min(case.max_depth, len(wide))
    most = max(1, case.records // case.min_node)
    levels, nodes = [], 1
    for depth in range(depths):
        levels.append(Level(min(nodes, most), len(wide) - depth, sum(narrow[depth:])))
        nodes = min(nodes * max(1, wide[depth]), most)
    return tuple(levels)


def of_nodes(case: Case, nodes: Sequence[int]) -> tuple[Level, ...]:
    """The levels of a tree that has so many open nodes at each depth."""
    narrow = sorted(case.values)
    return tuple(Level(count, len(narrow) - depth, sum(narrow[depth:])) for depth, count in enumerate(nodes))
