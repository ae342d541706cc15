"""The open nodes of one depth where thresholds part the values of ordered attributes: what is asked, and what follows.

An ordered attribute stays open below its own threshold, on the side that the path leaves of it. Values off that side
are never asked. With `skip_known` neither is what follows from sums already known:
  (a) a class of which the node has no record;
  (b) a value of which the node above has no record;
  (c) the attribute of the threshold just above: the node above has its table, of which one side is left;
  (d) the last open child of a split, in path order, for a class of which no leaf among its siblings has a record.
Every sum that is asked is checked, and so are the tables put together from asked and derived cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from shared.errors import JobCode, JobFailure
from shared.tree.contingency import ContingencyTable
from shared.tree.frontier import NodeQuery, check_cells, subtractable
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import ROOT, NodePath, Side, path_order, path_text
from shared.tree.schema import Schema
from shared.tree.splitting import NodeDecision, NodeTables, SplitDecision
from shared.tree.thresholds import is_ordered

OpenValues = Mapping[int, tuple[int, ...]]
"""Of each attribute that may split a node the values that its records may have, by index, rising."""


@dataclass(frozen=True, slots=True)
class OrderedNode:
    """A node whose tables are wanted. `row`: its records per class, from the parent (None at the root).

    `values`: its open attributes. `asked` and `derived` are class indices; a class in neither is known to be zero
    everywhere. `inherited`: the attribute whose table is a side of the parent's.
    """

    path: NodePath
    majority_above: int
    values: OpenValues
    asked: tuple[int, ...]
    derived: tuple[int, ...]
    inherited: int | None
    row: tuple[int, ...] | None = field(repr=False)

    @property
    def query(self) -> NodeQuery:
        """What to ask for; without classes or attributes when everything follows."""
        wanted = {a: values for a, values in self.values.items() if a != self.inherited}
        return NodeQuery(self.path, tuple(wanted), self.asked, tuple(wanted.values()))

    @property
    def is_asked(self) -> bool:
        """Whether a sum of it is wanted."""
        return bool(self.asked) and any(attribute != self.inherited for attribute in self.values)


def ordered_root(schema: Schema) -> OrderedNode:
    """The root: all attributes, values and classes, nothing known."""
    values = {index: tuple(range(len(a.values))) for index, a in enumerate(schema.attributes)}
    return OrderedNode(ROOT, 0, values, tuple(range(schema.class_count)), (), None, None)


def open_values(
    schema: Schema, split: SplitDecision, kid: int, tables: NodeTables, rules: GrowthRules
) -> OpenValues:
    """What a child may be split on, which is nothing where it must be a leaf. Args: tables: of the node split."""
    path = split.path_of(kid)
    found = {}
    for attribute, table in tables.items():
        values = values_at(schema, path, attribute)
        if rules.skip_known:
            values = tuple(value for value in values if any(table.rows[value]))
        if len(values) > 1 or (values and not _needs_two(schema, attribute, rules)):
            found[attribute] = values
    return found


def _needs_two(schema: Schema, attribute: int, rules: GrowthRules) -> bool:
    """Whether an attribute of one value cannot be chosen: there is no threshold, or no gain where that is needed."""
    return is_ordered(schema.attributes[attribute]) or (rules.skip_known and not rules.split_on_zero_gain)


def values_at(schema: Schema, path: NodePath, attribute: int) -> tuple[int, ...]:
    """The values that the path leaves, empty fields that make no branch aside; none of an attribute that it used up."""
    branches = [branch for index, branch in path if index == attribute]
    sides = [branch for branch in branches if isinstance(branch, Side)]
    if len(sides) < len(branches):
        return ()
    return tuple(v for v in range(schema.branch_count(attribute)) if all(side.holds(v) for side in sides))


def next_ordered(
    schema: Schema, level: Sequence[NodeDecision], tables: Mapping[NodePath, NodeTables], rules: GrowthRules
) -> tuple[OrderedNode, ...]:
    """The open nodes that the decisions of a level leave, in path order. Args: tables: of every node with open kids."""
    children = (
        child
        for decision in level
        if isinstance(decision, SplitDecision) and None in decision.kids
        for child in _open_children(schema, decision, tables[decision.path], rules)
    )
    return tuple(sorted(children, key=lambda child: path_order(child.path)))


def _open_children(
    schema: Schema, split: SplitDecision, tables: NodeTables, rules: GrowthRules
) -> Iterator[OrderedNode]:
    kids = [kid for kid, label in enumerate(split.kids) if label is None]
    last = max(kids, key=lambda kid: path_order(split.path_of(kid)))
    known = subtractable(split) if rules.skip_known else frozenset()
    inherited = split.attribute if rules.skip_known and split.up_to is not None else None
    for kid in kids:
        row = split.rows[kid]
        wanted = [c for c, total in enumerate(row) if total or not rules.skip_known]
        derived = tuple(c for c in wanted if kid == last and c in known)
        yield OrderedNode(
            split.path_of(kid),
            split.majority,
            open_values(schema, split, kid, tables, rules),
            tuple(c for c in wanted if c not in derived),
            derived,
            inherited,
            row,
        )


def assemble_ordered(
    schema: Schema,
    frontier: Sequence[OrderedNode],
    parents: Mapping[NodePath, NodeTables],
    counts: Sequence[int],
) -> dict[NodePath, NodeTables]:
    """The checked tables of every node of a frontier from the sums of the asked cells, in their order.

    `parents`: of every node of which something follows from the node above.
    Raises: InternalError: not one integer per asked cell. JobFailure: `range_violation`: a cell outside
        [0, 2^46]. `inconsistent_counts`: the tables of a node contradict each other or the node above.
    """
    check_cells(counts, sum(node.query.cell_count(schema) for node in frontier))
    cells = iter(counts)
    tables: dict[NodePath, NodeTables] = {}
    siblings: dict[NodePath, list[NodeTables]] = {}
    for node in frontier:
        above = node.path[:-1]
        parent, others = parents.get(above, {}), siblings.setdefault(above, [])
        found = {
            attribute: _table(schema, node, attribute, cells, parent, others)
            for attribute in sorted(node.values)
        }
        _check_node(node, found, parent)
        tables[node.path] = found
        others.append(found)
    return tables


def _table(
    schema: Schema,
    node: OrderedNode,
    attribute: int,
    cells: Iterator[int],
    parent: NodeTables,
    siblings: Sequence[NodeTables],
) -> ContingencyTable:
    rows = [[0] * schema.class_count for _ in range(schema.value_count(attribute))]
    if attribute == node.inherited:
        for value in node.values[attribute]:
            rows[value] = list(parent[attribute].rows[value])
        return ContingencyTable.of(rows)
    for value in node.values[attribute]:
        for label in node.asked:
            rows[value][label] = next(cells)
        for label in node.derived:
            others = sum(sibling[attribute].rows[value][label] for sibling in siblings)
            rows[value][label] = parent[attribute].rows[value][label] - others
    return ContingencyTable.of(rows)


def _check_node(node: OrderedNode, tables: NodeTables, parent: NodeTables) -> None:
    expected = node.row
    for attribute, table in tables.items():
        if expected is None:
            expected = table.class_totals
        above = parent.get(attribute)
        if (
            table.class_totals != expected
            or min(map(min, table.rows)) < 0
            or (above is not None and min(map(min, above.minus(table).rows)) < 0)
        ):
            where = path_text(node.path) or "the root"
            raise JobFailure(JobCode.INCONSISTENT_COUNTS, f"the sums of node {where} contradict each other")
