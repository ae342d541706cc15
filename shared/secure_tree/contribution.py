"""What one hospital sends in a round of profile hardened (protocol section 6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.crypto.paillier import CountEncipher
from shared.errors import InternalError
from shared.ids import AgentId
from shared.secure_tree.context import RoundContext
from shared.secure_tree.masks import mask_vector
from shared.secure_tree.packing import MAX_COUNT, MAX_NOISE, pack, slots_per_plaintext
from shared.secure_tree.tag import tag


def build_contribution(
    cipher: CountEncipher,
    context: RoundContext,
    own: AgentId,
    secret: bytes,
    counts: Sequence[int],
    ephemeral_private: bytes,
    peers: Mapping[AgentId, bytes],
    seed: bytes,
    *,
    noisy: bool = False,
) -> list[bytes]:
    """The J+1 ciphertexts: roster slots, data, tag; masked, then encrypted.

    Args: secret: G. counts: the cells of the frontier in order, each in [0, 2^36]. ephemeral_private, peers:
        X25519 keys of this job; peers are the roster without `own`. seed: 32 random bytes of this round only.
        noisy: the counts carry noise of at most 2^36 either way.
    Raises: InternalError: a count out of range, or peers that are not the roster. PeerError: a peer's key.
    """
    _check(context, own, counts, peers, MAX_NOISE if noisy else 0)
    n = cipher.public.n
    plaintexts = plain_vector(context, own, counts, cipher.public.bits)
    plaintexts.append(tag(context, secret, plaintexts, n))
    masks = mask_vector(context, own, seed, ephemeral_private, peers, len(plaintexts), n)
    return cipher.encrypt([int((x + m) % n) for x, m in zip(plaintexts, masks, strict=True)])


def plain_vector(context: RoundContext, own: AgentId, counts: Sequence[int], bits: int) -> list[int]:
    """x_0 .. x_(J-1): a 1 in the own roster slot, then the packed cells."""
    per_plaintext = slots_per_plaintext(bits)
    presence = [int(agent == own) for agent in context.agents]
    return pack(presence, per_plaintext) + pack(counts, per_plaintext)


def _check(
    context: RoundContext, own: AgentId, counts: Sequence[int], peers: Mapping[AgentId, bytes], noise: int
) -> None:
    if {*peers, own} != set(context.agents) or own in peers:
        raise InternalError("the peers of a contribution are not the rest of its roster")
    if not all(-noise <= count <= MAX_COUNT + noise for count in counts):
        raise InternalError("a count outside 0..2^36 reached the encryption")
