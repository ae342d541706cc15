"""Key mode threshold in the federation's document and bundles (protocol section 6.5): who holds which share.

Indices are those of the dealing and stay, whoever leaves; an agent that was certified later has none until the next
rotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.crypto.integers import from_bytes, to_bytes
from shared.crypto.paillier import PublicKey
from shared.crypto.threshold import ThresholdKey
from shared.errors import ErrorCode, InputError, PeerError
from shared.ids import AgentId, KeyId
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.enrolment import Federation, Holder, ShareSecrets, ThresholdSpec


@dataclass(frozen=True, slots=True)
class ShareKeys:
    """An opened bundle's private part in key mode threshold. share: of the holder `index`, not yet checked against v_i.
    secret: G, 32 bytes."""

    key: ThresholdKey
    index: int
    share: int = field(repr=False)
    secret: bytes = field(repr=False)
    holders: Mapping[AgentId, int]
    key_id: KeyId
    epoch: int


def holders_of(federation: Federation) -> dict[AgentId, int]:
    """Every holder's index; empty where each agent holds the whole key."""
    spec = federation.threshold
    return {} if spec is None else {AgentId(holder.id): holder.index for holder in spec.holders}


def threshold_key(federation: Federation) -> ThresholdKey:
    """The dealt key of a document, checked.

    Raises: PeerError: `malformed`: there is none, or it keeps no promise (`ThresholdKey.create`).
    """
    spec = federation.threshold
    if spec is None:
        raise _inconsistent("its key is not dealt in shares")
    ids = [holder.id for holder in spec.holders]
    indices = [holder.index for holder in spec.holders]
    if ids != sorted(set(ids)) or indices != list(range(1, len(ids) + 1)):
        raise _inconsistent(
            "holders of the key are not in ascending order of id, each once, with indices from 1"
        )
    values = [_number(holder.value) for holder in spec.holders]
    try:
        return ThresholdKey.create(
            PublicKey(int(federation.n, 16)), spec.threshold, _number(spec.base), values
        )
    except InputError as error:
        raise _inconsistent(str(error)) from None


def threshold_spec(key: ThresholdKey, ids: list[str]) -> ThresholdSpec:
    """The document's part of a dealt key. Args: ids: of the holders, sorted, in the order of the shares."""
    holders = [
        Holder(id=holder, index=index, value=_text(key, value))
        for index, (holder, value) in enumerate(zip(ids, key.values, strict=True), start=1)
    ]
    return ThresholdSpec(threshold=key.threshold, base=_text(key, key.base), holders=holders)


def share_keys_of(secrets: ShareSecrets, federation: Federation, agent: str) -> ShareKeys:
    """The private part of a bundle, once it is known to belong to its document and its agent.

    Raises: PeerError: `malformed`: another epoch, key or holder.
    """
    holders = holders_of(federation)
    if (secrets.epoch, secrets.key_id) != (federation.epoch, federation.key_id):
        raise PeerError(
            ErrorCode.MALFORMED, "bundle: it belongs to another epoch than its federation document"
        )
    if holders.get(AgentId(agent)) != secrets.index:
        raise PeerError(ErrorCode.MALFORMED, "bundle: its share is another holder's")
    return ShareKeys(
        threshold_key(federation),
        secrets.index,
        int(secrets.share, 16),
        bytes.fromhex(secrets.g),
        holders,
        KeyId(secrets.key_id),
        secrets.epoch,
    )


def _number(text: str) -> int:
    return from_bytes(decode_base64url(text, what="verification value"))


def _text(key: ThresholdKey, value: int) -> str:
    return encode_base64url(to_bytes(value, key.public.ciphertext_bytes))


def _inconsistent(reason: str) -> PeerError:
    return PeerError(ErrorCode.MALFORMED, f"federation document: {reason}")
