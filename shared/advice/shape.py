"""The largest tree that depth, records and floors allow, level by level: what costs of modes A and I are made of.

A node is asked only from `min_node` records on, and the nodes of one level share the records, so a level has at most
`records / min_node` of them, however many values attributes have. The rest are the bounds of the forecast ledger.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.advice.case import Case
from shared.protocol.disclosure import Terms, levels, nodes_at, populations_at
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


def greatest(case: Case, terms: Terms) -> tuple[Level, ...]:
    """Bounds of every level. A path asks the widest attributes first, which leaves the most nodes.

    Args: terms: those of the forecast for this case.
    """
    narrow, most = sorted(case.values), max(1, case.records // case.min_node)
    found, nodes = [], 0
    for depth in range(levels(terms)):
        if nodes < most:
            nodes = min(nodes_at(terms, depth), most)
        parts = populations_at(terms, depth) // nodes_at(terms, depth) if terms.fractional else 1
        # An attribute that is split at thresholds stays open below them.
        left = narrow if terms.ordered else narrow[depth:]
        found.append(Level(nodes * parts, len(left), sum(left)))
    return tuple(found)
