"""Pruning by records that the tree has not seen: pure functions of a tree and of counts at its places.

The counts are those that a job of evaluation opens: how many hold-out records of each class end at each place, in the
order of `Tree.nodes`. A walk ends at a split where a record has no value that the split knows.
Source: J. R. Quinlan, Simplifying decision trees, International Journal of Man-Machine Studies 27 (1987), section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.errors import InternalError
from shared.tree.cost_complexity import Pruned
from shared.tree.cutting import as_leaf, cut
from shared.tree.merging import merged
from shared.tree.model import Leaf, Node, Split, Tree

Ends = Sequence[Sequence[int]]
"""Hold-out records per class that end at each place."""


def prune_by_hold_out(tree: Tree, ends: Ends) -> Tree:
    """Each subtree, from the bottom up, becomes a leaf where that makes no more errors on the hold-out records.

    Raises: InternalError: not one row a node; a split without its majority, see `prune_unnamed_by_hold_out`.
    """
    reached = _reached(tree, ends)
    return cut(
        tree,
        lambda place, leaf: _errors(leaf, reached[place]),
        besides=lambda place, leaf: _errors(leaf, ends[place]),
    )


def prune_unnamed_by_hold_out(tree: Tree, ends: Ends) -> Tree:
    """The same for a tree whose splits keep no majority, as the secret modes open it.

    A leaf that takes a subtree's place is of the most frequent class of the hold-out records that come by, on ties the
    lowest. A subtree that none of them reaches stays. Records that end at a split have no answer, which is an error. In
    the end leaves of one class are joined (`merging`).
    Raises: InternalError: not one row a node.
    """
    reached, nodes = _reached(tree, ends), list(tree.nodes())
    done: list[tuple[Node, int]] = []
    for place in range(len(nodes) - 1, -1, -1):
        node, counts = nodes[place], reached[place]
        if isinstance(node, Leaf):
            done.append((node, _errors(node, counts)))
            continue
        kids = [done.pop() for _ in node.kids]
        leaf, of_subtree = Leaf(counts.index(max(counts))), sum(ends[place]) + sum(made for _, made in kids)
        cuts = any(counts) and _errors(leaf, counts) <= of_subtree
        kept = replace(node, kids=tuple(kid for kid, _ in kids))
        done.append((leaf, _errors(leaf, counts)) if cuts else (kept, of_subtree))
    return merged(Tree(done[0][0]))


def best_on_hold_out(tree: Tree, ends: Ends, sequence: Sequence[Pruned]) -> Pruned:
    """Of the trees that cost-complexity pruning made of `tree`, the smallest of fewest errors on hold-out records.

    Args: ends: at the places of `tree`. sequence: as `weakest_links` gives it, alphas rising.
    """
    errors = [errors_at(tree, ends, pruned.tree) for pruned in sequence]
    return next(
        pruned
        for pruned, made in zip(reversed(sequence), reversed(errors), strict=True)
        if made == min(errors)
    )


def errors_at(tree: Tree, ends: Ends, pruned: Tree) -> int:
    """Hold-out records that a pruned tree answers wrongly, or not at all where a split has no majority.

    Args: ends: at the places of the whole tree.
    """
    reached, nodes, errors, skip = _reached(tree, ends), list(tree.nodes()), 0, 0
    small = pruned.nodes()
    for place, node in enumerate(nodes):
        if place < skip:
            continue
        kept = next(small)
        was_cut = isinstance(kept, Leaf)
        counts = reached[place] if was_cut else ends[place]
        is_unnamed = isinstance(kept, Split) and kept.majority is None
        errors += sum(counts) if is_unnamed else _errors(as_leaf(kept), counts)
        if was_cut:
            skip = place + _size(node)
    return errors


def _size(node: Leaf | Split) -> int:
    return Tree(node).node_count


def _reached(tree: Tree, ends: Ends) -> list[tuple[int, ...]]:
    """Hold-out records per class that come by each place: those that end there, and at the places below it."""
    nodes = list(tree.nodes())
    if len(nodes) != len(ends):
        raise InternalError("expected the hold-out counts of every place of the tree")
    found: list[tuple[int, ...]] = [tuple(row) for row in ends]
    pending: list[int] = []
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if isinstance(node, Split):
            below = [found[pending.pop()] for _ in node.kids]
            found[place] = tuple(map(sum, zip(found[place], *below, strict=True)))
        pending.append(place)
    return found


def _errors(leaf: Leaf, counts: Sequence[int]) -> int:
    return sum(counts) - counts[leaf.label]
