"""Growing a tree with C4.5's fractional rows from sums of plain counts (docs/adr/0031).

`FractionalGrowth` stands where `growing.Growth` stands in a job whose schema marks attributes as fractional. A node
below a split on such an attribute holds records in parts, but those that lack the same attributes of its path have the
same weight there: a product of shares that follow from the sums of the levels above. So hospitals count records, never
weights: one table an attribute for each population of an open node, each population once. The node's tables are then
sums of weight times counts. To the rest of the protocol nothing differs.

What follows from known sums is not asked: populations without records never, with `skip_known` also classes of which a
population has no record. Siblings are not subtracted here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd
from typing import Any

from shared.errors import InternalError
from shared.tree.binary_tests import UpTo
from shared.tree.fractional_frontier import (
    PartedNode,
    next_parted,
    open_populations,
    parted_root,
    weighted_tables,
)
from shared.tree.fractional_record import (
    Levels,
    decided_to_json,
    parse_decided,
    parse_parted,
    parted_to_json,
)
from shared.tree.fractional_splitting import WeightedDecision, WeightedTable, decide_weighted
from shared.tree.fractional_thresholds import weighted_offers
from shared.tree.frontier import NodeQuery, OpenNode, assemble
from shared.tree.growing import next_state, start_state
from shared.tree.growth_record import unreadable
from shared.tree.growth_rules import GrowthRules
from shared.tree.level_growth import LevelGrowth
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.ordered_frontier import values_at
from shared.tree.paths import ROOT, NodePath
from shared.tree.populations import Conjunction
from shared.tree.schema import Schema
from shared.tree.splitting import LeafDecision
from shared.tree.thresholds import is_ordered


@dataclass(frozen=True, slots=True)
class FractionalGrowth(LevelGrowth):
    """A tree that is being grown, at the start of a round. The members are those of `growing.TabledGrowth`."""

    schema: Schema = field(repr=False)
    rules: GrowthRules
    mh: bytes
    state: bytes = field(repr=False)
    frontier: tuple[PartedNode, ...] = field(repr=False)
    history: Levels = field(repr=False)
    _asked: list[dict[Conjunction, OpenNode]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )
    """The open populations once they were worked out: they are asked for several times in a round."""

    @classmethod
    def start(cls, schema: Schema, rules: GrowthRules, mh: bytes) -> FractionalGrowth:
        """The state before round 0. `mh`: the manifest's hash, 32 bytes.

        Raises: InternalError: sums with noise, from which no shares follow.
        """
        if rules.noisy:
            raise InternalError("fractional missing values need exact sums")
        return cls(schema, rules, mh, start_state(mh), (parted_root(),), ())

    @property
    def queries(self) -> tuple[NodeQuery, ...]:
        """What to count: every population of an open node once, in frontier order."""
        return tuple(population.query for population in self._populations().values())

    @property
    def last_decisions(self) -> list[dict[str, Any]]:
        """The canonical decisions of the last level."""
        last = self.history[-1] if self.history else ()
        return [weighted.decision.canonical() for weighted in last]

    def _grown(self) -> Tree:
        return _build(self.history)

    def absorb(self, counts: Sequence[int]) -> FractionalGrowth:
        """The next state from the sums of `queries`, one integer a cell, in their order.

        Raises: JobFailure: `range_violation` or `inconsistent_counts`, naming at most a population.
            InternalError: not one integer per asked cell, or nothing was asked.
        """
        if self.is_done:
            raise InternalError("counts for a tree that is done")
        asked = self._populations()
        by_path = assemble(self.schema, list(asked.values()), {}, counts)
        tables = {key: by_path[node.path] for key, node in asked.items()}
        weighted = [weighted_tables(self.schema, node, tables) for node in self.frontier]
        limit = self._many_values(weighted)
        level = tuple(
            self._decide(node, by_attribute, unit, limit)
            for node, (by_attribute, unit) in zip(self.frontier, weighted, strict=True)
        )
        grown = replace(
            self,
            state=next_state(self.state, [entry.decision for entry in level]),
            frontier=next_parted(self.schema, self.frontier, level, weighted, tables, self.rules),
            history=(*self.history, level),
        )
        # Two nodes may know other numbers of one population: said now, not when the next round asks.
        grown._populations()
        return grown

    def to_json(self) -> dict[str, Any]:
        """The whole state as plain JSON, for an agent's journal. It holds counts: it must not leave the hospital."""
        record = {"mh": self.mh.hex(), "state": self.state.hex()}
        return record | decided_to_json(self.history) | {"open": parted_to_json(self.frontier)}

    @classmethod
    def from_json(cls, schema: Schema, rules: GrowthRules, data: Any) -> FractionalGrowth:
        """The state that `to_json` wrote under the same schema and rules.

        Raises: InputError: another form, indices outside the schema, decisions that do not give the state, or parts
            that do not make up the open branches.
        """
        mh, kept, history = parse_decided(schema, data)
        frontier = parse_parted(schema, data, history)
        state = reduce(
            next_state, ([entry.decision for entry in level] for level in history), start_state(mh)
        )
        if state != kept:
            raise unreadable()
        return cls(schema, rules, mh, state, frontier, history)

    def _decide(
        self, node: PartedNode, tables: Mapping[int, WeightedTable], unit: int, limit: int | None
    ) -> WeightedDecision:
        rules = self.rules
        if rules.thresholds is None:
            return decide_weighted(node.path, tables, unit, node.majority_above, rules, limit)
        offers = weighted_offers(self.schema, tables, unit, rules)
        return decide_weighted(
            node.path, tables, unit, node.majority_above, rules, limit, offers, self._is_closed
        )

    def _is_closed(self, path: NodePath) -> bool:
        """Whether nothing may be asked at a node any more."""
        for index, attribute in enumerate(self.schema.attributes):
            left = len(values_at(self.schema, path, index))
            if left > 1 or (left and not is_ordered(attribute)):
                return False
        return True

    def _populations(self) -> dict[Conjunction, OpenNode]:
        if not self._asked:
            self._asked.append(open_populations(self.schema, self.frontier, self.rules))
        return self._asked[0]

    def _records_at_root(self, tables: Sequence[tuple[Mapping[int, WeightedTable], int]]) -> int:
        at_root = self.history[0][0].decision.counts if self.history else tables[0][0][0].class_totals
        # At the root every record is whole.
        unit = self.history[0][0].denominator if self.history else 1
        return sum(self.rules.weighed(at_root)) // unit


def _build(levels: Levels) -> Tree:
    """The tree from the decisions, bottom level first so that every subtree is there when it is needed."""
    built: dict[NodePath, Node] = {}
    for level in reversed(levels):
        for entry in level:
            built[entry.decision.path] = _node(entry, built)
    return Tree(built[ROOT])


def _node(entry: WeightedDecision, built: dict[NodePath, Node]) -> Node:
    decision, unit = entry.decision, entry.denominator
    if isinstance(decision, LeafDecision):
        return _leaf(decision.label, decision.counts, unit)
    kids = tuple(
        built.pop(decision.path_of(kid)) if label is None else _leaf(label, row, unit)
        for kid, (label, row) in enumerate(zip(decision.kids, decision.rows, strict=True))
    )
    test = None if decision.up_to is None else UpTo(decision.up_to)
    counts, least = _lowest(decision.counts, unit)
    return Split(decision.attribute, kids, decision.majority, counts, test, least)


def _leaf(label: int, counts: tuple[int, ...], unit: int) -> Leaf:
    return Leaf(label, *_lowest(counts, unit))


def _lowest(counts: tuple[int, ...], unit: int) -> tuple[tuple[int, ...], int]:
    common = gcd(unit, *counts)
    return tuple(count // common for count in counts), unit // common
