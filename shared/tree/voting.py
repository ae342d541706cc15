"""C4.5's answer for a record that lacks values: all branches answer, each as heavily as training records went there.

At a split on an attribute with fractional missing values a record without one goes down every branch v with the share
K_v / K of the training records that had value v; a branch's weight in the tree is in that proportion. Each end that
it reaches adds its share of the distribution of the classes there. Everything is a fraction; the greatest sum wins, of
equal ones the first class.

Source: J. R. Quinlan, C4.5: Programs for Machine Learning (1993), section 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from shared.errors import InternalError
from shared.tree.model import Leaf, Node, Split


def can_vote(split: Split) -> bool:
    """Whether the shares of its branches are known: the tree kept its counts, and training records had values."""
    return all(kid.weights is not None for kid in split.kids) and any(map(_size, split.kids))


def distribution(
    start: Split,
    classes: int,
    branch_of: Callable[[Split], int | None],
    goes_in_parts: Callable[[Split], bool],
) -> tuple[Fraction, ...]:
    """Share per class for a record that reached `start`; together 1.

    Args: branch_of: where the record goes at a split, None where it has no usable value. goes_in_parts: whether it then
        goes down every branch; if not, the split's own records answer.
    Raises: InternalError: the tree has no counts.
    """
    votes = [Fraction(0)] * classes
    pending: list[tuple[Node, Fraction]] = [(start, Fraction(1))]
    while pending:
        node, share = pending.pop()
        if isinstance(node, Split):
            branch = branch_of(node)
            if branch is not None:
                pending.append((node.kids[branch], share))
                continue
            if goes_in_parts(node):
                pending.extend(_parts(node, share))
                continue
        for label, part in enumerate(_shares(node, classes)):
            votes[label] += share * part
    return tuple(votes)


def winner(votes: tuple[Fraction, ...]) -> int:
    """The class of the greatest share, of equal ones the first."""
    return max(range(len(votes)), key=votes.__getitem__)


def _parts(split: Split, share: Fraction) -> list[tuple[Node, Fraction]]:
    sizes = [_size(kid) for kid in split.kids]
    whole = sum(sizes, start=Fraction(0))
    return [(kid, share * size / whole) for kid, size in zip(split.kids, sizes, strict=True) if size]


def _shares(node: Node, classes: int) -> list[Fraction]:
    """Of an end: the distribution of its records, or all for the label of a leaf that no record reached."""
    if isinstance(node, Leaf) and not _size(node):
        return [Fraction(label == node.label) for label in range(classes)]
    whole = _size(node)
    return [weight / whole for weight in node.weights or ()]


def _size(node: Node) -> Fraction:
    if node.weights is None:
        raise InternalError("a vote needs a tree with counts")
    return sum(node.weights, start=Fraction(0))
