"""What a hospital remembers of one job between two messages, and its form in the journal.

The journal is the hospital's own and holds secrets (the job's X25519 key, decrypted sums inside `growth`);
at the end of a job the daemon erases it (rule A6) and keeps the tree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from shared.errors import InternalError, JobCode
from shared.ids import AgentId
from shared.protocol.envelopes import Chain
from shared.protocol.states import AgentState
from shared.secure_tree.context import RoundContext
from shared.tree.growth_rules import GrowthRules
from shared.tree.growths import AnyGrowth, TreeGrowth, tree_growth
from shared.tree.pruning import Pruning
from shared.tree.schema import Schema
from shared.tree.tallying import TallyGrowth
from shared.wire.growing import PruningSpec
from shared.wire.manifest import Manifest
from shared.wire.secret import DirectEndpoint


@dataclass(frozen=True, slots=True)
class Peer:
    """A roster member as its signed acceptance shows it. Keys are 32 raw bytes.

    Of a secret job: `records`: how many it shares. `direct`: where a compute party takes connections, if it does.
    """

    id: AgentId
    certificate_sha256: bytes
    public_key: bytes
    ephemeral: bytes
    records: int | None = None
    direct: DirectEndpoint | None = None


@dataclass(frozen=True, slots=True)
class SecretResult:
    """What a secret job came to at one member.

    `record`: canonical text that is equal at every member: the tree where everyone learns it, otherwise hiding
    commitments to the shared result. `tree`: the tree's canonical text if this member learned it. `opened`: how many
    values were opened, by kind, where this member computed.
    """

    record: str = field(repr=False)
    tree: str | None = field(default=None, repr=False)
    opened: Mapping[str, int] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hash of the record, hex: what every member attests to."""
        return hashlib.sha256(self.record.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Opening:
    """Key mode threshold, between the own partial decryption and the others': base64url of the round's sums, and of
    the own partial decryption."""

    ciphertexts: tuple[str, ...] = field(repr=False)
    own: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Participation:
    """One hospital in one job.

    `cloud_seq`: highest `seq` seen from the cloud. `aggregated`: last round whose sums were seen, or -1.
    `contribution`: SHA-256 of the own contribution of (round, attempt). `statement`: own last decision.
    A secret job leaves `growth` at its start and ends with a `result`. `opening`: of a sum that is opened together.
    """

    manifest: Manifest
    mh: str
    own: AgentId
    growth: AnyGrowth
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
    result: SecretResult | None = None
    opening: Opening | None = None

    def opened_here(self) -> Opening:
        """What is kept of the sum that is being opened. Raises: InternalError: none is."""
        if self.opening is None:
            raise InternalError("partial decryptions are opened without a sum")
        return self.opening

    @property
    def chained_state(self) -> bytes:
        """S_r of the tree so far (protocol section 4); of a secret job S_1 = SHA-256(S_0 || record)."""
        if self.result is None:
            return self.growth.state
        return hashlib.sha256(self.growth.state + self.result.record.encode()).digest()

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
        noisy=manifest.noise is not None,
        min_gain=Fraction(manifest.min_gain or 0),
        class_weights=None if manifest.class_weights is None else tuple(manifest.class_weights),
        pruning=None if manifest.pruning is None else pruning_of(manifest.pruning),
        thresholds=manifest.thresholds,
    )


def pruning_of(spec: PruningSpec) -> Pruning:
    """A manifest's block as a rule of growing; what it leaves out has the defaults."""
    given = spec.model_dump(exclude_none=True)
    return Pruning(
        **given | {name: Fraction(given[name]) for name in ("confidence", "alpha", "share") if name in given}
    )


def growth_kind(manifest: Manifest) -> type[TreeGrowth] | type[TallyGrowth]:
    """What a job's rounds bring forward: a tree, or the tables of a tally."""
    return tree_growth(schema_of(manifest), rules_of(manifest)) if manifest.tally is None else TallyGrowth


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
        "members": [_peer_to_json(peer) for peer in p.members],
        "roster": list(p.roster),
        "accept": p.accept,
        "contribution": p.contribution,
        "aggregated": p.aggregated,
        "statement": p.statement,
        "head": p.head,
        "failure": p.failure,
        "result": None if p.result is None else asdict(p.result),
        "opening": None if p.opening is None else asdict(p.opening),
    }


def _peer_to_json(peer: Peer) -> dict[str, Any]:
    return {
        "id": peer.id,
        "certificate_sha256": peer.certificate_sha256.hex(),
        "public_key": peer.public_key.hex(),
        "ephemeral": peer.ephemeral.hex(),
        "records": peer.records,
        "direct": None if peer.direct is None else peer.direct.model_dump(mode="json"),
    }


def _peer_from_json(data: Mapping[str, Any]) -> Peer:
    direct = data["direct"]
    return Peer(
        id=AgentId(data["id"]),
        certificate_sha256=bytes.fromhex(data["certificate_sha256"]),
        public_key=bytes.fromhex(data["public_key"]),
        ephemeral=bytes.fromhex(data["ephemeral"]),
        records=data["records"],
        direct=None if direct is None else DirectEndpoint.model_validate(direct),
    )


def from_json(data: Mapping[str, Any]) -> Participation:
    """From the journal; the inverse of `to_json`."""
    manifest = Manifest.model_validate(data["manifest"])
    schema, rules = schema_of(manifest), rules_of(manifest)
    return Participation(
        manifest=manifest,
        mh=data["mh"],
        own=AgentId(data["own"]),
        growth=growth_kind(manifest).from_json(schema, rules, data["growth"]),
        ephemeral_private=bytes.fromhex(data["ephemeral_private"]),
        state=AgentState(data["state"]),
        chain=Chain(*data["chain"]),
        cloud_seq=data["cloud_seq"],
        round=data["round"],
        attempt=data["attempt"],
        members=tuple(_peer_from_json(member) for member in data["members"]),
        roster=tuple(AgentId(agent) for agent in data["roster"]),
        accept=data["accept"],
        contribution=data["contribution"],
        aggregated=data["aggregated"],
        statement=data["statement"],
        head=data["head"],
        failure=None if data["failure"] is None else JobCode(data["failure"]),
        result=None if data["result"] is None else SecretResult(**data["result"]),
        opening=_opening_from_json(data.get("opening")),
    )


def _opening_from_json(data: Mapping[str, Any] | None) -> Opening | None:
    # Absent in journals of a version that knew one key mode only.
    return None if data is None else Opening(tuple(data["ciphertexts"]), data["own"])
