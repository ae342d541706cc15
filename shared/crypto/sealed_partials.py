"""A partial decryption on its way: sealed for the other members of the roster, closed to the cloud (section 6.5).

The content goes under a fresh key, and that key goes to each receiver under one that only the two have:
`hk(X25519, "partial" || ctx || lp(from) || lp(to))`. So the cloud carries it once, whatever the number of receivers.
Each wrapped key is bound to the content by its hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from shared.crypto.agreement import agree
from shared.crypto.derivation import KEY_BYTES, hk, lp
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.rng import RandomBytes, random_bytes

TAG_BYTES: Final = 16
NONCE_BYTES: Final = 12
WRAPPED_KEY_BYTES: Final = NONCE_BYTES + KEY_BYTES + TAG_BYTES
_LABEL: Final = b"partial"
_ONCE: Final = bytes(NONCE_BYTES)
"""The content's key is drawn for it alone, so its nonce may be zero."""


@dataclass(frozen=True, slots=True)
class SealedPartial:
    """What travels. keys: the content's key as each receiver can open it."""

    content: bytes = field(repr=False)
    keys: Mapping[AgentId, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """Where it belongs. mh: manifest hash. ctx: the round's context. private: own X25519 key of the job."""

    mh: bytes
    ctx: bytes
    private: bytes = field(repr=False)

    def key(self, sender: AgentId, receiver: AgentId, peer_public: bytes) -> AESGCM:
        """The pair's key of this round. Raises: PeerError: `malformed`: a key of small order."""
        info = _LABEL + self.ctx + lp(sender) + lp(receiver)
        return AESGCM(hk(agree(self.private, peer_public), info, mh=self.mh))


def seal_partial(
    place: Place,
    own: AgentId,
    content: bytes,
    peers: Mapping[AgentId, bytes],
    random: RandomBytes = random_bytes,
) -> SealedPartial:
    """Args: peers: X25519 public keys of the receivers."""
    key = random(KEY_BYTES)
    sealed = AESGCM(key).encrypt(_ONCE, content, place.ctx + lp(own))
    digest = hashlib.sha256(sealed).digest()
    wrapped = {}
    for peer, public in peers.items():
        nonce = random(NONCE_BYTES)
        wrapped[peer] = nonce + place.key(own, peer, public).encrypt(nonce, key, digest)
    return SealedPartial(sealed, wrapped)


def open_partial(
    place: Place, own: AgentId, sender: AgentId, sender_public: bytes, sealed: bytes, wrapped: bytes
) -> bytes:
    """The content for the receiver `own`. Raises: PeerError: `bad_signature`: it was not sealed for this place."""
    nonce, box = wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:]
    digest = hashlib.sha256(sealed).digest()
    try:
        if len(wrapped) != WRAPPED_KEY_BYTES:
            raise InvalidTag
        key = place.key(sender, own, sender_public).decrypt(nonce, box, digest)
        return AESGCM(key).decrypt(_ONCE, sealed, place.ctx + lp(sender))
    except InvalidTag:
        raise PeerError(
            ErrorCode.BAD_SIGNATURE, f"the partial decryption of {sender} does not open for this round"
        ) from None
