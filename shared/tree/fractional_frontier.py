"""The open nodes of one depth where records come in parts: their populations, their weighted tables, their children.

A *part* of a node are its records that lack the same attributes of its path; they form a population
(`populations`) and all have the same weight. What is kept of a part suffices to go on: parts of the children follow
from the tables of the parts above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from shared.errors import InternalError, JobCode, JobFailure
from shared.tree.contingency import ContingencyTable
from shared.tree.fractional_splitting import WeightedDecision, WeightedTable, common_denominator, weigh
from shared.tree.fractional_thresholds import sides
from shared.tree.frontier import OpenNode, root_node
from shared.tree.growth_rules import GrowthRules
from shared.tree.ordered_frontier import OpenValues, values_at
from shared.tree.paths import ROOT, Branch, NodePath, Side, leads_to, path_order, path_text
from shared.tree.populations import Conjunction, conjunction
from shared.tree.schema import Schema
from shared.tree.splitting import NodeTables, SplitDecision


@dataclass(frozen=True, slots=True)
class Part:
    """The records of a node that lack the same attributes of its path: their population, the weight of each, and how
    many of each class (None at the root, where nothing is known yet).

    `values`: in a job with thresholds, of each attribute that is open there the values to be asked; elsewhere None,
    where all of them are.
    """

    population: NodePath
    weight: Fraction
    row: tuple[int, ...] | None = field(repr=False)
    values: OpenValues | None = None


@dataclass(frozen=True, slots=True)
class PartedNode:
    """An open node and its parts, the one without missing values first."""

    path: NodePath
    majority_above: int
    parts: tuple[Part, ...] = field(repr=False)


def parted_root() -> PartedNode:
    """The root: all records, each whole, nothing known of them."""
    return PartedNode(ROOT, 0, (Part(ROOT, Fraction(1), None),))


def open_populations(
    schema: Schema, frontier: Iterable[PartedNode], rules: GrowthRules
) -> dict[Conjunction, OpenNode]:
    """Every population to be counted, under the path by which the first node that holds it names it.

    Raises: JobFailure: `inconsistent_counts`: two nodes know other numbers of its records.
    """
    found: dict[Conjunction, OpenNode] = {}
    for node in frontier:
        for part in node.parts:
            population = found.setdefault(conjunction(part.population), _open_population(schema, part, rules))
            if population.row != part.row:
                where = path_text(part.population)
                raise JobFailure(
                    JobCode.INCONSISTENT_COUNTS, f"the sums of population {where} contradict each other"
                )
    return found


def _open_population(schema: Schema, part: Part, rules: GrowthRules) -> OpenNode:
    if part.row is None:
        return root_node(schema)
    asked = tuple(c for c, total in enumerate(part.row) if total or not rules.skip_known)
    if part.values is not None:
        values = tuple(part.values.values())
        return OpenNode(part.population, tuple(part.values), 0, asked, (), part.row, values)
    used = {attribute for attribute, _ in part.population}
    left = tuple(attribute for attribute in range(len(schema.attributes)) if attribute not in used)
    return OpenNode(part.population, left, 0, asked, (), part.row)


def weighted_tables(
    schema: Schema, node: PartedNode, tables: Mapping[Conjunction, NodeTables]
) -> tuple[dict[int, WeightedTable], int]:
    """The node's tables by attribute and value in units of 1/D, and D."""
    unit = common_denominator(part.weight for part in node.parts)
    weighted = {}
    for index, attribute in enumerate(schema.attributes):
        if not values_at(schema, node.path, index):
            continue
        missing = attribute.missing_code if attribute.is_fractional else None
        counted = [(part.weight, _table_of(schema, part, index, tables)) for part in node.parts]
        weighted[index] = weigh(counted, unit, missing)
    return weighted, unit


def _table_of(
    schema: Schema, part: Part, index: int, tables: Mapping[Conjunction, NodeTables]
) -> ContingencyTable:
    """A part's table; of an ordered attribute that all its records lack, as an earlier threshold found, it is known."""
    found = tables[conjunction(part.population)].get(index)
    if found is not None:
        return found
    if part.row is None or schema.attributes[index].missing_code is None:
        raise InternalError("a population without the table of an open attribute")
    rows = [(0,) * schema.class_count] * (schema.value_count(index) - 1)
    return ContingencyTable.of([*rows, part.row])


def next_parted(
    schema: Schema,
    frontier: Sequence[PartedNode],
    level: Sequence[WeightedDecision],
    weighted: Sequence[tuple[Mapping[int, WeightedTable], int]],
    tables: Mapping[Conjunction, NodeTables],
    rules: GrowthRules,
) -> tuple[PartedNode, ...]:
    """The open nodes that the decisions of a level leave, in path order."""
    children: list[PartedNode] = []
    for node, (by_attribute, _), entry in zip(frontier, weighted, level, strict=True):
        split = entry.decision
        if not isinstance(split, SplitDecision):
            continue
        table = by_attribute[split.attribute]
        shares = (table if split.up_to is None else sides(table, split.up_to)).shares()
        for kid, label in enumerate(split.kids):
            if label is None:
                parts = _child_parts(schema, node, split, kid, shares[kid], tables, rules)
                children.append(PartedNode(split.path_of(kid), split.majority, tuple(parts)))
    return tuple(sorted(children, key=lambda child: path_order(child.path)))


def _child_parts(
    schema: Schema,
    node: PartedNode,
    split: SplitDecision,
    kid: int,
    share: Fraction,
    tables: Mapping[Conjunction, NodeTables],
    rules: GrowthRules,
) -> Iterable[Part]:
    """The parts of one branch: of every part of the node the records with the value, then those without any."""
    index, attribute = split.attribute, schema.attributes[split.attribute]
    missing = attribute.missing_code if attribute.is_fractional else None
    branch: Branch = (
        kid if split.up_to is None else Side(split.up_to, kid == 1, missing if kid == 1 else None)
    )
    for part in node.parts:
        found = tables[conjunction(part.population)]
        if index in found:
            rows = (row for value, row in enumerate(found[index].rows) if leads_to(branch, value))
            row = tuple(map(sum, zip(*rows, strict=True)))
            yield from _part(schema, part, (index, branch), part.weight, row, found, rules)
    if missing is None:
        return
    for part in node.parts:
        found = tables[conjunction(part.population)]
        weight = part.weight * share
        if index in found:
            yield from _part(schema, part, (index, missing), weight, found[index].rows[missing], found, rules)
        elif part.row is not None:
            yield replace(part, weight=weight, values=_values(schema, part, found, rules))


def _part(
    schema: Schema,
    part: Part,
    step: tuple[int, Branch],
    weight: Fraction,
    row: tuple[int, ...],
    found: NodeTables,
    rules: GrowthRules,
) -> Iterable[Part]:
    """A part of a part, one step further; nothing where no record goes."""
    if any(row):
        further = Part((*part.population, step), weight, row)
        yield replace(further, values=_values(schema, further, found, rules))


def _values(schema: Schema, part: Part, found: NodeTables, rules: GrowthRules) -> OpenValues | None:
    """What to ask of a population, given the tables of the one that it is of; None in a job without thresholds."""
    if rules.thresholds is None:
        return None
    asked = {}
    for index, table in found.items():
        branches = [branch for attribute, branch in part.population if attribute == index]
        if any(not isinstance(branch, Side) for branch in branches):
            continue
        asked[index] = tuple(
            value
            for value, row in enumerate(table.rows)
            if all(leads_to(branch, value) for branch in branches) and (any(row) or not rules.skip_known)
        )
    return asked
