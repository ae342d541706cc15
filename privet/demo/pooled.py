"""The tree that the pooled records give, grown plainly by `shared.tree`: what the federation's tree must equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from privet.demo.dealing import DemoRecords
from shared.tree.counting import count_rows
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree


@dataclass(frozen=True, slots=True)
class PooledTree:
    """`nodes_by_round`, `slots_by_round`: open nodes and asked cells of each network round."""

    tree: Tree = field(repr=False)
    nodes_by_round: tuple[int, ...]
    slots_by_round: tuple[int, ...]


def grow_pooled(records: DemoRecords, rules: GrowthRules) -> PooledTree:
    """Grow the tree on all rows at once."""
    count = partial(count_rows, records.rows, schema=records.schema)
    growth = Growth.start(records.schema, rules, bytes(32))
    nodes, slots = [], []
    while not growth.is_done:
        nodes.append(growth.open_nodes)
        slots.append(growth.slot_count)
        growth = growth.absorb(count(growth.queries))
    return PooledTree(growth.tree, tuple(nodes), tuple(slots))
