"""What the job cost: seconds by part, and bytes by message type, as the programs themselves measured them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

HOSPITAL_PARTS: Final = ("count", "encrypt", "decrypt", "choose", "transport")
"""Parts that each hospital's agent measures; `add` is the cloud's."""
PARTS: Final = ("total", "count", "encrypt", "add", "decrypt", "choose", "transport")


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
) -> Costs:
    """The costs of one job from what each party measured."""
    measured = list(hospital_seconds)
    parts = {part: sum(each.get(part, 0.0) for each in measured) for part in HOSPITAL_PARTS}
    seconds = {"total": total_seconds, **parts, "add": cloud_add_seconds}
    sizes: Counter[str] = Counter()
    for each in message_bytes:
        sizes.update(each)
    return Costs(
        {part: round(seconds[part], 6) for part in PARTS},
        {"total": sizes.total(), **dict(sizes.most_common())},
    )
