"""Cost-complexity pruning: the subtree of least `cost + alpha * leaves`, and the sequence of all of them.

Costs are of the training counts: errors, or Gini impurity weighed by records; a leaf costs `alpha` as a share of all
records. All is exact: costs and alphas are integers and fractions. An empty leaf, of a value without records, counts as
a leaf.
Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, Classification and Regression Trees (1984), chapter 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal

from shared.tree.cutting import Badness, Weigh, as_leaf, cut, weighed_counts
from shared.tree.model import Leaf, Split, Tree, fold

Cost = Literal["errors", "gini"]


@dataclass(frozen=True, slots=True)
class Pruned:
    """A tree that is the best one from its alpha on, until the next one's."""

    alpha: Fraction
    tree: Tree = field(repr=False)


def prune_at(tree: Tree, alpha: Fraction, cost: Cost, weigh: Weigh = tuple) -> Tree:
    """The smallest of the pruned trees of least `cost + alpha * leaves`.

    Args: tree: with counts and majorities. alpha: at least 0.
    """
    leaf_costs = alpha * sum(weighed_counts(as_leaf(tree.root), weigh))
    return cut(tree, lambda _, leaf: _COSTS[cost](leaf, weigh) + leaf_costs)


def weakest_links(tree: Tree, cost: Cost, weigh: Weigh = tuple) -> tuple[Pruned, ...]:
    """All trees that `prune_at` can give, with the least alpha that gives each, from 0 on to the one that is a leaf.

    The alpha of a split is what its subtree saves for each leaf that it has more than one:
    `(cost of it as a leaf - cost of its leaves) / (leaves - 1)`; the least one is cut next. A split with one leaf has
    no alpha: noisy counts can make it cheaper than a leaf at every alpha, and then it is where the sequence ends.
    """
    records = sum(weighed_counts(as_leaf(tree.root), weigh))
    sequence = [Pruned(Fraction(0), prune_at(tree, Fraction(0), cost, weigh))]
    while (link := _weakest(sequence[-1].tree, cost, weigh)) is not None:
        alpha = link / max(records, 1)
        sequence.append(Pruned(alpha, prune_at(sequence[-1].tree, alpha, cost, weigh)))
    return tuple(sequence)


@dataclass(frozen=True, slots=True)
class _Branch:
    """Of a subtree: its cost, its leaves, and the least alpha of its splits, if it has any, in records."""

    cost: Badness
    leaves: int
    weakest: Fraction | None


def _weakest(tree: Tree, cost: Cost, weigh: Weigh) -> Fraction | None:
    def of_split(split: Split, kids: list[_Branch]) -> _Branch:
        leaves, below = sum(kid.leaves for kid in kids), sum((kid.cost for kid in kids), Fraction(0))
        alphas = [kid.weakest for kid in kids if kid.weakest is not None]
        if leaves > 1:
            alphas.append(Fraction(_COSTS[cost](as_leaf(split), weigh) - below) / (leaves - 1))
        return _Branch(below, leaves, min(alphas, default=None))

    return fold(tree.root, lambda leaf: _Branch(_COSTS[cost](leaf, weigh), 1, None), of_split).weakest


def _errors(leaf: Leaf, weigh: Weigh) -> Badness:
    counts = weighed_counts(leaf, weigh)
    return sum(counts) - counts[leaf.label]


def _gini(leaf: Leaf, weigh: Weigh) -> Badness:
    """Records times `1 - sum p^2`."""
    counts = weighed_counts(leaf, weigh)
    records = sum(counts)
    return Fraction(records * records - sum(count * count for count in counts)) / records if records else 0


_COSTS: Final = {"errors": _errors, "gini": _gini}
