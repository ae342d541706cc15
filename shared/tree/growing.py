"""Growing a tree level by level from summed counts (protocol section 4).

`Growth` is an immutable state: it says which cells it wants (`queries`), takes their sums (`absorb`) and is
then the next state. Where the sums come from (pooled rows, decrypted aggregates) is not known here.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final, Self

from shared.errors import InternalError
from shared.tree.binary_tests import UpTo
from shared.tree.frontier import NodeQuery, OpenNode, assemble, next_frontier, root_node
from shared.tree.growth_record import Levels, levels_to_json, parents_to_json, parse_record, unreadable
from shared.tree.growth_rules import GrowthRules
from shared.tree.level_growth import LevelGrowth
from shared.tree.model import Leaf, Node, Split, Tree
from shared.tree.paths import NodePath
from shared.tree.schema import Schema
from shared.tree.splitting import LeafDecision, NodeDecision, NodeTables, decide

_STATE_LABEL: Final = b"ppsdt/1/tree"


class TabledGrowth(LevelGrowth):
    """What a growth by tables of whole records keeps, for those of some kids follow from those of their parents.

    `mh`: the manifest's hash. `state`: S_depth, which chains all decisions (32 bytes). `parents`: tables kept
    for the subtraction of siblings. `last_depth`: the depth that the last absorbed round asked for.
    A level whose cells all follow from known sums is decided together with the one above it: `depth` and
    `state` advance then by more than one level for one round.
    """

    __slots__ = ()

    mh: bytes
    state: bytes
    parents: Mapping[NodePath, NodeTables]
    history: Levels
    last_depth: int

    @abstractmethod
    def _advance(self, counts: Sequence[int]) -> Self:
        """One level: assemble, check, decide, open the children."""

    @property
    def last_decisions(self) -> list[dict[str, Any]]:
        """The canonical decisions that the last absorbed round led to, level by level in frontier order."""
        return [decision.canonical() for level in self.history[self.last_depth :] for decision in level]

    def _grown(self) -> Tree:
        return build(self.history)

    def _records_at_root(self, tables: Mapping[NodePath, NodeTables]) -> int:
        at_root = self.history[0][0].counts if self.history else next(iter(tables[()].values())).class_totals
        return sum(self.rules.weighed(at_root))

    def absorb(self, counts: Sequence[int]) -> Self:
        """The next state from the sums of `queries`, one integer a cell, in their order.

        Raises: JobFailure: `range_violation` or `inconsistent_counts`, naming at most a node.
            InternalError: not one integer per asked cell, or nothing was asked.
        """
        if self.is_done:
            raise InternalError("counts for a tree that is done")
        grown = self._advance(counts)
        while grown.frontier and grown.slot_count == 0:
            grown = grown._advance(())
        return grown

    def to_json(self) -> dict[str, Any]:
        """The whole state as plain dicts, lists, integers and text, for an agent's journal.

        It holds counts: it must not leave the hospital.
        """
        return {
            "mh": self.mh.hex(),
            "state": self.state.hex(),
            "last_depth": self.last_depth,
            "history": levels_to_json(self.history),
            "parents": parents_to_json(self.parents),
        }


@dataclass(frozen=True, slots=True)
class Growth(TabledGrowth):
    """A tree that is being grown, at the start of a round."""

    schema: Schema = field(repr=False)
    rules: GrowthRules
    mh: bytes
    state: bytes = field(repr=False)
    frontier: tuple[OpenNode, ...] = field(repr=False)
    parents: Mapping[NodePath, NodeTables] = field(repr=False)
    history: Levels = field(repr=False)
    last_depth: int = 0

    @classmethod
    def start(cls, schema: Schema, rules: GrowthRules, mh: bytes) -> Growth:
        """The state before round 0: the root is open. `mh`: the manifest's hash, 32 bytes.

        Raises: InternalError: missing values are fractional, which is the business of `FractionalGrowth`.
        """
        if any(attribute.is_fractional for attribute in schema.attributes):
            raise InternalError("a value without a branch in a growth whose nodes have one a value")
        return cls(schema, rules, mh, start_state(mh), (root_node(schema),), {}, ())

    @property
    def queries(self) -> tuple[NodeQuery, ...]:
        """What to count, in frontier order; a node all of whose cells are known is not listed."""
        return tuple(node.query for node in self.frontier if node.asked)

    def _advance(self, counts: Sequence[int]) -> Growth:
        tables = assemble(self.schema, self.frontier, self.parents, counts, noisy=self.rules.noisy)
        limit = self._many_values(tables)
        level = tuple(
            decide(node.path, tables[node.path], node.majority_above, self.rules, limit)
            for node in self.frontier
        )
        frontier = next_frontier(self.schema, level, self.rules)
        needed = {child.path[:-1] for child in frontier if child.derived}
        return replace(
            self,
            state=next_state(self.state, level),
            frontier=frontier,
            parents={path: tables[path] for path in needed},
            history=(*self.history, level),
            last_depth=self.depth if counts else self.last_depth,
        )

    @classmethod
    def from_json(cls, schema: Schema, rules: GrowthRules, data: Any) -> Growth:
        """The state that `to_json` wrote under the same schema and rules.

        The frontier follows from the last level, and the chain of states is gone through again.
        Raises: InputError: another form, indices outside the schema, or decisions that do not give the state.
        """
        record = parse_record(schema, data)
        state = reduce(next_state, record.history, start_state(record.mh))
        frontier = (
            next_frontier(schema, record.history[-1], rules) if record.history else (root_node(schema),)
        )
        needed = {child.path[:-1] for child in frontier if child.derived}
        if state != record.state or needed != record.parents.keys():
            raise unreadable()
        return cls(
            schema, rules, record.mh, state, frontier, record.parents, record.history, record.last_depth
        )


def grow(
    schema: Schema,
    rules: GrowthRules,
    count: Callable[[Sequence[NodeQuery]], Sequence[int]],
    mh: bytes = bytes(32),
) -> Growth:
    """Drive a growth to its end with a counter: cells of the queries in order, one integer each."""
    growth = Growth.start(schema, rules, mh)
    while not growth.is_done:
        growth = growth.absorb(count(growth.queries))
    return growth


def start_state(mh: bytes) -> bytes:
    """`S_0 = SHA-256("ppsdt/1/tree" || mh)`."""
    return hashlib.sha256(_STATE_LABEL + mh).digest()


def next_state(state: bytes, level: Sequence[NodeDecision]) -> bytes:
    """`S_(r+1) = SHA-256(S_r || canonical decisions)` of one level, in frontier order."""
    # ASCII text and small integers only, so sorted keys without blanks are RFC 8785's form.
    decisions = [decision.canonical() for decision in level]
    canonical = json.dumps(decisions, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(state + canonical.encode("ascii")).digest()


def build(levels: Levels) -> Tree:
    """The tree from the decisions, bottom level first so that every subtree is there when it is needed."""
    built: dict[NodePath, Node] = {}
    for level in reversed(levels):
        for decision in level:
            built[decision.path] = _node(decision, built)
    return Tree(built[()])


def _node(decision: NodeDecision, built: dict[NodePath, Node]) -> Node:
    if isinstance(decision, LeafDecision):
        return Leaf(decision.label, decision.counts)
    kids = tuple(
        built.pop(decision.path_of(kid)) if label is None else Leaf(label, row)
        for kid, (label, row) in enumerate(zip(decision.kids, decision.rows, strict=True))
    )
    test = None if decision.up_to is None else UpTo(decision.up_to)
    return Split(decision.attribute, kids, decision.majority, decision.counts, test)
