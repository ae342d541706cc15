"""Leaves of one class that lie side by side, made one: on an opened tree, without any count.

What pruning by `collapse` is in the secret modes. Where leaves of a subtree are all of one class, the subtree saves no
training error, and every record gets the same class from the leaf that takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.tree.model import Leaf, Node, Split, Tree, fold
from shared.tree.pruning import Pruning


def merged(tree: Tree) -> Tree:
    """The smallest tree of the same splits with the same answers: each subtree of one class is a leaf."""
    return Tree(fold(tree.root, lambda leaf: leaf, _joined))


def _joined(split: Split, kids: Sequence[Node]) -> Node:
    labels = {kid.label if isinstance(kid, Leaf) else None for kid in kids}
    label = labels.pop() if len(labels) == 1 else None
    if label is None:
        return replace(split, kids=tuple(kids))
    return Leaf(label, split.counts, split.denominator)


def as_asked(tree: Tree, pruning: Pruning | None) -> Tree:
    """The tree that a secret job ends with: merged where its pruning is `collapse`, otherwise as it was grown."""
    return merged(tree) if pruning is not None and pruning.method == "collapse" else tree
