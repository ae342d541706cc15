"""The rules by which a job grows its tree, as the manifest states them (protocol section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

from shared.errors import InputError
from shared.tree.pruning import Pruning

Criterion = Literal["information-gain", "gain-ratio", "c45"]
"""`c45`: gain ratio among the attributes of at least average gain (C4.5)."""
Thresholds = Literal["gain", "gain-mdl"]
"""How an attribute whose values have an order is split in two: where the information gain is greatest; `gain-mdl`: less
log2 of the places tried, a record (`thresholds`)."""
MAX_CLASS_WEIGHT: Final = 1000


@dataclass(frozen=True, slots=True)
class GrowthRules:
    """The manifest's rules of growth; the defaults are the protocol's.

    `min_node`: fewer records make a leaf. `min_child`: least records of a non-empty child. `max_depth`:
    questions on a path, None without limit. `skip_known`: do not ask for cells that follow from others. `noisy`: the
    sums carry noise, so they need not agree with each other. `min_gain`: least information gain of a split, in bits.
    `class_weights`: one positive integer a class; a record counts so many times in gains and majorities, and once in
    `min_node` and `min_child`. `pruning`: of the grown tree. `thresholds`: None where every value is a branch.
    """

    criterion: Criterion = "information-gain"
    min_node: int = 10
    min_child: int = 5
    max_depth: int | None = 8
    split_on_zero_gain: bool = False
    skip_known: bool = True
    noisy: bool = False
    min_gain: Fraction = Fraction(0)
    class_weights: tuple[int, ...] | None = None
    pruning: Pruning | None = None
    thresholds: Thresholds | None = None

    def __post_init__(self) -> None:
        """Refuse what no manifest can say. Raises: InputError."""
        if self.criterion not in get_args(Criterion):
            raise InputError("expected information-gain, gain-ratio or c45", where="criterion")
        if self.thresholds not in (None, *get_args(Thresholds)):
            raise InputError("expected gain or gain-mdl", where="thresholds")
        for name, value in (("min_node", self.min_node), ("min_child", self.min_child)):
            if value < 1:
                raise InputError("expected at least 1", where=name)
        if self.noisy and self.skip_known:
            raise InputError("nothing follows from noisy sums: expected false", where="skip_known")
        if self.max_depth is not None and self.max_depth < 1:
            raise InputError("expected at least 1, or none for no limit", where="max_depth")
        if self.min_gain < 0:
            raise InputError("expected at least 0 bits", where="min_gain")
        if any(not 1 <= weight <= MAX_CLASS_WEIGHT for weight in self.class_weights or ()):
            raise InputError(f"expected 1 to {MAX_CLASS_WEIGHT} for each class", where="class_weights")

    @property
    def stop_share(self) -> Fraction | None:
        """The share of its most frequent class that makes a node a leaf, where pruning is by majority."""
        if self.pruning is None or self.pruning.method != "majority":
            return None
        return self.pruning.share

    def weighed(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Records per class, each as many times as its class weighs."""
        if self.class_weights is None:
            return tuple(counts)
        return tuple(count * weight for count, weight in zip(counts, self.class_weights, strict=True))
