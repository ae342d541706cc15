"""What all growths level by level share, whether a node of theirs holds whole records or parts of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from shared.errors import InternalError
from shared.tree.average_gain import many_values
from shared.tree.frontier import NodeQuery
from shared.tree.growth_rules import GrowthRules
from shared.tree.model import Tree
from shared.tree.pruning import prune
from shared.tree.schema import Schema
from shared.tree.thresholds import is_ordered


class LevelGrowth(ABC):
    """A tree that is being grown, at the start of a round. `frontier`: its open nodes. `history`: a level an entry."""

    __slots__ = ()

    schema: Schema
    rules: GrowthRules
    frontier: tuple[Any, ...]
    history: tuple[Sequence[Any], ...]

    @property
    @abstractmethod
    def queries(self) -> tuple[NodeQuery, ...]:
        """What to count, in frontier order."""

    @abstractmethod
    def _grown(self) -> Tree:
        """The tree of all decisions, before pruning."""

    @abstractmethod
    def _records_at_root(self, tables: Any) -> int:
        """Weighed training records. `tables`: of the nodes that are decided now, for a root without a decision yet."""

    def _many_values(self, tables: Any) -> int | None:
        """Of criterion c45: from how many branches on an attribute does not count in the average gain."""
        if self.rules.criterion != "c45":
            return None
        halves = self.rules.thresholds is not None
        branches = (2 if halves and is_ordered(a) else a.branch_count for a in self.schema.attributes)
        return many_values(branches, self._records_at_root(tables))

    @property
    def depth(self) -> int:
        """Levels decided so far, which is also the depth of the open nodes."""
        return len(self.history)

    @property
    def slot_count(self) -> int:
        """Cells asked for in this round, 0 only when done."""
        return sum(query.cell_count(self.schema) for query in self.queries)

    @property
    def open_nodes(self) -> int:
        """Nodes that this round decides, the ones whose cells are all known included."""
        return len(self.frontier)

    @property
    def is_done(self) -> bool:
        """Whether no node is open."""
        return not self.frontier

    @property
    def tree(self) -> Tree:
        """The finished tree with counts, pruned as the rules say. Raises: InternalError: nodes are still open."""
        if not self.is_done:
            raise InternalError("the tree is asked for while nodes are open")
        grown, pruning = self._grown(), self.rules.pruning
        return grown if pruning is None else prune(grown, pruning, self.rules.weighed)
