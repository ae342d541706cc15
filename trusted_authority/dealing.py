"""A Paillier key dealt in shares to the agents that are certified now (protocol section 6.5).

The primes live for the length of `deal_key` and are written nowhere. All shares together decrypt as the whole key
does: they stay in the authority's folder, as p and q otherwise do, so that bundles can be written again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shared.crypto.paillier import PublicKey
from shared.crypto.safe_primes import safe_prime
from shared.crypto.threshold import MIN_HOLDERS
from shared.crypto.threshold_dealing import deal
from shared.errors import InputError
from shared.protocol.key_shares import threshold_spec
from shared.rng import random_bytes
from shared.wire.enrolment import DealtSecrets, Federation, FederationSecrets, KeyBits, ThresholdSpec
from shared.wire.manifest import KeyMode

Primes = Callable[[int], tuple[int, int]]
"""Takes a key's length in bits, returns two safe primes of half of it."""
_MIN_DISTANCE_SLACK_BITS: Final = 100
"""|p - q| > 2^(bits/2 - 100), as for other keys."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key of the next epoch: its public half, what the vault keeps, and what the document says of its shares."""

    public: PublicKey
    secrets: FederationSecrets | DealtSecrets = field(repr=False)
    spec: ThresholdSpec | None


def key_mode_of(federation: Federation) -> KeyMode:
    """Whether the present key is dealt in shares."""
    return "shared" if federation.threshold is None else "threshold"


def random_primes(bits: int) -> tuple[int, int]:
    """Fresh safe primes, far enough apart."""
    while True:
        p, q = safe_prime(bits // 2), safe_prime(bits // 2)
        if abs(p - q).bit_length() > bits // 2 - _MIN_DISTANCE_SLACK_BITS:
            return p, q


def deal_key(
    federation: Federation, epoch: int, bits: KeyBits, threshold: int | None, primes: Primes
) -> NewKey:
    """Deal to every certified agent. Args: threshold: None for all of them.

    Raises: InputError: fewer than three agents, or a threshold that keeps no promise.
    """
    agents = sorted(member.id for member in federation.members if member.role == "agent")
    if len(agents) < MIN_HOLDERS:
        raise InputError(
            f"a key is dealt in shares to at least {MIN_HOLDERS} agents, and {len(agents)} are certified",
            where="--key-mode threshold",
            remedy="Certify the hospitals' agents first.",
        )
    p, q = primes(bits)
    dealt = deal(p, q, len(agents), len(agents) if threshold is None else threshold)
    secrets = DealtSecrets(
        shares={agent: f"{share:x}" for agent, share in zip(agents, dealt.shares, strict=True)},
        g=random_bytes(32).hex(),
        key_id=dealt.key.public.key_id,
        epoch=epoch,
    )
    return NewKey(dealt.key.public, secrets, threshold_spec(dealt.key, agents))
