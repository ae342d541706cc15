"""Where a node is: (attribute, value) steps from the root, and their text `/a=v/a=v` (protocol section 4).

The order of a frontier is the order of these texts as bytes, in which `/10=0` comes before `/1=0` (a digit
is below the equals sign) and that before `/2=0`.
"""

from __future__ import annotations

import re
from typing import Final

from shared.errors import InputError

NodePath = tuple[tuple[int, int], ...]
"""Steps from the root as (attribute index, value index); the root is the empty path."""

ROOT: Final[NodePath] = ()

_PATH: Final = re.compile(r"(/(0|[1-9][0-9]{0,3})=(0|[1-9][0-9]{0,2}))*")


def path_text(path: NodePath) -> str:
    """`/a=v` for each step; the root is the empty text."""
    return "".join(f"/{attribute}={value}" for attribute, value in path)


def parse_path(text: str) -> NodePath:
    """The inverse of `path_text`; only the one spelling that it writes. Raises: InputError: anything else."""
    if _PATH.fullmatch(text) is None:
        raise InputError("a node path is written /attribute=value/..., with indices", where="node path")
    steps = (step.split("=") for step in text.split("/")[1:])
    return tuple((int(attribute), int(value)) for attribute, value in steps)


def path_order(path: NodePath) -> bytes:
    """The sort key of a frontier: the path's text as bytes."""
    return path_text(path).encode("ascii")
