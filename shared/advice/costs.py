"""What a job costs, as far as it can be told beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Costs:
    """At most so much. `sent_bytes`: of all hospitals and the cloud together, as they go over lines.

    `rounds`: messages that somebody waits for, one after another. `exponentiations`: modular ones of one hospital.
    `working_seconds`: of computers, as if they stood side by side. `line_seconds`: what the lines between add.
    """

    sent_bytes: int
    rounds: int
    exponentiations: int
    working_seconds: float
    line_seconds: float

    @property
    def seconds(self) -> float:
        """From the last acceptance to the tree."""
        return self.working_seconds + self.line_seconds

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "bytes": self.sent_bytes,
            "rounds": self.rounds,
            "exponentiations": self.exponentiations,
            "working_seconds": round(self.working_seconds, 2),
            "line_seconds": round(self.line_seconds, 2),
            "seconds": round(self.seconds, 2),
        }
