"""Masks of a contribution (protocol section 6.1, step 4).

self: known to the hospital and, by its wrapped seed, to the cloud, which takes the sum of all of them off.
pair: known to two hospitals, with opposite signs, so that they cancel in the sum over the roster, nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from shared.crypto.agreement import agree
from shared.crypto.derivation import expand_blocks, hk, lp
from shared.ids import AgentId
from shared.secure_tree.context import RoundContext

_SELF: Final = b"self"
_PAIR: Final = b"pair"


def self_key(context: RoundContext, agent: AgentId, seed: bytes) -> bytes:
    """The key of an agent's self mask, from its seed of this round."""
    return hk(seed, _SELF + context.ctx + lp(agent), mh=context.mh)


def pair_key(context: RoundContext, one: AgentId, other: AgentId, shared_secret: bytes) -> bytes:
    """The key of the mask between two agents; the same from both sides."""
    lower, higher = sorted((one, other))
    return hk(shared_secret, _PAIR + context.ctx + lp(lower) + lp(higher), mh=context.mh)


def self_mask_sums(
    context: RoundContext, seeds: Mapping[AgentId, bytes], count: int, modulus: int
) -> list[int]:
    """S_j = sum over agents of self_(i,j) mod n, for the cloud and for audits."""
    bits = modulus.bit_length()
    expansions = (expand_blocks(self_key(context, agent, seed), count, bits) for agent, seed in seeds.items())
    return _reduced(_summed(expansions, count), modulus)


def mask_vector(
    context: RoundContext,
    own: AgentId,
    seed: bytes,
    ephemeral_private: bytes,
    peers: Mapping[AgentId, bytes],
    count: int,
    modulus: int,
) -> list[int]:
    """m_j = self_j + sum over o > i of pair_j - sum over o < i of pair_j, mod n, j < count.

    Args: peers: X25519 public keys of the other roster members. seed: 32 bytes, of this (round, attempt) only.
    Raises: PeerError: `malformed`: a peer's key of small order.
    """
    bits = modulus.bit_length()
    keys = {peer: pair_key(context, own, peer, agree(ephemeral_private, key)) for peer, key in peers.items()}
    total = _summed((expand_blocks(keys[peer], count, bits) for peer in keys if peer > own), count)
    minus = _summed((expand_blocks(keys[peer], count, bits) for peer in keys if peer < own), count)
    own_blocks = expand_blocks(self_key(context, own, seed), count, bits)
    return _reduced([s + p - m for s, p, m in zip(own_blocks, total, minus, strict=True)], modulus)


def _summed(expansions: Iterable[list[int]], count: int) -> list[int]:
    """Element-wise sums; reduced mod n only once, by the caller: a division for each block would dominate."""
    total = [0] * count
    for blocks in expansions:
        total = [left + right for left, right in zip(total, blocks, strict=True)]
    return total


def _reduced(values: list[int], modulus: int) -> list[int]:
    return [value % modulus for value in values]
