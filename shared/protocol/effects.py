"""What a step asks its shell to do. Effects are data; the shell carries them out in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.errors import JobCode
from shared.ids import AgentId
from shared.wire.base import WireModel
from shared.wire.envelope import MessageType, SignedEnvelope


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Sign and queue one message for all whom it concerns: the invited, or the roster once there is one."""

    type: MessageType
    round: int
    attempt: int
    body: WireModel


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Tell these hospitals, each alone, that the job is over for them; it goes on without them."""

    agents: tuple[AgentId, ...]
    code: JobCode


@dataclass(frozen=True, slots=True)
class AcceptContribution:
    """Keep the ciphertexts of this contribution until the sum is committed."""


@dataclass(frozen=True, slots=True)
class DropContributions:
    """Delete every stored contribution of the job: they are summed, superseded or of no more use."""


@dataclass(frozen=True, slots=True)
class DropForwarded:
    """Key mode threshold: delete the sums that went out with contributions, and the partial decryptions of them; every
    member has worked on them, or the job is over."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Key mode threshold: the contributions of a round as their hospitals signed them, in the order of the roster, and
    the sums S_j of their self masks (base64url), from which every member recomputes the aggregate."""

    contributions: tuple[SignedEnvelope, ...] = field(repr=False)
    self_sums: tuple[str, ...] = field(repr=False)

    @property
    def length(self) -> int:
        """Bytes of all ciphertexts as they travel."""
        return sum(len(text) for signed in self.contributions for text in signed.envelope.body["ciphertexts"])


@dataclass(frozen=True, slots=True)
class ComputeSum:
    """All contributions of (round, attempt) are in: sum them off the event loop, then call `summed`."""

    round: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the people who watch the job; ids, rounds and sizes only."""

    kind: str
    data: dict[str, str | int | bool | list[str]] = field(default_factory=dict)


CloudEffect = Broadcast | Dismiss | AcceptContribution | DropContributions | DropForwarded | ComputeSum | Note
