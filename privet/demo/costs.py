"""What the job cost: seconds by part, and bytes by message type, as the programs themselves measured them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PARTS: Final = ("total", "count", "encrypt", "add", "decrypt", "choose", "transport")
"""Each hospital's agent measures its own; `add` is the cloud's."""
SECRET_PARTS: Final = ("total", "freeze", "compute", "wait", "transport")
"""Of the secret modes: computing on shares, and waiting there for messages of the others."""
_SHARES: Final = "shares"
"""The words that a compute party sent, which stand among the bytes of frames as well."""


@dataclass(frozen=True, slots=True)
class Costs:
    """`seconds`: `total` from the start of the job until every hospital holds the tree (wall clock), and the parts,
    each added up over all parties, so that they may exceed the total. `bytes`: by message type as it went over the
    wire, HTTP headers included, and all together.
    """

    seconds: Mapping[str, float]
    bytes: Mapping[str, int]


def add_up(
    total_seconds: float,
    hospital_seconds: Iterable[Mapping[str, float]],
    cloud_add_seconds: float,
    message_bytes: Iterable[Mapping[str, int]],
    parts: Sequence[str] = PARTS,
) -> Costs:
    """The costs of one job from what each party measured, by these parts."""
    measured = list(hospital_seconds)
    seconds = {part: sum(each.get(part, 0.0) for each in measured) for part in parts}
    seconds |= {"total": total_seconds, "add": cloud_add_seconds}
    sizes: Counter[str] = Counter()
    for each in message_bytes:
        sizes.update({kind: size for kind, size in each.items() if kind != _SHARES})
    return Costs(
        {part: round(seconds[part], 6) for part in parts},
        {"total": sizes.total(), **dict(sizes.most_common())},
    )
