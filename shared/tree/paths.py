"""Where a node is: (attribute, value) steps from the root, and their text `/a=v/a=v` (protocol section 4).

A step of a threshold is written `/a<=v` or `/a>v`. The order of a frontier is the order of these texts as bytes, in
which `/10=0` comes before `/1=0` (a digit is below the equals sign) and that before `/2=0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shared.errors import InputError


@dataclass(frozen=True, slots=True)
class Side:
    """The values up to one of an order, or those above it: where a threshold leads.

    `below`: above, the value for an empty field, where that is on neither side (fractional missing values).
    """

    threshold: int
    is_above: bool
    below: int | None = None

    def __str__(self) -> str:
        return f"{'>' if self.is_above else '<='}{self.threshold}"

    def holds(self, value: int) -> bool:
        """Whether a value index lies on this side."""
        return (value > self.threshold) == self.is_above and (self.below is None or value < self.below)


Branch = int | Side
"""A value index, or a side of a threshold among them."""

NodePath = tuple[tuple[int, Branch], ...]
"""Steps from the root as (attribute index, branch); the root is the empty path. A job without thresholds has value
indices only."""

ROOT: Final[NodePath] = ()

_STEP: Final = r"/(0|[1-9][0-9]{0,3})(=|<=|>)(0|[1-9][0-9]{0,2})"
_PATH: Final = re.compile(f"({_STEP})*")


def path_text(path: NodePath) -> str:
    """`/a=v` for each step, or `/a<=v`, `/a>v`; the root is the empty text."""
    return "".join(
        f"/{attribute}{branch}" if isinstance(branch, Side) else f"/{attribute}={branch}"
        for attribute, branch in path
    )


def parse_path(text: str) -> NodePath:
    """The inverse of `path_text`; only the one spelling that it writes. Raises: InputError: anything else."""
    if _PATH.fullmatch(text) is None:
        raise InputError("a node path is written /attribute=value/..., with indices", where="node path")
    return tuple(
        (int(attribute), int(value) if sign == "=" else Side(int(value), sign == ">"))
        for attribute, sign, value in re.findall(_STEP, text)
    )


def leads_to(branch: Branch, value: int) -> bool:
    """Whether a record with this value index goes down this branch."""
    return branch.holds(value) if isinstance(branch, Side) else branch == value


def path_order(path: NodePath) -> bytes:
    """The sort key of a frontier: the path's text as bytes."""
    return path_text(path).encode("ascii")
