"""The tree that the pooled records give, grown plainly by `shared.tree`: what the federation's tree must equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from privet.demo.dealing import DemoRecords
from privet.demo.options import Mode
from shared.tree.counting import count_rows
from shared.tree.gain_ratio_growing import GainRatioRules, grow_by_gain_ratio
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from shared.tree.merging import as_asked
from shared.tree.model import Tree
from shared.tree.numeric import column_keys, numeric_columns, tree_of_layers


@dataclass(frozen=True, slots=True)
class PooledTree:
    """`nodes_by_round`, `slots_by_round`: open nodes and asked cells of each network round."""

    tree: Tree = field(repr=False)
    nodes_by_round: tuple[int, ...]
    slots_by_round: tuple[int, ...]


def grow_pooled(records: DemoRecords, rules: GrowthRules, mode: Mode = "ppsdt") -> PooledTree:
    """Grow the tree on all rows at once, as the mode grows it."""
    if mode == "gain-ratio":
        grown = grow_pooled_numbers(records, GainRatioRules.of(rules))
        return PooledTree(as_asked(grown, rules.pruning), (), ())
    if mode == "id3" and rules.pruning is not None:
        grown = grow_pooled(records, replace(rules, pruning=None), mode).tree
        return PooledTree(as_asked(grown, rules.pruning), (), ())
    count = partial(count_rows, records.rows, schema=records.schema)
    growth = Growth.start(records.schema, rules, bytes(32))
    nodes, slots = [], []
    while not growth.is_done:
        nodes.append(growth.open_nodes)
        slots.append(growth.slot_count)
        growth = growth.absorb(count(growth.queries))
    return PooledTree(growth.tree, tuple(nodes), tuple(slots))


def grow_pooled_numbers(records: DemoRecords, rules: GainRatioRules) -> Tree:
    """The tree of mode gain-ratio on all rows at once."""
    columns = numeric_columns(records.schema)
    *codes, labels = np.array(records.rows, dtype=np.int64).reshape(-1, len(records.schema.attributes) + 1).T
    layers = grow_by_gain_ratio(column_keys(columns, codes), labels, records.schema.class_count, rules)
    return tree_of_layers(layers, records.schema, columns)
