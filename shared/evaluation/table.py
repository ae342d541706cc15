"""The table all judging starts from: places of a tree by true class, and the score that each place gives a class.

A place is a node at which a walk can end: a leaf, or a split where a record has no usable value and the majority
answers. Tables of several hospitals over one tree add up cell by cell; nothing here needs a record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import starmap
from typing import Final

from shared.errors import InputError
from shared.tree.model import Leaf, Split, Tree

Counts = tuple[int, ...]
"""Records per class, in the order of the schema."""
Weights = tuple[Fraction, ...]
"""The same where parts of records may have come somewhere."""


@dataclass(frozen=True, slots=True)
class Smoothing:
    """What a leaf's training records are made into: (count + m * prior) / (records + m).

    `m` 0: their shares as they are. `prior`: "uniform" gives every class the same (m = number of classes is Laplace's
    rule), "root" the shares of all training records (the m-estimate). Source: B. Cestnik, Estimating probabilities: a
    crucial task in machine learning, ECAI 1990.
    """

    m: int = 0
    prior: str = "uniform"

    def __post_init__(self) -> None:
        """Refuse another form. Raises: InputError."""
        if self.m < 0 or self.prior not in ("uniform", "root"):
            raise InputError("expected m of 0 or more, and the prior uniform or root", where="smoothing")


AS_THEY_ARE: Final = Smoothing()


@dataclass(frozen=True, slots=True)
class Place:
    """Where walks end. `node`: its number in `Tree.nodes()`. `label`: the class index that it answers.

    `scores`: one fraction a class, summing to 1; None where the tree came without counts.
    """

    node: int
    label: int
    is_leaf: bool
    scores: tuple[Fraction, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class LeafTable:
    """Judged records by place and true class. `counts`: places x classes."""

    classes: tuple[str, ...]
    places: tuple[Place, ...]
    counts: tuple[Counts, ...] = field(repr=False)

    @property
    def records(self) -> int:
        """All records judged."""
        return sum(map(sum, self.counts))

    @property
    def stopped(self) -> int:
        """Records whose walk ended before a leaf."""
        rows = zip(self.places, self.counts, strict=True)
        return sum(sum(counts) for place, counts in rows if not place.is_leaf)

    @property
    def truth(self) -> Counts:
        """Records per true class."""
        return tuple(sum(column) for column in zip(*self.counts, strict=True)) or (0,) * len(self.classes)

    @property
    def has_scores(self) -> bool:
        """Whether every place that a record reached gives scores."""
        rows = zip(self.places, self.counts, strict=True)
        return all(place.scores is not None for place, counts in rows if any(counts))

    def reached(self) -> list[tuple[Place, Counts]]:
        """The places that a record reached, with their counts."""
        return [(p, c) for p, c in zip(self.places, self.counts, strict=True) if any(c)]

    def __add__(self, other: LeafTable) -> LeafTable:
        """The records of both. Raises: InputError: they are of different trees."""
        if (self.classes, self.places) != (other.classes, other.places):
            raise InputError("expected tables of one tree and one list of classes", where="leaf table")
        return LeafTable(
            self.classes,
            self.places,
            tuple(
                tuple(a + b for a, b in zip(mine, theirs, strict=True))
                for mine, theirs in zip(self.counts, other.counts, strict=True)
            ),
        )


def leaf_table(
    tree: Tree,
    classes: Sequence[str],
    counts: Mapping[int, Sequence[int]],
    smoothing: Smoothing = AS_THEY_ARE,
) -> LeafTable:
    """The table of judged records. Args: counts: node number in `Tree.nodes()` -> records per true class.

    Raises: InputError: a node that the tree does not have or that gives no answer, a count that is no whole number of
        records, or another number of classes.
    """
    places = places_of(tree, len(classes), smoothing)
    known = {place.node: place for place in places}
    for node, row in counts.items():
        if node not in known and any(row):
            raise InputError(f"the tree answers nothing at node {node}", where="leaf table")
        if len(row) != len(classes) or any(type(count) is not int or count < 0 for count in row):
            raise InputError(
                f"expected {len(classes)} counts, one a class, of 0 or more", where=f"leaf table, node {node}"
            )
    empty = (0,) * len(classes)
    return LeafTable(tuple(classes), places, tuple(tuple(counts.get(p.node, empty)) for p in places))


def resubstitution(tree: Tree) -> dict[int, Counts]:
    """The training records themselves at their leaves: what a tree says of those it was grown on, which flatters it.

    Raises: InputError: the tree came without counts.
    """
    found: dict[int, Counts] = {}
    for number, node in enumerate(tree.nodes()):
        if isinstance(node, Leaf):
            if node.counts is None or node.denominator != 1:
                kept = "without the counts" if node.counts is None else "with parts of records in the counts"
                raise InputError(
                    f"the tree came {kept} of its leaves",
                    where="tree",
                    remedy="Judge it on records of your own: privet agent evaluate.",
                )
            found[number] = node.counts
    return found


def places_of(tree: Tree, class_count: int, smoothing: Smoothing = AS_THEY_ARE) -> tuple[Place, ...]:
    """Every node that answers, in the order of `Tree.nodes()`; a split without a majority answers nothing.

    A place that no training record reached has the scores of the closest place above that one did.
    """
    nodes = list(tree.nodes())
    root = nodes[0].weights
    resting = _resting_weights(tree)
    scores = [None if found is None else _scores(found, root, class_count, smoothing) for found in resting]
    rows = zip(range(len(nodes)), nodes, scores, strict=True)
    return tuple(
        place for place in starmap(_place, ((n, node, found) for n, node, found in rows)) if place is not None
    )


def _place(number: int, node: Leaf | Split, scores: tuple[Fraction, ...] | None) -> Place | None:
    if isinstance(node, Leaf):
        return Place(number, node.label, True, scores)
    return None if node.majority is None else Place(number, node.majority, False, scores)


def _resting_weights(tree: Tree) -> list[Weights | None]:
    """Of each node, in the order of `Tree.nodes()`, the records of itself or of the closest above that has any."""
    found: list[Weights | None] = []
    pending: list[tuple[Leaf | Split, Weights | None]] = [(tree.root, None)]
    while pending:
        node, above = pending.pop()
        own = node.weights if node.counts is not None and any(node.counts) else above
        found.append(own)
        if isinstance(node, Split):
            pending.extend((kid, own) for kid in reversed(node.kids))
    return found


def _scores(
    weights: Weights, root: Weights | None, class_count: int, smoothing: Smoothing
) -> tuple[Fraction, ...]:
    if len(weights) != class_count:
        raise InputError(f"expected {class_count} counts, one a class", where="tree")
    if smoothing.prior == "root" and root is not None and any(root):
        prior = [weight / sum(root) for weight in root]
    else:
        prior = [Fraction(1, class_count)] * class_count
    total = sum(weights) + smoothing.m
    return tuple((weight + smoothing.m * p) / total for weight, p in zip(weights, prior, strict=True))
