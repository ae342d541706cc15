"""The open nodes of one depth where records come in parts: their populations, their weighted tables, their children.

A *part* of a node are its records that lack the same attributes of its path; they form a population
(`populations`) and all have the same weight. What is kept of a part suffices to go on: parts of the children follow
from the tables of the parts above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from shared.errors import JobCode, JobFailure
from shared.tree.fractional_splitting import WeightedDecision, WeightedTable, common_denominator, weigh
from shared.tree.frontier import OpenNode, root_node
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import ROOT, NodePath, path_order, path_text
from shared.tree.populations import Conjunction, conjunction
from shared.tree.schema import Schema
from shared.tree.splitting import NodeTables, SplitDecision


@dataclass(frozen=True, slots=True)
class Part:
    """The records of a node that lack the same attributes of its path: their population, the weight of each, and how
    many of each class (None at the root, where nothing is known yet)."""

    population: NodePath
    weight: Fraction
    row: tuple[int, ...] | None = field(repr=False)


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
    used = {attribute for attribute, _ in part.population}
    left = tuple(attribute for attribute in range(len(schema.attributes)) if attribute not in used)
    asked = tuple(c for c, total in enumerate(part.row) if total or not rules.skip_known)
    return OpenNode(part.population, left, 0, asked, (), part.row)


def weighted_tables(
    schema: Schema, node: PartedNode, tables: Mapping[Conjunction, NodeTables]
) -> tuple[dict[int, WeightedTable], int]:
    """The node's tables by attribute in units of 1/D, and D."""
    unit = common_denominator(part.weight for part in node.parts)
    counted = [(part.weight, tables[conjunction(part.population)]) for part in node.parts]
    weighted = {}
    for index in counted[0][1]:
        attribute = schema.attributes[index]
        missing = attribute.missing_code if attribute.is_fractional else None
        weighted[index] = weigh([(weight, found[index]) for weight, found in counted], unit, missing)
    return weighted, unit


def next_parted(
    schema: Schema,
    frontier: Sequence[PartedNode],
    level: Sequence[WeightedDecision],
    weighted: Sequence[tuple[Mapping[int, WeightedTable], int]],
    tables: Mapping[Conjunction, NodeTables],
) -> tuple[PartedNode, ...]:
    """The open nodes that the decisions of a level leave, in path order."""
    children: list[PartedNode] = []
    for node, (by_attribute, _), entry in zip(frontier, weighted, level, strict=True):
        split = entry.decision
        if not isinstance(split, SplitDecision):
            continue
        shares = by_attribute[split.attribute].shares()
        for value, label in enumerate(split.kids):
            if label is None:
                step = (split.attribute, value)
                parts = _child_parts(schema, node, step, shares[value], tables)
                children.append(PartedNode((*node.path, step), split.majority, tuple(parts)))
    return tuple(sorted(children, key=lambda child: path_order(child.path)))


def _child_parts(
    schema: Schema,
    node: PartedNode,
    step: tuple[int, int],
    share: Fraction,
    tables: Mapping[Conjunction, NodeTables],
) -> Iterable[Part]:
    """The parts of one branch: of every part of the node the records with the value, then those without any."""
    index, value = step
    attribute = schema.attributes[index]
    branches = [(value, Fraction(1))]
    if attribute.is_fractional and attribute.missing_code is not None:
        branches.append((attribute.missing_code, share))
    for code, factor in branches:
        for part in node.parts:
            row = tables[conjunction(part.population)][index].rows[code]
            if any(row):
                yield Part((*part.population, (index, code)), part.weight * factor, row)
