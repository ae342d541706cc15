"""A job as the cloud knows it: exactly what the store keeps, and what people may see of it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from shared.errors import JobCode
from shared.ids import AgentId
from shared.protocol.effects import CloudEffect
from shared.protocol.envelopes import Chain
from shared.protocol.states import TERMINAL_CLOUD_STATES, CloudState
from shared.secure_tree.context import RoundContext
from shared.wire.envelope import SignedEnvelope
from shared.wire.manifest import Manifest
from shared.wire.rounds import Prompt
from shared.wire.secret import Progress


@dataclass(frozen=True, slots=True)
class Member:
    """What the cloud knows of one invited hospital in one job.

    `progress`: what it told last of where it stands in a secret job, and `reported` when (Unix seconds).
    """

    id: AgentId
    chain: Chain = Chain()
    certificate: bytes = b""
    accept: SignedEnvelope | None = None
    declined: str | None = None
    contributed: str | None = None
    partial: SignedEnvelope | None = None
    decision: SignedEnvelope | None = None
    attested: str | None = None
    reported: int | None = None
    progress: Progress | None = None


Word = Literal["accept", "declined", "contributed", "partial", "decision"]
"""What a member may have said, by the name of its field in `Member`."""

_AWAITED: Final[Mapping[CloudState, Word]] = {
    CloudState.COLLECTING: "contributed",
    CloudState.OPENING: "partial",
    CloudState.DECIDING: "decision",
    CloudState.COMPUTING: "decision",
}


class Members(Mapping[AgentId, Member]):
    """The members of a job where they are kept: a step can ask about all of them and read only those it needs.

    As immutable as a dict that nobody changes; `changed` gives another one.
    """

    @abstractmethod
    def lacking(self, word: Word) -> Set[AgentId]:
        """Those who have not said it."""

    @abstractmethod
    def certificate_hash(self, agent: AgentId) -> bytes:
        """SHA-256 of a member's certificate."""

    @abstractmethod
    def changed(self, member: Member) -> Members:
        """With this one in its place."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job at the cloud, complete: the store keeps exactly this.

    `deadline`, `waiting_since`, `paused_since`: Unix seconds. `slots`: cells of the open round.
    While a secret job computes, it waits since the last round that all three compute parties have told.
    `expected_state`: hidden state that the context of the open round is made of.
    """

    manifest: Manifest
    mh: str
    state: CloudState = CloudState.CREATED
    round: int = 0
    attempt: int = 0
    roster: tuple[AgentId, ...] = ()
    members: Mapping[AgentId, Member] = field(default_factory=dict)
    slots: int = 0
    prompts: tuple[Prompt, ...] = ()
    expected_state: str = ""
    shrinks: int = 0
    deadline: int = 0
    waiting_since: int = 0
    paused_since: int | None = None
    failure: JobCode | None = None
    chain: Chain = Chain()
    head: str = "0" * 64

    @property
    def is_over(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self.state in TERMINAL_CLOUD_STATES

    @property
    def waiting_for(self) -> tuple[AgentId, ...]:
        """The members whose next message the job waits for, sorted."""
        if self.state is CloudState.INVITING:
            return tuple(sorted(self.lacking("accept") & self.lacking("declined")))
        word = _AWAITED.get(self.state)
        if word is not None:
            silent = self.lacking(word)
            return tuple(sorted(agent for agent in self.roster if agent in silent))
        return ()

    def lacking(self, word: Word) -> Set[AgentId]:
        """The invited who have not said it."""
        if isinstance(self.members, Members):
            return self.members.lacking(word)
        return {agent for agent, member in self.members.items() if getattr(member, word) is None}

    def with_member(self, member: Member) -> Job:
        """The job with this member as it is now."""
        if isinstance(self.members, Members):
            return replace(self, members=self.members.changed(member))
        return replace(self, members={**self.members, member.id: member})

    @property
    def longest_silent(self) -> AgentId | None:
        """Of a secret job that computes: the undecided compute party that has not told its progress for longest."""
        if self.state is not CloudState.COMPUTING or self.manifest.secret is None:
            return None
        parties = [self.members[AgentId(a)] for a in self.manifest.secret.compute_parties]
        silent = [m for m in parties if m.decision is None]
        return min(silent, key=lambda m: m.reported or 0).id if silent else None

    def context(self) -> RoundContext:
        """The context that masks, labels and tags of the open round are bound to (protocol section 2)."""
        roster = tuple((agent, self._certificate_hash(agent)) for agent in self.roster)
        return RoundContext(
            mh=bytes.fromhex(self.mh),
            round=self.round,
            attempt=self.attempt,
            roster=roster,
            state=bytes.fromhex(self.expected_state),
        )

    def _certificate_hash(self, agent: AgentId) -> bytes:
        if isinstance(self.members, Members):
            return self.members.certificate_hash(agent)
        return hashlib.sha256(self.members[agent].certificate).digest()


@dataclass(frozen=True, slots=True)
class Step:
    """The job after a step, and what the shell must do in the same transaction."""

    job: Job
    effects: tuple[CloudEffect, ...] = ()
