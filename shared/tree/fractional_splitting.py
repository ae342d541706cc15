"""Split or leaf where some records have no value of some attributes: C4.5's fractional rows, in integers.

A record without a value of the attribute that a node asks goes to every branch v in part K_v / K, where K_v is the
weight of the records with value v at that node and K their sum; records with the value go whole. What a node holds is
then a sum of weights, each a fraction that every hospital knows. Weights of one node are written here in units of 1/D,
with one D for all its tables, so that everything is an integer again.

Scores. Let t be the weight of the records whose value of A is known, by value and class, u of those without, W = K + u.
    gain(A)  = K/W (H(class | known) - H(class | value, known)) = G / W
    G        = f(K) - sum_c f(t_c) - sum_v f(t_v) + sum_vc f(t_vc),        f(x) = x log2 x
    split(A) = entropy of (t_1, ..., t_k, u) = S / W,  S = f(W) - sum_v f(t_v) - f(u)
W is the same for all attributes of a node, so gains compare by G and ratios by G / S. For x = m/D is
f(x) = (f(m) - m log2 D) / D, and the arguments of G and of S add up to 0 with their signs, so log2 D cancels:
G(m/D) = G(m)/D and S(m/D) = S(m)/D. Hence the table F of integers (protocol section 4) serves as it does for counts,
and its rounding weighs less the greater D is.

Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), sections 3.1 to 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd, lcm

from shared.errors import InternalError
from shared.tree.average_gain import best_above_average
from shared.tree.contingency import ContingencyTable
from shared.tree.criteria import SCALE_BITS, f_entry, greatest_ratio, has_zero_gain, information_gain_score
from shared.tree.growth_rules import GrowthRules
from shared.tree.paths import NodePath
from shared.tree.splitting import LeafDecision, NodeDecision, SplitDecision, majority_label


@dataclass(frozen=True, slots=True)
class WeightedTable:
    """A node's weights by one attribute, in units of 1/D: `known` by branch and class, `unknown` by class."""

    known: ContingencyTable = field(repr=False)
    unknown: tuple[int, ...] = field(repr=False)

    @property
    def class_totals(self) -> tuple[int, ...]:
        """Weight per class, records without a value included."""
        return tuple(map(sum, zip(self.known.class_totals, self.unknown, strict=True)))

    def branch_rows(self) -> tuple[tuple[tuple[int, ...], ...], int]:
        """Weight per class in each branch, parts of the unknown included, in units of 1/(D factor); and that factor.

        Raises: InternalError: no record has a value, so there are no shares.
        """
        whole = self.known.total
        if not whole:
            raise InternalError("shares of an attribute that no record of the node has a value of")
        if not any(self.unknown):
            return self.known.rows, 1
        rows = zip(self.known.rows, self.known.row_totals, strict=True)
        return tuple(_with_share(row, total, self.unknown, whole) for row, total in rows), whole

    def weighed(self, weights: Sequence[int] | None) -> WeightedTable:
        """Each record of class c counted `weights[c]` times; None: as it is."""
        if weights is None:
            return self
        unknown = tuple(count * weight for count, weight in zip(self.unknown, weights, strict=True))
        return WeightedTable(self.known.weighed(weights), unknown)

    @property
    def total(self) -> int:
        """Weight of the node."""
        return self.known.total + sum(self.unknown)

    def shares(self) -> tuple[Fraction, ...]:
        """K_v / K of each branch: what part of a record without a value goes there."""
        whole = self.known.total
        return tuple(Fraction(total, whole) for total in self.known.row_totals)


WeightedTables = Mapping[int, WeightedTable]
"""The tables of one node by attribute index, in ascending order of the index, all in the same unit."""


@dataclass(frozen=True, slots=True)
class WeightedDecision:
    """A decision whose counts and rows are in units of 1/denominator of a record."""

    decision: NodeDecision
    denominator: int


def weigh(
    parts: Sequence[tuple[Fraction, ContingencyTable]], denominator: int, missing: int | None
) -> WeightedTable:
    """One attribute's table of a node from the counts of its parts, each with the weight of its records.

    Args: denominator: D, a multiple of those of all weights. missing: index of the row of records without a value, the
        last one; None where every value is a branch.
    """
    factors = [int(weight * denominator) for weight, _ in parts]
    rows = [
        tuple(sum(map(int.__mul__, factors, cells)) for cells in zip(*same_row, strict=True))
        for same_row in zip(*(table.rows for _, table in parts), strict=True)
    ]
    unknown = tuple([0] * len(rows[0])) if missing is None else rows.pop(missing)
    return WeightedTable(ContingencyTable(tuple(rows)), unknown)


def common_denominator(weights: Iterable[Fraction]) -> int:
    """The least D for which all weights are whole in units of 1/D."""
    return lcm(*(weight.denominator for weight in weights))


@dataclass(frozen=True, slots=True)
class WeightedOffer:
    """What an attribute offers at a node: weights by branch, of a threshold the last value on its left, and what the
    gain pays for the choice among thresholds, times D 2^32."""

    table: WeightedTable
    up_to: int | None = None
    penalty: int = 0


WeightedOffers = Mapping[int, WeightedOffer]
"""By attribute index, in ascending order of the index."""


def whole_offers(tables: WeightedTables) -> dict[int, WeightedOffer]:
    """Of attributes with one branch a value: their tables."""
    return {attribute: WeightedOffer(table) for attribute, table in tables.items()}


def decide_weighted(
    path: NodePath,
    tables: WeightedTables,
    denominator: int,
    majority_above: int,
    rules: GrowthRules,
    many_values: int | None = None,
    offers: WeightedOffers | None = None,
    is_closed: Callable[[NodePath], bool] | None = None,
) -> WeightedDecision:
    """Split or leaf for one open node, by the rules of `splitting.decide` on weights.

    Args: tables: by value. offers: what may be split on; None where every value is a branch. is_closed: whether a child
        has nothing left to ask; None where every attribute is asked once on a path.

    `min_node` is compared with the weight of all records, `min_child` with that of the records with a known value in
    the branch. `majority_above` labels a node without records. `many_values`: of criterion c45.
    """
    counts = next(iter(tables.values())).class_totals
    majority = majority_label(rules.weighed(counts), majority_above)
    stops = not path and _stops(counts, denominator, rules)
    found = whole_offers(tables) if offers is None else offers
    attribute = None if stops else best_weighted(found, denominator, rules, many_values)
    if attribute is None:
        return _reduced(LeafDecision(path, majority, counts), denominator)
    rows, factor = found[attribute].table.branch_rows()
    unit, whole = denominator * factor, tuple(count * factor for count in counts)
    split = SplitDecision(path, attribute, majority, (None,) * len(rows), whole, rows, found[attribute].up_to)
    last_level = len(path) + 1 == rules.max_depth or (is_closed is None and len(tables) == 1)
    kids = tuple(
        majority_label(rules.weighed(row), majority)
        if last_level or _stops(row, unit, rules) or (is_closed is not None and is_closed(split.path_of(kid)))
        else None
        for kid, row in enumerate(rows)
    )
    return _reduced(replace(split, kids=kids), unit)


def best_weighted(
    offers: WeightedOffers, denominator: int, rules: GrowthRules, many_values: int | None = None
) -> int | None:
    """The attribute to split on, the first of equals, or None for a leaf: as `splitting.best_attribute`."""
    admissible = {
        attribute: replace(offer, table=offer.table.weighed(rules.class_weights))
        for attribute, offer in offers.items()
        if _is_admissible(offer.table.known, rules.min_child * denominator)
    }
    best = _best(admissible, rules, many_values)
    if best is None:
        return None
    table = admissible[best].table
    if not rules.split_on_zero_gain and has_zero_gain(table.known):
        return None
    least = rules.min_gain * (table.total << SCALE_BITS)
    return None if rules.min_gain and weighted_gain(table) < least else best


def _is_admissible(known: ContingencyTable, least: int) -> bool:
    return bool(known.total) and all(total == 0 or total >= least for total in known.row_totals)


def _best(offers: WeightedOffers, rules: GrowthRules, many_values: int | None) -> int | None:
    tables = {attribute: offer.table for attribute, offer in offers.items()}
    gains = {attribute: weighted_gain(offer.table) - offer.penalty for attribute, offer in offers.items()}
    if rules.criterion == "information-gain":
        return max(gains, key=gains.__getitem__, default=None)
    ratios = {
        attribute: (gains[attribute], weighted_split_information(tables[attribute])) for attribute in gains
    }
    if rules.criterion == "c45":
        values = {attribute: len(table.known.rows) for attribute, table in tables.items()}
        total = next((table.total for table in tables.values()), 0)
        return best_above_average(ratios, values, total, many_values)
    return greatest_ratio(ratios)


def weighted_gain(table: WeightedTable) -> int:
    """G of this module's docstring times D 2^32: exactly 0 without gain, otherwise at least 1."""
    known = table.known
    if has_zero_gain(known):
        return 0
    by_class = sum(map(f_entry, known.class_totals))
    return max(1, f_entry(known.total) - by_class + information_gain_score(known))


def weighted_split_information(table: WeightedTable) -> int:
    """S of this module's docstring times D 2^32: records without a value are one more part (section 3.2).

    0 where all records with a value have the same: such an attribute separates nothing.
    """
    if sum(map(bool, table.known.row_totals)) < 2:
        return 0
    by_value = sum(map(f_entry, table.known.row_totals)) + f_entry(sum(table.unknown))
    return f_entry(table.total) - by_value


def _with_share(row: Sequence[int], total: int, unknown: Sequence[int], whole: int) -> tuple[int, ...]:
    return tuple(cell * whole + total * rest for cell, rest in zip(row, unknown, strict=True))


def _stops(counts: Sequence[int], denominator: int, rules: GrowthRules) -> bool:
    return sum(1 for count in counts if count) <= 1 or sum(counts) < rules.min_node * denominator


def _reduced(decision: NodeDecision, denominator: int) -> WeightedDecision:
    """The same weights in the largest unit in which they are whole."""
    rows = decision.rows if isinstance(decision, SplitDecision) else ()
    common = gcd(denominator, *decision.counts, *(cell for row in rows for cell in row))
    counts = _divided(decision.counts, common)
    if isinstance(decision, LeafDecision):
        return WeightedDecision(LeafDecision(decision.path, decision.label, counts), denominator // common)
    split = replace(decision, counts=counts, rows=tuple(_divided(row, common) for row in rows))
    return WeightedDecision(split, denominator // common)


def _divided(counts: Sequence[int], by: int) -> tuple[int, ...]:
    return tuple(count // by for count in counts)
