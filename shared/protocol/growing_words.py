"""How a job grows its tree beyond the floors, in words: least gain, class weights, pruning, thresholds, and what they
disclose.

Thresholds disclose finer tables of more nodes. The others disclose nothing: they are reckoned by every hospital from
sums that it opens anyway, in the secret modes on shares; a pruned tree shows people and the cloud fewer nodes than the
grown one would.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shared.wire.growing import PruningSpec
from shared.wire.manifest import Manifest

_BOUNDS: Final[Mapping[str, str]] = {"c45": "as C4.5 reckons", "binomial": "by the exact binomial limit"}
_COSTS: Final[Mapping[str, str]] = {"errors": "training errors", "gini": "Gini impurity"}
NOTHING_MORE: Final = "This is reckoned from sums that every hospital opens anyway: nobody learns more by it."
NOTHING_MORE_SHARED: Final = (
    "This is decided on shares, and a node still shows only whether it is a leaf: nobody learns more by it."
)


def growing_words(manifest: Manifest) -> list[str]:
    """The sentences; none for a job without such rules."""
    told = []
    if manifest.min_gain is not None:
        told.append(f"A split gains at least {manifest.min_gain} bits of information.")
    if manifest.class_weights is not None:
        labels = zip(manifest.schema_.class_.labels, manifest.class_weights, strict=True)
        weights = ", ".join(f"{label or '(empty)'} {weight}" for label, weight in labels)
        told.append(
            f"Records count by their class in gains and majorities ({weights}), and once in min_node and min_child."
        )
    if manifest.pruning is not None:
        told.append(_pruned(manifest.pruning, is_secret=manifest.is_secret))
    note = NOTHING_MORE_SHARED if manifest.is_secret else NOTHING_MORE
    return ([*told, note] if told else []) + _thresholds(manifest)


def _pruned(spec: PruningSpec, *, is_secret: bool) -> str:
    if is_secret and spec.method == "majority":
        return f"Growth ends where the most frequent class has {spec.share} of a node's records or more (majority)."
    if is_secret:
        return (
            "Subtrees whose leaves are all of one class become one leaf (collapse): the answers are the same, and "
            "whoever learns the tree has seen those leaves."
        )
    return f"The grown tree is cut back: {_pruning(spec)}."


def _thresholds(manifest: Manifest) -> list[str]:
    if manifest.thresholds is None:
        return []
    less = (
        ", less log2 of the places tried a record (C4.5's penalty)"
        if manifest.thresholds == "gain-mdl"
        else ""
    )
    names = ", ".join(manifest.schema_.ordered)
    return [
        (
            f"Attributes with an order ({names}) are split in two, at the place between two of their values where the "
            f"information gain is greatest{less}, with at least 25 records or a tenth of the node's records a class on "
            "either side; below, they may be split again."
        ),
        (
            "For that, every hospital opens at each node how many records of each class lie in each of their values or "
            "intervals: the narrower those are, the closer it comes to the numbers of single records, summed over all "
            "hospitals."
        ),
    ]


def _pruning(spec: PruningSpec) -> str:
    if spec.method == "majority":
        return f"nodes whose most frequent class has {spec.share} of their records or more become leaves (majority)"
    if spec.method == "collapse":
        return "subtrees that save no training error become leaves"
    if spec.method == "pessimistic":
        return (
            f"subtrees that save no error at worst become leaves (pessimistic, confidence {spec.confidence or '0.25'}, "
            f"{_BOUNDS[spec.bound or 'c45']})"
        )
    return (
        f"subtrees that are not worth their leaves become leaves (cost-complexity by {_COSTS[spec.cost or 'errors']}, "
        f"alpha {spec.alpha})"
    )
