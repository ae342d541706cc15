"""The context that masks, tags and wrapped seeds are bound to (protocol section 2).

Agents whose manifest, roster or tree so far differ derive different masks, and the sum of their contributions
fails its check.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final

from shared.crypto.derivation import hk, hmac_sha256, lp
from shared.errors import InternalError
from shared.ids import AgentId
from shared.wire.base import canonical_json

_PREFIX: Final = b"ppsdt/1/ctx"


@dataclass(frozen=True, slots=True)
class RoundContext:
    """One (round, attempt) of one job.

    mh: manifest hash, 32 bytes. roster: (id, SHA-256 of its certificate as 32 bytes), sorted by id.
    state: the hidden state of the round, `hidden_state(...)`, 32 bytes. ctx: what keys are derived from.
    """

    mh: bytes
    round: int
    attempt: int
    roster: tuple[tuple[AgentId, bytes], ...]
    state: bytes = field(repr=False)
    roster_hash: bytes = field(init=False, repr=False)
    ctx: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [agent for agent, _ in self.roster]
        if names != sorted(set(names)):
            raise InternalError("a roster must be sorted by id and name nobody twice")
        object.__setattr__(self, "roster_hash", roster_hash(self.roster))
        numbers = self.round.to_bytes(4, "big") + self.attempt.to_bytes(4, "big")
        object.__setattr__(self, "ctx", _PREFIX + self.mh + numbers + self.roster_hash + self.state)

    @property
    def agents(self) -> tuple[AgentId, ...]:
        """The ids of the roster, sorted."""
        return tuple(agent for agent, _ in self.roster)

    def seed_label(self, agent: AgentId) -> bytes:
        """The OAEP label of an agent's wrapped mask seed: ctx || lp(i)."""
        return self.ctx + lp(agent)


def roster_hash(roster: tuple[tuple[AgentId, bytes], ...]) -> bytes:
    """SHA-256 of the canonical list of [id, certificate SHA-256 in hex]."""
    return hashlib.sha256(canonical_json([[agent, digest.hex()] for agent, digest in roster])).digest()


def hidden_state(secret: bytes, mh: bytes, state: bytes) -> bytes:
    """state_r = HMAC-SHA256(hk(G, "state"), S_r): equal trees show as equal, and nothing else shows."""
    return hmac_sha256(hk(secret, b"state", mh=mh), state)
