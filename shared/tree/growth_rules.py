"""The rules by which a job grows its tree, as the manifest states them (protocol section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shared.errors import InputError

Criterion = Literal["information-gain", "gain-ratio"]


@dataclass(frozen=True, slots=True)
class GrowthRules:
    """The manifest's rules of growth; the defaults are the protocol's.

    `min_node`: fewer records make a leaf. `min_child`: least records of a non-empty child. `max_depth`:
    questions on a path, None without limit. `skip_known`: do not ask for cells that follow from others. `noisy`: the
    sums carry noise, so they need not agree with each other.
    """

    criterion: Criterion = "information-gain"
    min_node: int = 10
    min_child: int = 5
    max_depth: int | None = 8
    split_on_zero_gain: bool = False
    skip_known: bool = True
    noisy: bool = False

    def __post_init__(self) -> None:
        """Refuse what no manifest can say. Raises: InputError."""
        if self.criterion not in ("information-gain", "gain-ratio"):
            raise InputError("expected information-gain or gain-ratio", where="criterion")
        for name, value in (("min_node", self.min_node), ("min_child", self.min_child)):
            if value < 1:
                raise InputError("expected at least 1", where=name)
        if self.noisy and self.skip_known:
            raise InputError("nothing follows from noisy sums: expected false", where="skip_known")
        if self.max_depth is not None and self.max_depth < 1:
            raise InputError("expected at least 1, or none for no limit", where="max_depth")
