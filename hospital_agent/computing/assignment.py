"""What a member needs to know of a secret job to take its parts: who the others are, and who computes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Final

from hospital_agent.links.direct import Address
from hospital_agent.links.meeting import Membership
from shared.crypto.derivation import hk
from shared.errors import InternalError
from shared.ids import AgentId, JobId
from shared.mpc.prss import KEY_BYTES
from shared.mpc.sharing import PARTIES
from shared.protocol.participation import Participation, Peer
from shared.secure_tree.contributing import party_index
from shared.wire.base import canonical_json
from shared.wire.manifest import Manifest
from shared.wire.secret import SecretSpec

_PROGRAM: Final = f"privet secret job {version('privet')}"
"""Another version may send other messages: a log of this one's is refused there."""


@dataclass(frozen=True)
class Assignment:
    """One member's view of a secret job whose roster is fixed. `private`: its X25519 key of the job."""

    manifest: Manifest
    mh: bytes
    own: AgentId
    private: bytes = field(repr=False)
    members: tuple[Peer, ...]

    @classmethod
    def of(cls, participation: Participation) -> Assignment:
        """From a participation that has joined its roster."""
        return cls(
            participation.manifest,
            bytes.fromhex(participation.mh),
            participation.own,
            participation.ephemeral_private,
            participation.peers(),
        )

    @cached_property
    def secret(self) -> SecretSpec:
        """The manifest's block."""
        if self.manifest.secret is None:
            raise InternalError("a job without the block of secret modes was given to the computing room")
        return self.manifest.secret

    @cached_property
    def compute_parties(self) -> tuple[AgentId, ...]:
        """P0, P1, P2."""
        return tuple(AgentId(agent) for agent in self.secret.compute_parties)

    @cached_property
    def index(self) -> int | None:
        """Which compute party this member is; None: it only contributes."""
        return party_index(self.compute_parties, self.own)

    @property
    def neighbours(self) -> tuple[AgentId, AgentId]:
        """Of a compute party: the previous and the next."""
        if self.index is None:
            raise InternalError("a member that does not compute has no neighbours")
        return self.compute_parties[self.index - 1], self.compute_parties[(self.index + 1) % PARTIES]

    @cached_property
    def others(self) -> tuple[AgentId, ...]:
        """Everybody else of the roster, in its order."""
        return tuple(peer.id for peer in self.members if peer.id != self.own)

    @cached_property
    def linked(self) -> tuple[AgentId, ...]:
        """Whom this member exchanges frames with: a compute party with everybody, the others with compute parties."""
        if self.index is not None:
            return self.others
        return tuple(agent for agent in self.others if agent in self.compute_parties)

    @cached_property
    def records(self) -> Mapping[AgentId, int]:
        """How many records each member shares, by the roster's order."""
        return {peer.id: peer.records or 0 for peer in self.members}

    @property
    def total_records(self) -> int:
        """Records of all members together."""
        return sum(self.records.values())

    @cached_property
    def roster_sha256(self) -> bytes:
        """Of all that this member was told of the others: equal at all members, or the cloud told them apart."""
        told = [
            [
                peer.id,
                peer.certificate_sha256.hex(),
                peer.ephemeral.hex(),
                peer.records,
                None if peer.direct is None else peer.direct.model_dump(mode="json"),
            ]
            for peer in self.members
        ]
        return hashlib.sha256(b"roster\n" + canonical_json(told)).digest()

    @cached_property
    def membership(self) -> Membership:
        """The keys of this member's links."""
        publics = {peer.id: peer.ephemeral for peer in self.members if peer.id in self.linked}
        return Membership(JobId(self.manifest.job), self.mh, self.own, self.private, publics)

    @cached_property
    def addresses(self) -> Mapping[AgentId, Address]:
        """Where compute parties take direct connections."""
        return {
            peer.id: Address(peer.direct.host, peer.direct.port, peer.direct.certificate_sha256)
            for peer in self.members
            if peer.direct is not None and peer.id in self.compute_parties
        }

    @property
    def input_seeds(self) -> tuple[bytes, bytes]:
        """The two seeds of this member's shares: the same after a restart, and known to nobody else."""
        first, second = (
            hk(self.private, b"input part %d" % part, mh=self.mh)[:KEY_BYTES] for part in range(2)
        )
        return first, second

    @property
    def log_context(self) -> bytes:
        """What a log of frames belongs to."""
        return hashlib.sha256(_PROGRAM.encode() + self.mh + self.own.encode()).digest()
