"""What a hospital's step asks its daemon to do, and what a hospital brings to a step."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.errors import JobCode
from shared.protocol.participation import Participation
from shared.protocol.profiles import RoundKeys
from shared.protocol.trust import Trust
from shared.tree.frontier import NodeQuery
from shared.wire.base import WireModel
from shared.wire.envelope import MessageType, SignedEnvelope


@dataclass(frozen=True, slots=True)
class Say:
    """Sign and send this to the cloud, journal first."""

    type: MessageType
    body: WireModel


@dataclass(frozen=True, slots=True)
class Count:
    """Count these cells over the frozen snapshot, then call `contribute`."""

    queries: tuple[NodeQuery, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """Take one's parts in a secret job (share records, compute, receive the result), then call `computed`."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The tree stands; keep it with the signed statements of all members, erase the rest."""

    statements: tuple[SignedEnvelope, ...]


@dataclass(frozen=True, slots=True)
class Aborted:
    """The job is over without a tree; erase what was decrypted."""

    code: JobCode


AgentEffect = Say | Count | Compute | Completed | Aborted


@dataclass(frozen=True, slots=True)
class HospitalKeys:
    """What a hospital brings to every step: its round keys and whom it trusts."""

    round_keys: RoundKeys = field(repr=False)
    trust: Trust


@dataclass(frozen=True, slots=True)
class Step:
    """The participation after a step, and what the daemon must do."""

    participation: Participation
    effects: tuple[AgentEffect, ...] = ()
