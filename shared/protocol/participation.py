"""What a hospital remembers of one job between two messages, and its form in the journal.

The journal is the hospital's own and holds secrets (the job's X25519 key, decrypted sums inside `growth`);
at the end of a job the daemon erases it (rule A6) and keeps the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.errors import JobCode
from shared.ids import AgentId
from shared.protocol.envelopes import Chain
from shared.protocol.states import AgentState
from shared.secure_tree.context import RoundContext
from shared.tree.growing import Growth
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from shared.wire.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Peer:
    """A roster member as its signed acceptance shows it. Keys are 32 raw bytes."""

    id: AgentId
    certificate_sha256: bytes
    public_key: bytes
    ephemeral: bytes


@dataclass(frozen=True, slots=True)
class Participation:
    """One hospital in one job.

    `cloud_seq`: highest `seq` seen from the cloud. `aggregated`: last round whose sums were seen, or -1.
    `contribution`: SHA-256 of the own contribution of (round, attempt). `statement`: own last decision.
    """

    manifest: Manifest
    mh: str
    own: AgentId
    growth: Growth
    ephemeral_private: bytes = field(repr=False)
    state: AgentState = AgentState.IDLE
    chain: Chain = Chain()
    cloud_seq: int = -1
    round: int = 0
    attempt: int = 0
    members: tuple[Peer, ...] = ()
    roster: tuple[AgentId, ...] = ()
    accept: str = ""
    contribution: str | None = None
    aggregated: int = -1
    statement: Mapping[str, Any] | None = None
    head: str = "0" * 64
    failure: JobCode | None = None

    def peers(self) -> tuple[Peer, ...]:
        """The members of the present roster, in its order."""
        known = {peer.id: peer for peer in self.members}
        return tuple(known[agent] for agent in self.roster)

    def context(self, hidden_state: bytes) -> RoundContext:
        """The context of the open round (protocol section 2)."""
        roster = tuple((peer.id, peer.certificate_sha256) for peer in self.peers())
        return RoundContext(
            mh=bytes.fromhex(self.mh),
            round=self.round,
            attempt=self.attempt,
            roster=roster,
            state=hidden_state,
        )


def schema_of(manifest: Manifest) -> Schema:
    """The tree's schema of a manifest. Raises: InputError: duplicates, or cuts that do not increase."""
    return Schema.from_json(manifest.schema_.model_dump(mode="json", by_alias=True))


def rules_of(manifest: Manifest) -> GrowthRules:
    """The growth rules of a manifest; profile paper never skips a cell."""
    return GrowthRules(
        criterion=manifest.criterion,
        min_node=manifest.min_node,
        min_child=manifest.min_child,
        max_depth=manifest.max_depth,
        split_on_zero_gain=manifest.split_on_zero_gain,
        skip_known=manifest.skip_known and manifest.profile != "paper",
    )


def to_json(participation: Participation) -> dict[str, Any]:
    """For the journal: plain JSON types."""
    p = participation
    return {
        "manifest": p.manifest.model_dump(mode="json", by_alias=True),
        "mh": p.mh,
        "own": p.own,
        "growth": p.growth.to_json(),
        "ephemeral_private": p.ephemeral_private.hex(),
        "state": p.state.value,
        "chain": [p.chain.seq, p.chain.prev],
        "cloud_seq": p.cloud_seq,
        "round": p.round,
        "attempt": p.attempt,
        "members": [
            [m.id, m.certificate_sha256.hex(), m.public_key.hex(), m.ephemeral.hex()] for m in p.members
        ],
        "roster": list(p.roster),
        "accept": p.accept,
        "contribution": p.contribution,
        "aggregated": p.aggregated,
        "statement": p.statement,
        "head": p.head,
        "failure": p.failure,
    }


def from_json(data: Mapping[str, Any]) -> Participation:
    """From the journal; the inverse of `to_json`."""
    manifest = Manifest.model_validate(data["manifest"])
    schema, rules = schema_of(manifest), rules_of(manifest)
    return Participation(
        manifest=manifest,
        mh=data["mh"],
        own=AgentId(data["own"]),
        growth=Growth.from_json(schema, rules, data["growth"]),
        ephemeral_private=bytes.fromhex(data["ephemeral_private"]),
        state=AgentState(data["state"]),
        chain=Chain(*data["chain"]),
        cloud_seq=data["cloud_seq"],
        round=data["round"],
        attempt=data["attempt"],
        members=tuple(
            Peer(AgentId(m[0]), bytes.fromhex(m[1]), bytes.fromhex(m[2]), bytes.fromhex(m[3]))
            for m in data["members"]
        ),
        roster=tuple(AgentId(agent) for agent in data["roster"]),
        accept=data["accept"],
        contribution=data["contribution"],
        aggregated=data["aggregated"],
        statement=data["statement"],
        head=data["head"],
        failure=None if data["failure"] is None else JobCode(data["failure"]),
    )
