"""A model as a completed job leaves it, made without a job: for tests of what reads models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from hospital_agent.models import Model
from shared.ids import CLOUD, AgentId
from shared.protocol.envelopes import Address, Chain, seal
from shared.tree.counting import count_rows
from shared.tree.growing import grow
from shared.tree.growth_rules import GrowthRules
from shared.tree.schema import Schema
from shared.wire.base import encode_base64url
from shared.wire.envelope import MessageType
from shared.wire.rounds import Decision
from tests.support.clinic import ROWS, SCHEMA
from tests.support.world import Parties

NAMES = ("h1", "h2", "h3")
STATE = "5a" * 32


def parties() -> Parties:
    """The hospitals whose statements the model holds."""
    return Parties([AgentId(name) for name in NAMES])


def model_of(members: Parties, *, agent: str = "h1", saved: int = 1, **changes: object) -> Model:
    """The tree of the acute inflammations, with every member's signed statement. `changes`: to the manifest."""
    plain: Mapping[str, object] = changes.pop("schema", SCHEMA)  # type: ignore[assignment]
    manifest = members.manifest(plain, **changes)
    mh = hashlib.sha256(manifest.canonical()).hexdigest()
    schema = Schema.from_json(SCHEMA)
    rules = GrowthRules(min_node=1, min_child=1, max_depth=None)
    growth = grow(schema, rules, lambda queries: count_rows(ROWS, queries, schema))
    statements = []
    for name in NAMES:
        body = Decision(state=STATE, next_nodes=0, next_slots=0, done=True, head="0" * 64)
        address = Address(MessageType.DECISION, manifest.job, mh, 2, 0, name, CLOUD)
        statements.append(seal(members.identities[name], address, Chain(3, "00" * 32), body).signed)
    return Model(
        manifest=manifest,
        mh=mh,
        agent=agent,
        tree=growth.tree,
        state=STATE,
        statements=tuple(statements),
        certificates=tuple(encode_base64url(members.certificates[name]) for name in NAMES),
        saved=saved,
    )
