"""How much each attribute of a finished tree told: the mean decrease of impurity, from the counts of its nodes.

A split lowers the impurity of its records by `N I - sum_k N_k I_k`; an attribute's importance is the sum over its
splits as a share of the sum over all splits, as scikit-learn reckons `feature_importances_`. It is about the records
that the tree was grown on, so an attribute that only fits their chance has some, and of two that tell the same the one
that was not asked has none. For people: nothing is decided by it.
Source: L. Breiman and others, Classification and Regression Trees (1984), section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

from shared.tree.cutting import Badness, Weigh, as_leaf, weighed_counts
from shared.tree.model import Split, Tree

_DIGITS: Final = 40


@dataclass(frozen=True, slots=True)
class Importance:
    """Of one attribute: its splits, and its shares of the decrease of Gini impurity and of entropy, 0 to 1 each."""

    attribute: int
    splits: int
    gini: Decimal
    entropy: Decimal


def importances(tree: Tree, weigh: Weigh = tuple) -> tuple[Importance, ...]:
    """The attributes that the tree asks, most important by Gini impurity first; none for a tree that is a leaf.

    Args: tree: with counts and majorities. weigh: how often a record counts, as while the tree grew.
    Raises: InternalError: a tree without counts.
    """
    asked: dict[int, list[Split]] = {}
    for node in tree.nodes():
        if isinstance(node, Split):
            asked.setdefault(node.attribute, []).append(node)
    with localcontext() as context:
        context.prec = _DIGITS
        gini = _shares({a: _dropped(splits, weigh, _gini) for a, splits in asked.items()})
        bits = _shares({a: _dropped(splits, weigh, _entropy) for a, splits in asked.items()})
    found = [Importance(a, len(splits), gini[a], bits[a]) for a, splits in asked.items()]
    return tuple(sorted(found, key=lambda each: (-each.gini, each.attribute)))


def _dropped(
    splits: Iterable[Split], weigh: Weigh, impurity: Callable[[Sequence[Badness]], Decimal]
) -> Decimal:
    """What the splits lower the impurity by, not below 0: counts with noise need not add up."""
    total = Decimal(0)
    for split in splits:
        below = sum((impurity(weighed_counts(as_leaf(kid), weigh)) for kid in split.kids), Decimal(0))
        total += impurity(weighed_counts(as_leaf(split), weigh)) - below
    return max(total, Decimal(0))


def _shares(drops: Mapping[int, Decimal]) -> dict[int, Decimal]:
    whole = sum(drops.values(), Decimal(0))
    return {attribute: drop / whole if whole else Decimal(0) for attribute, drop in drops.items()}


def _gini(counts: Sequence[Badness]) -> Decimal:
    """`N (1 - sum p^2)`."""
    records = sum(counts)
    if not records:
        return Decimal(0)
    return _decimal(records - Fraction(sum(count * count for count in counts)) / records)


def _entropy(counts: Sequence[Badness]) -> Decimal:
    """`N H`, up to a factor that all nodes have."""
    records = _decimal(sum(counts))
    there = [_decimal(count) for count in counts if count]
    return records * records.ln() - sum((n * n.ln() for n in there), Decimal(0)) if there else Decimal(0)


def _decimal(number: Badness) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
