"""Cutting branches off a grown tree by the training counts that its nodes have: nothing more is asked of anybody.

- `majority`: where the most frequent class has at least `share` of the records: the tree whose growth stops there;
- `collapse`: where a subtree makes no fewer training errors than one leaf would;
- `pessimistic`: after that, where it makes no fewer errors at worst (`error_bounds`), with C4.5's allowance of 0.1;
- `cost-complexity`: where it does not lower the cost by `alpha` a leaf that it saves (`cost_complexity`).

A node that is cut becomes a leaf of its majority (subtree replacement). C4.5 may also put a node's largest subtree in
its place (subtree raising); that would need the records of the others counted anew in it, which is another job.
A record counts as often as its class weighs, everywhere here.
Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Final, Literal, get_args

from shared.errors import InputError
from shared.tree.cost_complexity import Cost, prune_at
from shared.tree.cutting import Badness, Weigh, cut, weighed_counts
from shared.tree.error_bounds import UNIT, Bound, worst_errors
from shared.tree.model import Leaf, Split, Tree

Method = Literal["majority", "collapse", "pessimistic", "cost-complexity"]

_ALLOWANCE: Final = UNIT // 10


@dataclass(frozen=True, slots=True)
class Pruning:
    """How a grown tree is pruned. `confidence`, `bound`: of pessimistic; `alpha`, `cost`: of cost-complexity; `share`:
    of majority, above 0, at most 1; smaller prunes more.

    `confidence`: above 0, at most 1/2; smaller prunes more. `alpha`: what a leaf costs, as a share of all records;
    greater prunes more.
    """

    method: Method
    confidence: Fraction = Fraction(1, 4)
    bound: Bound = "c45"
    alpha: Fraction = Fraction(0)
    cost: Cost = "errors"
    share: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse what no manifest can say. Raises: InputError."""
        for name, value, known in (
            ("method", self.method, get_args(Method)),
            ("bound", self.bound, get_args(Bound)),
            ("cost", self.cost, get_args(Cost)),
        ):
            if value not in known:
                raise InputError(f"expected one of {', '.join(known)}", where=f"pruning {name}")
        if not 0 < self.confidence <= Fraction(1, 2):
            raise InputError("expected above 0 and at most 0.5", where="pruning confidence")
        if self.alpha < 0:
            raise InputError("expected at least 0", where="pruning alpha")
        if not 0 < self.share <= 1:
            raise InputError("expected above 0 and at most 1", where="pruning share")


def prune(tree: Tree, pruning: Pruning, weigh: Weigh = tuple) -> Tree:
    """The pruned tree, with counts. Args: tree: of which every node has counts, and every split its majority.

    Raises: InternalError: a tree without them.
    """
    if pruning.method == "majority":
        return _stopped(tree, pruning.share, weigh)
    if pruning.method == "cost-complexity":
        return prune_at(tree, pruning.alpha, pruning.cost, weigh)
    collapsed = cut(tree, lambda _, leaf: _records_and_errors(leaf, weigh)[1])
    if pruning.method == "collapse":
        return collapsed

    # Leaves of the same numbers are many; what is remembered is forgotten with this call (rule A6).
    bound = cache(partial(worst_errors, confidence=pruning.confidence, bound=pruning.bound))
    return cut(collapsed, lambda _, leaf: bound(*_records_and_errors(leaf, weigh)), allowance=_ALLOWANCE)


def _stopped(tree: Tree, share: Fraction, weigh: Weigh) -> Tree:
    nodes = list(tree.nodes())

    def goes_on(place: int, leaf: Leaf) -> int:
        counts = weighed_counts(leaf, weigh)
        return int(isinstance(nodes[place], Split) and counts[leaf.label] < share * sum(counts))

    return cut(tree, goes_on)


def _records_and_errors(leaf: Leaf, weigh: Weigh) -> tuple[Badness, Badness]:
    counts = weighed_counts(leaf, weigh)
    return sum(counts), sum(counts) - counts[leaf.label]
