"""Growing a tree whose ordered attributes are split at thresholds, level by level from summed counts (docs/adr/0041).

`OrderedGrowth` stands where `growing.Growth` stands in a job whose rules have thresholds. Hospitals count one table of
value and class an attribute, as ever; every one of them finds the same thresholds in the sums. To the rest of the
protocol nothing differs but the paths, in which a threshold's side stands for a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from shared.errors import InternalError
from shared.tree.frontier import NodeQuery
from shared.tree.growing import TabledGrowth, next_state, start_state
from shared.tree.growth_record import Levels, parse_record, unreadable
from shared.tree.growth_rules import GrowthRules
from shared.tree.ordered_frontier import (
    OrderedNode,
    assemble_ordered,
    next_ordered,
    open_values,
    ordered_root,
)
from shared.tree.paths import NodePath
from shared.tree.schema import Schema
from shared.tree.splitting import (
    LeafDecision,
    NodeDecision,
    NodeTables,
    SplitDecision,
    is_pure,
    majority_label,
)
from shared.tree.thresholds import best_offer, offer_of


@dataclass(frozen=True, slots=True)
class OrderedGrowth(TabledGrowth):
    """A tree that is being grown, at the start of a round. The members are those of `growing.TabledGrowth`."""

    schema: Schema = field(repr=False)
    rules: GrowthRules
    mh: bytes
    state: bytes = field(repr=False)
    frontier: tuple[OrderedNode, ...] = field(repr=False)
    parents: Mapping[NodePath, NodeTables] = field(repr=False)
    history: Levels = field(repr=False)
    last_depth: int = 0

    @classmethod
    def start(cls, schema: Schema, rules: GrowthRules, mh: bytes) -> OrderedGrowth:
        """The state before round 0. `mh`: the manifest's hash, 32 bytes.

        Raises: InternalError: sums with noise, or missing values that are fractional.
        """
        if rules.noisy or any(attribute.is_fractional for attribute in schema.attributes):
            raise InternalError("thresholds need exact sums of whole records")
        return cls(schema, rules, mh, start_state(mh), (ordered_root(schema),), {}, ())

    @property
    def queries(self) -> tuple[NodeQuery, ...]:
        """What to count, in frontier order; a node all of whose cells are known is not listed."""
        return tuple(node.query for node in self.frontier if node.is_asked)

    def _advance(self, counts: Sequence[int]) -> OrderedGrowth:
        tables = assemble_ordered(self.schema, self.frontier, self.parents, counts)
        limit = self._many_values(tables)
        level = tuple(
            _decide(self.schema, node, tables[node.path], self.rules, limit) for node in self.frontier
        )
        return replace(
            self,
            state=next_state(self.state, level),
            frontier=next_ordered(self.schema, level, tables, self.rules),
            parents={path: tables[path] for path in _open_splits(level)},
            history=(*self.history, level),
            last_depth=self.depth if counts else self.last_depth,
        )

    @classmethod
    def from_json(cls, schema: Schema, rules: GrowthRules, data: Any) -> OrderedGrowth:
        """The state that `to_json` wrote under the same schema and rules.

        The frontier follows from the last level, and the chain of states is gone through again.
        Raises: InputError: another form, indices outside the schema, or decisions that do not give the state.
        """
        record = parse_record(schema, data)
        state = reduce(next_state, record.history, start_state(record.mh))
        last = record.history[-1] if record.history else ()
        if state != record.state or set(_open_splits(last)) != record.parents.keys():
            raise unreadable()
        open_nodes = next_ordered(schema, last, record.parents, rules) if last else (ordered_root(schema),)
        return cls(
            schema, rules, record.mh, state, open_nodes, record.parents, record.history, record.last_depth
        )


def _open_splits(level: Sequence[NodeDecision]) -> list[NodePath]:
    return [d.path for d in level if isinstance(d, SplitDecision) and None in d.kids]


def _decide(
    schema: Schema, node: OrderedNode, tables: NodeTables, rules: GrowthRules, limit: int | None
) -> NodeDecision:
    """Split or leaf for one node, by the rules of `splitting.decide` on what its attributes offer."""
    counts = next(iter(tables.values())).class_totals
    majority = majority_label(rules.weighed(counts), node.majority_above)
    if not node.path and (is_pure(counts) or sum(counts) < rules.min_node):
        return LeafDecision(node.path, majority, counts)
    found = ((index, offer_of(schema.attributes[index], table, rules)) for index, table in tables.items())
    offers = {index: offer for index, offer in found if offer is not None}
    best = best_offer(offers, rules, limit)
    if best is None:
        return LeafDecision(node.path, majority, counts)
    offer = offers[best]
    kids: tuple[int | None, ...] = (None,) * len(offer.table.rows)
    split = SplitDecision(node.path, best, majority, kids, counts, offer.table.rows, offer.up_to)
    return replace(split, kids=tuple(_kid(schema, split, kid, tables, rules) for kid in range(len(kids))))


def _kid(
    schema: Schema, split: SplitDecision, kid: int, tables: NodeTables, rules: GrowthRules
) -> int | None:
    row = split.rows[kid]
    is_leaf = is_pure(row) or sum(row) < rules.min_node or len(split.path) + 1 == rules.max_depth
    if is_leaf or not open_values(schema, split, kid, tables, rules):
        return majority_label(rules.weighed(row), split.majority)
    return None
