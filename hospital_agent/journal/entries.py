"""What the journal holds, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class JobStatus(StrEnum):
    """Where a job stands for the people of this hospital.

    `awaiting`: an offer that a person must answer. `active`: accepted, running. The others are ends: `complete`
    with a tree; `failed` without; `declined` by this hospital; `refused`: an offer that does not hold, never
    answered.
    """

    AWAITING = "awaiting"
    ACTIVE = "active"
    COMPLETE = "complete"
    FAILED = "failed"
    DECLINED = "declined"
    REFUSED = "refused"


ACTIVE: Final = frozenset({JobStatus.AWAITING, JobStatus.ACTIVE})
"""The states in which a job can still change."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a job has cost this hospital: `seconds` by part, and bytes by message type and direction."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    received: Mapping[str, int] = field(default_factory=dict)
    work: Mapping[str, int] = field(default_factory=dict)

    def plus(
        self,
        *,
        seconds: Mapping[str, float] | None = None,
        sent: Mapping[str, int] | None = None,
        received: Mapping[str, int] | None = None,
        work: Mapping[str, int] | None = None,
    ) -> Tally:
        """The tally with these figures added."""
        return Tally(
            _sum(self.seconds, seconds or {}),
            _sum(self.sent, sent or {}),
            _sum(self.received, received or {}),
            _sum(self.work, work or {}),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "seconds": {part: round(value, 6) for part, value in self.seconds.items()},
            "sent": dict(self.sent),
            "received": dict(self.received),
            "work": dict(self.work),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tally:
        """The inverse of `to_json`."""
        return cls(data["seconds"], data["sent"], data["received"], data["work"])


def _sum(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


@dataclass(frozen=True, slots=True)
class JobEntry:
    """One job in the journal.

    `offer`: the signed offer's bytes. `participation`: the protocol's state as JSON, None once the job is over
    (rule A6). `phase`: a few words for people. `snapshot_sha256`: the frozen records. `records_identity`: of their
    source, for the difference rule. `certificates`: of the roster's members, base64url, in its order. `code` and
    `reason`: how it ended. Times: Unix seconds.
    """

    job: str
    mh: str
    study: str
    question: str
    offer: bytes = field(repr=False)
    status: JobStatus
    phase: str = ""
    round: int = 0
    participation: Mapping[str, Any] | None = field(default=None, repr=False)
    snapshot_sha256: str | None = None
    records_identity: str | None = None
    certificates: tuple[str, ...] = ()
    code: str | None = None
    reason: str | None = None
    tally: Tally = field(default_factory=Tally)
    created: float = 0.0
    updated: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether nothing can change any more."""
        return self.status not in ACTIVE


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One own envelope in the order of sending; `raw` is None once it is erased."""

    id: int
    job: str
    type: str
    round: int
    attempt: int
    sha256: str
    raw: bytes | None = field(repr=False)
    state: str
    receipt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to an offer, through the command line."""

    job: str
    approve: bool
    reason: str
