"""Thresholds where some records have no value of the attribute: `thresholds`' rules on weights (docs/adr/0041).

The place is found among the records with a value, whose weights must be enough on either side; those without go to both
sides in parts, as at any split. The gain is that of `fractional_splitting`, the penalty is over the weight of all.
Source: J. R. Quinlan, Improved use of continuous attributes in C4.5, Journal of Artificial Intelligence Research 4
(1996), section 3; C4.5: Programs for Machine Learning (1993), section 3.2.
"""

from __future__ import annotations

from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import information_gain_score
from shared.tree.fractional_splitting import WeightedOffer, WeightedTable, WeightedTables, weighted_gain
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from shared.tree.thresholds import is_enough, is_ordered, log2_units, name_of_place, places_between


def weighted_offers(
    schema: Schema, tables: WeightedTables, denominator: int, rules: GrowthRules
) -> dict[int, WeightedOffer]:
    """What each attribute of a node offers, ordered ones their best threshold if they have one.

    Args: tables: by value, in units of 1/denominator.
    """
    found = {}
    for index, table in tables.items():
        offer: WeightedOffer | None = WeightedOffer(table)
        if rules.thresholds is not None and is_ordered(schema.attributes[index]):
            offer = _threshold(schema, index, table, denominator, rules)
        if offer is not None:
            found[index] = offer
    return found


def sides(table: WeightedTable, up_to: int) -> WeightedTable:
    """A table by value as one of the two sides of a threshold."""
    halves = table.known.rows[: up_to + 1], table.known.rows[up_to + 1 :]
    rows = (tuple(map(sum, zip(*half, strict=True))) for half in halves)
    return WeightedTable(ContingencyTable.of(rows), table.unknown)


def _threshold(
    schema: Schema, index: int, table: WeightedTable, denominator: int, rules: GrowthRules
) -> WeightedOffer | None:
    classes, whole = schema.class_count, table.known.total
    best, best_score, tries = None, 0, 0
    for place in places_between(table.known):
        smaller = min(place.table.row_totals)
        if smaller < rules.min_child * denominator or not is_enough(smaller, whole, classes, denominator):
            continue
        weighed = WeightedTable(place.table, table.unknown).weighed(rules.class_weights)
        score = information_gain_score(weighed.known)
        tries += 1
        if best is None or score > best_score:
            best, best_score = place, score
    if best is None:
        return None
    offered = WeightedTable(best.table, table.unknown)
    penalty = log2_units(tries) * denominator if rules.thresholds == "gain-mdl" else 0
    if weighted_gain(offered.weighed(rules.class_weights)) <= penalty:
        return None
    return WeightedOffer(offered, name_of_place(schema.attributes[index], best.left, best.right), penalty)
