"""The open nodes of one depth: which cells are asked for, and how the answers become checked tables.

With `skip_known`, cells that follow from sums already known are not asked:
  (a) a class of which the node has no record (its total is known from the parent's row): all zeros;
  (b) the last open child of a split, in path order, for a class of which no leaf among its siblings has
      a record: the parent's cells minus those of the other open children.
Every sum that is asked is checked, and so are the tables put together from asked and derived cells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from shared.errors import InternalError, JobCode, JobFailure
from shared.tree.contingency import ContingencyTable
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import ROOT, NodePath, path_order, path_text
from shared.tree.schema import Schema
from shared.tree.splitting import NodeDecision, NodeTables, SplitDecision

MAX_COUNT: Final = 2**46
"""The greatest sum that a cell may hold (protocol section 4): 1024 hospitals of 2^36 records."""


@dataclass(frozen=True, slots=True)
class NodeQuery:
    """The cells asked for at one node: ordered by attribute, value, class, each ascending.

    `attributes` are those still open there, `classes` the classes asked for (the same for each attribute).
    `values`: for each attribute those of its values that are asked, rising; None where all of them are.
    """

    path: NodePath
    attributes: tuple[int, ...]
    classes: tuple[int, ...]
    values: tuple[tuple[int, ...], ...] | None = None

    def cell_count(self, schema: Schema) -> int:
        """Asked values of all its attributes, times its classes."""
        return sum(map(len, self.asked_values(schema.value_count))) * len(self.classes)

    def asked_values(self, value_count: Callable[[int], int]) -> tuple[Sequence[int], ...]:
        """For each of its attributes the values asked. Args: value_count: of an attribute's index."""
        if self.values is not None:
            return self.values
        return tuple(range(value_count(attribute)) for attribute in self.attributes)


@dataclass(frozen=True, slots=True)
class OpenNode:
    """A node whose tables are wanted. `row`: its records per class, from the parent (None at the root).

    `asked` and `derived` are class indices; a class in neither is known to be zero everywhere. `values`: as of a query.
    """

    path: NodePath
    attributes: tuple[int, ...]
    majority_above: int
    asked: tuple[int, ...]
    derived: tuple[int, ...]
    row: tuple[int, ...] | None = field(repr=False)
    values: tuple[tuple[int, ...], ...] | None = None

    @property
    def query(self) -> NodeQuery:
        """What to ask for; without classes when everything follows."""
        return NodeQuery(self.path, self.attributes, self.asked, self.values)


def root_node(schema: Schema) -> OpenNode:
    """The root: all attributes, all classes, nothing known."""
    attributes, classes = range(len(schema.attributes)), range(schema.class_count)
    return OpenNode(ROOT, tuple(attributes), 0, tuple(classes), (), None)


def next_frontier(schema: Schema, level: Iterable[NodeDecision], rules: GrowthRules) -> tuple[OpenNode, ...]:
    """The open nodes that the decisions of a level leave, in path order."""
    children = (
        child
        for decision in level
        if isinstance(decision, SplitDecision)
        for child in _open_children(schema, decision, rules.skip_known)
    )
    return tuple(sorted(children, key=lambda child: path_order(child.path)))


def _open_children(schema: Schema, split: SplitDecision, skip_known: bool) -> list[OpenNode]:
    paths = {
        value: (*split.path, (split.attribute, value))
        for value, label in enumerate(split.kids)
        if label is None
    }
    last = max(paths, key=lambda value: path_order(paths[value]), default=None)
    used = {split.attribute, *(attribute for attribute, _ in split.path)}
    left = tuple(attribute for attribute in range(len(schema.attributes)) if attribute not in used)
    known = subtractable(split) if skip_known else frozenset()
    nodes = []
    for value, path in paths.items():
        row = split.rows[value]
        wanted = [c for c, total in enumerate(row) if total or not skip_known]
        derived = tuple(c for c in wanted if value == last and c in known)
        asked = tuple(c for c in wanted if c not in derived)
        nodes.append(OpenNode(path, left, split.majority, asked, derived, row))
    return nodes


def subtractable(split: SplitDecision) -> frozenset[int]:
    """Classes of which no leaf child has a record: only there do the open children make up the parent."""
    leaves = [row for row, label in zip(split.rows, split.kids, strict=True) if label is not None]
    return frozenset(c for c in range(len(split.counts)) if not any(row[c] for row in leaves))


def assemble(
    schema: Schema,
    frontier: Sequence[OpenNode],
    parents: Mapping[NodePath, NodeTables],
    counts: Sequence[int],
    *,
    noisy: bool = False,
) -> dict[NodePath, NodeTables]:
    """The checked tables of every node of a frontier from the sums of the asked cells, in their order.

    `parents` has the tables of the parent of every node with derived classes. `noisy`: sums that carry noise are
    right although they contradict each other.
    Raises: InternalError: not one integer per asked cell. JobFailure: `range_violation`: a cell outside
        [0, 2^46]. `inconsistent_counts`: the tables of a node contradict each other or the parent's row.
    """
    check_cells(counts, sum(node.query.cell_count(schema) for node in frontier))
    cells = iter(counts)
    tables: dict[NodePath, NodeTables] = {}
    siblings: dict[NodePath, list[NodeTables]] = {}
    for node in frontier:
        values = node.query.asked_values(schema.value_count)
        asked = {
            a: _asked_table(schema, a, node.asked, cells, only)
            for a, only in zip(node.attributes, values, strict=True)
        }
        if node.derived:
            parent = node.path[:-1]
            asked = _with_derived(node, asked, parents[parent], siblings.get(parent, ()))
        if not noisy:
            _check_node(node, asked)
        tables[node.path] = asked
        siblings.setdefault(node.path[:-1], []).append(asked)
    return tables


def check_cells(counts: Sequence[int], expected: int) -> None:
    """Refuse sums that are not one integer per asked cell (InternalError), or out of range (`range_violation`)."""
    if len(counts) != expected or not set(map(type, counts)) <= {int}:
        raise InternalError("the sums of a round are one Python integer per asked cell")
    if counts and not (min(counts) >= 0 and max(counts) <= MAX_COUNT):
        raise JobFailure(JobCode.RANGE_VIOLATION, "a sum of this round is negative or above the limit")


def _asked_table(
    schema: Schema, attribute: int, asked: tuple[int, ...], cells: Iterable[int], only: Sequence[int]
) -> ContingencyTable:
    values, classes = schema.value_count(attribute), schema.class_count
    block = tuple(islice(cells, len(only) * len(asked)))
    if len(asked) == classes and len(only) == values:
        return ContingencyTable.from_cells(block, classes)
    rows = [[0] * classes for _ in range(values)]
    for start, value in enumerate(only):
        for offset, index in enumerate(asked):
            rows[value][index] = block[start * len(asked) + offset]
    return ContingencyTable.of(rows)


def _with_derived(
    node: OpenNode, asked: dict[int, ContingencyTable], parent: NodeTables, siblings: Sequence[NodeTables]
) -> dict[int, ContingencyTable]:
    """The asked tables with the derived columns filled in: the parent's minus those of the open siblings."""
    filled = {}
    for attribute, table in asked.items():
        rest = parent[attribute]
        for sibling in siblings:
            rest = rest.minus(sibling[attribute])
        filled[attribute] = ContingencyTable(
            tuple(
                tuple(left[c] if c in node.derived else cell for c, cell in enumerate(row))
                for row, left in zip(table.rows, rest.rows, strict=True)
            )
        )
    return filled


def _check_node(node: OpenNode, tables: NodeTables) -> None:
    expected = node.row
    for table in tables.values():
        totals = table.class_totals
        if expected is None:
            expected = totals
        if totals != expected or (node.derived and min(map(min, table.rows)) < 0):
            where = path_text(node.path) or "the root"
            raise JobFailure(JobCode.INCONSISTENT_COUNTS, f"the sums of node {where} contradict each other")
