"""Thresholds in the order of an attribute's values, found from counts of each value: C4.5's rules on numbers.

The values of an *ordered* attribute are the intervals between its cut points, or a list that the study declares to have
an order. Of all places between two values that occur at a node, the attribute offers the one of greatest information
gain, the lowest of equal ones, with enough records on either side: `min_child`, and a tenth of the node's records a
class, but at most 25. Which attribute splits the node is then decided among what all of them offer, by the criterion.

A place between two values that occur may be named by any value from the one up to below the other: all part the node's
records alike. Named is the greatest cut that is not above the middle, as C4.5 names a value of the records; of listed
values the middle one.
Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 2.4; Improved use of continuous attributes in
C4.5, Journal of Artificial Intelligence Research 4 (1996), section 3, for the penalty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from shared.tree.average_gain import best_above_average
from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import (
    f_entry,
    gain_ratio_fraction,
    greatest_ratio,
    has_zero_gain,
    information_gain_score,
)
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Attribute
from shared.tree.splitting import gains_too_little, is_admissible

_MOST: Final = 25
_SHARE: Final = 10


@dataclass(frozen=True, slots=True)
class Offer:
    """What an attribute offers at a node: records by branch and class, and of a threshold the last value on its left.

    `penalty`: what the gain pays for the choice among thresholds, times records and 2^32.
    """

    table: ContingencyTable
    up_to: int | None = None
    penalty: int = 0


def is_ordered(attribute: Attribute) -> bool:
    """Whether its values have an order: between cut points unless the study says otherwise, else where it says so."""
    return attribute.fixed_point is None and (
        attribute.treat_as == "ordered" or (attribute.treat_as is None and attribute.cuts is not None)
    )


def offer_of(attribute: Attribute, table: ContingencyTable, rules: GrowthRules) -> Offer | None:
    """What it offers, None for nothing. Args: table: records by value and class, not weighed."""
    if is_ordered(attribute):
        return _threshold(attribute, table, rules)
    return Offer(table) if is_admissible(table, rules.min_child) else None


def best_offer(offers: Mapping[int, Offer], rules: GrowthRules, many_values: int | None) -> int | None:
    """The attribute to split on, or None for a leaf; the rules are those of `splitting.best_attribute`.

    Args: offers: by attribute index, rising. many_values: of criterion c45, as there.
    """
    weighed = {attribute: _weighed(offer.table, rules) for attribute, offer in offers.items()}
    best = _best(offers, weighed, rules, many_values)
    if best is None or (not rules.split_on_zero_gain and has_zero_gain(weighed[best])):
        return None
    return None if gains_too_little(weighed[best], rules) else best


def _best(
    offers: Mapping[int, Offer],
    weighed: Mapping[int, ContingencyTable],
    rules: GrowthRules,
    many_values: int | None,
) -> int | None:
    if not offers:
        return None
    if rules.criterion == "information-gain":
        scores = {a: information_gain_score(weighed[a]) - offer.penalty for a, offer in offers.items()}
        return max(scores, key=lambda attribute: (scores[attribute], -attribute))
    ratios = {}
    for attribute, offer in offers.items():
        gain, split = gain_ratio_fraction(weighed[attribute])
        ratios[attribute] = gain - offer.penalty, split
    if rules.criterion == "c45":
        branches = {attribute: len(offer.table.rows) for attribute, offer in offers.items()}
        return best_above_average(ratios, branches, next(iter(weighed.values())).total, many_values)
    return greatest_ratio(ratios)


def _threshold(attribute: Attribute, table: ContingencyTable, rules: GrowthRules) -> Offer | None:
    """The best threshold; None without a place that is allowed, and where its gain is 0 or all spent on the penalty."""
    best, best_score, tries = None, 0, 0
    records, classes = table.total, len(table.rows[0])
    for place in places_between(table):
        smaller = min(place.table.row_totals)
        if smaller < rules.min_child or not is_enough(smaller, records, classes):
            continue
        score = information_gain_score(_weighed(place.table, rules))
        tries += 1
        if best is None or score > best_score:
            best, best_score = place, score
    if best is None:
        return None
    weighed = _weighed(best.table, rules)
    penalty = log2_units(tries) if rules.thresholds == "gain-mdl" else 0
    if has_zero_gain(weighed) or gain_ratio_fraction(weighed)[0] <= penalty:
        return None
    return Offer(best.table, name_of_place(attribute, best.left, best.right), penalty)


@dataclass(frozen=True, slots=True)
class Place:
    """A place between two values that occur, `left` and `right`, and the records on both sides of it."""

    left: int
    right: int
    table: ContingencyTable


def places_between(table: ContingencyTable) -> Iterator[Place]:
    """The places between two values that occur next to each other, lowest first. Args: table: values x classes."""
    whole = table.class_totals
    occurring = [value for value, row in enumerate(table.rows) if any(row)]
    below = [0] * len(whole)
    for left, right in pairwise(occurring):
        below = [count + cell for count, cell in zip(below, table.rows[left], strict=True)]
        above = tuple(total - count for total, count in zip(whole, below, strict=True))
        yield Place(left, right, ContingencyTable((tuple(below), above)))


def is_enough(smaller: int, records: int, classes: int, unit: int = 1) -> bool:
    """The smallest-branch rule: at least 25 records, or a tenth of the node's records a class.

    Args: smaller, records: in parts of a record, `unit` to one.
    """
    return smaller >= _MOST * unit or _SHARE * classes * smaller >= records


def _weighed(table: ContingencyTable, rules: GrowthRules) -> ContingencyTable:
    return table if rules.class_weights is None else table.weighed(rules.class_weights)


def log2_units(number: int) -> int:
    """The integer nearest to `2^32 log2(number)`, up to what F's own rounding is off by."""
    return (2 * f_entry(number) + number) // (2 * number)


def name_of_place(attribute: Attribute, left: int, right: int) -> int:
    """The value that names the place between two that occur."""
    cuts = attribute.cuts
    if cuts is None:
        return (left + right) // 2
    if right > len(cuts):
        # The value for an empty field stands last: it alone is on the right.
        return right - 1
    # The last interval has no upper end; its lower one stands for it.
    double = cuts[left] + cuts[min(right, len(cuts) - 1)]
    return max(value for value in range(left, right) if 2 * cuts[value] <= double)
