"""Branches of a tree that become leaves, from the bottom up, wherever that is no worse by some measure.

What the measures are is the business of `pruning`, `cost_complexity` and `reduced_error`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from shared.errors import InternalError
from shared.tree.model import Leaf, Node, Split, Tree

Badness = int | Fraction
Weigh = Callable[[Sequence[int]], Sequence[int]]
"""Records per class to records per class, each as many times as its class weighs."""


def cut(
    tree: Tree,
    bad: Callable[[int, Leaf], Badness],
    *,
    allowance: Badness = 0,
    besides: Callable[[int, Leaf], Badness] = lambda place, leaf: 0,
) -> Tree:
    """Each subtree becomes a leaf of its majority where that leaf is not worse than it by more than the allowance.

    Args: bad: of the leaf that stands, or would stand, at a place in the order of `Tree.nodes`. besides: what a split
        at a place, given as the leaf that it would be, adds to the badness of its subtrees.
    Raises: InternalError: a split without its majority.
    """
    nodes = list(tree.nodes())
    done: list[tuple[Node, Badness]] = []
    for place in range(
        len(nodes) - 1, -1, -1
    ):  # backwards, so a node's subtrees stand on top, the first one highest
        node = nodes[place]
        leaf = as_leaf(node)
        of_leaf = bad(place, leaf)
        if isinstance(node, Leaf):
            done.append((node, of_leaf))
            continue
        kids = [done.pop() for _ in node.kids]
        of_subtree = sum((badness for _, badness in kids), besides(place, leaf))
        keeps = of_leaf > of_subtree + allowance
        done.append((_over(node, kids), of_subtree) if keeps else (leaf, of_leaf))
    return Tree(done[0][0])


def as_leaf(node: Node) -> Leaf:
    """The leaf that a node becomes when it is cut. Raises: InternalError: its majority was not kept."""
    if isinstance(node, Leaf):
        return node
    if node.majority is None:
        raise InternalError("a tree without majorities cannot be pruned")
    return Leaf(node.majority, node.counts, node.denominator)


def weighed_counts(leaf: Leaf, weigh: Weigh) -> Sequence[Badness]:
    """Training records of a leaf per class, as they weigh, parts of records as fractions.

    Raises: InternalError: they were not kept.
    """
    if leaf.counts is None:
        raise InternalError("a tree without counts cannot be pruned")
    counts = weigh(leaf.counts)
    return counts if leaf.denominator == 1 else [Fraction(count, leaf.denominator) for count in counts]


def _over(split: Split, kids: Sequence[tuple[Node, Badness]]) -> Split:
    return replace(split, kids=tuple(kid for kid, _ in kids))
