"""A round's sum opened together, at a hospital (protocol section 6.5): its own partial decryption, then everybody's.

A partial decryption is given for a sum that this hospital has recomputed from the contributions that the others signed,
and only once a round: the state machine has left `SENT` for good when it goes out. What is kept of it until the others'
have come is `participation.opening`, so that a restarted agent goes on without giving another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.crypto.integers import from_bytes
from shared.crypto.sealed_partials import Place, open_partial, seal_partial
from shared.crypto.threshold import Partial as Decrypted
from shared.crypto.threshold import decode_partial, encode_partial
from shared.errors import JobCode, JobFailure, PeerError
from shared.ids import AgentId
from shared.protocol.envelopes import body_of, reseal, verify
from shared.protocol.participation import Opening, Participation
from shared.protocol.profiles import RoundKeys
from shared.secure_tree.aggregate import valid_sums
from shared.secure_tree.context import RoundContext
from shared.secure_tree.threshold_opening import check_sums, culprits, open_partials
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.envelope import MessageType, SignedEnvelope
from shared.wire.rounds import Aggregate, Contribution, Partial, Partials


def partial_body(
    participation: Participation, body: Aggregate, keys: RoundKeys, hidden: bytes
) -> tuple[Partial, Opening]:
    """The own partial decryption of the sums, once they are seen to be those of the signed contributions.

    Raises: JobFailure, PeerError: they are not, or something else was forwarded.
    """
    context, share = participation.context(hidden), keys.share
    raw = [decode_base64url(text, what="aggregate ciphertext") for text in body.ciphertexts]
    sums = valid_sums(share.public, context, participation.growth.slot_count, raw)
    rows = [_ciphertexts(body_of(signed.envelope, Contribution)) for signed in _signed(participation, body)]
    self_sums = [from_bytes(decode_base64url(text, what="self sum")) for text in body.self_sums or []]
    check_sums(share.public, context, rows, self_sums, raw)
    content = encode_partial(share.threshold_key, share.partial(sums, context.ctx))
    peers = {peer.id: peer.ephemeral for peer in participation.peers() if peer.id != participation.own}
    sealed = seal_partial(
        _place(participation, context), participation.own, content, peers, keys.random_bytes
    )
    message = Partial(
        content=encode_base64url(sealed.content),
        keys={peer: encode_base64url(key) for peer, key in sealed.keys.items()},
        head=participation.head,
    )
    return message, Opening(tuple(body.ciphertexts), encode_base64url(content))


def _ciphertexts(body: Contribution) -> list[bytes]:
    return [decode_base64url(text, what="contribution ciphertext") for text in body.ciphertexts]


def _signed(participation: Participation, body: Aggregate) -> list[SignedEnvelope]:
    """The forwarded contributions, seen to be those that the sum lists, each signed by its hospital for this round."""
    forwarded, listed = body.forwarded or [], dict(body.contributions)
    if [signed.envelope.sender for signed in forwarded] != [str(agent) for agent in participation.roster]:
        raise _not_listed(participation, "not one contribution of each hospital came with the sum")
    for peer, signed in zip(participation.peers(), forwarded, strict=True):
        sealed = reseal(signed)
        verify(sealed, peer.public_key)
        if not _belongs(participation, signed, MessageType.CONTRIBUTION) or sealed.sha256 != listed[peer.id]:
            raise _not_listed(participation, f"the contribution of {peer.id} is another than the sum lists")
    return forwarded


def _not_listed(participation: Participation, reason: str) -> JobFailure:
    return JobFailure(JobCode.ROSTER_DIGITS, f"round {participation.round + 1}: {reason}")


def _belongs(participation: Participation, signed: SignedEnvelope, kind: MessageType) -> bool:
    envelope = signed.envelope
    return (
        envelope.type is kind
        and (envelope.job, envelope.mh) == (participation.manifest.job, participation.mh)
        and (envelope.round, envelope.attempt) == (participation.round, participation.attempt)
    )


def open_together(participation: Participation, body: Partials, keys: RoundKeys, hidden: bytes) -> list[int]:
    """The summed cells of the open round, from the partial decryptions of enough members, checked (protocol 6.3).

    Raises: JobFailure: `share_inconsistent` names whose partial decryption does not hold.
    """
    context, key = participation.context(hidden), keys.share.threshold_key
    opening = participation.opened_here()
    raw = [decode_base64url(text, what="aggregate ciphertext") for text in opening.ciphertexts]
    contents, unreadable = _contents(participation, context, body)
    contents[participation.own] = decode_base64url(opening.own, what="own partial decryption")
    partials: dict[AgentId, Decrypted] = {}
    for agent, content in contents.items():
        try:
            partials[agent] = decode_partial(key, keys.holders[agent], len(raw), content)
        except PeerError:
            unreadable.append(agent)
    if len(partials) < key.threshold and unreadable:
        raise culprits(context, sorted(unreadable))
    return open_partials(
        key,
        context,
        keys.secret,
        participation.growth.slot_count,
        [from_bytes(ciphertext) for ciphertext in raw],
        partials,
        noisy=participation.manifest.noise is not None,
    )


def _contents(
    participation: Participation, context: RoundContext, body: Partials
) -> tuple[dict[AgentId, bytes], list[AgentId]]:
    """What the other members sealed for this hospital, and whose does not open."""
    peers = {peer.id: peer for peer in participation.peers()}
    contents: dict[AgentId, bytes] = {}
    unreadable: list[AgentId] = []
    for signed in body.partials:
        peer = peers.get(AgentId(signed.envelope.sender))
        if peer is None or not _belongs(participation, signed, MessageType.PARTIAL):
            raise _foreign(participation, "the cloud forwarded a partial decryption of another round or job")
        _check_signature(participation, signed, peer.public_key)
        if peer.id == participation.own:
            continue
        try:
            contents[peer.id] = _content(participation, context, peer.id, peer.ephemeral, signed)
        except PeerError:
            unreadable.append(peer.id)
    return contents, unreadable


def _content(
    participation: Participation,
    context: RoundContext,
    sender: AgentId,
    ephemeral: bytes,
    signed: SignedEnvelope,
) -> bytes:
    body = body_of(signed.envelope, Partial)
    content = decode_base64url(body.content, what="partial decryption")
    wrapped: Mapping[str, str] = body.keys
    key = decode_base64url(wrapped.get(participation.own, ""), what="partial decryption's key")
    return open_partial(_place(participation, context), participation.own, sender, ephemeral, content, key)


def _check_signature(participation: Participation, signed: SignedEnvelope, public_key: bytes) -> None:
    try:
        verify(reseal(signed), public_key)
    except PeerError:
        raise _foreign(
            participation,
            f"{signed.envelope.sender} did not sign the partial decryption that came in its name",
        ) from None


def _place(participation: Participation, context: RoundContext) -> Place:
    return Place(context.mh, context.ctx, participation.ephemeral_private)


def _foreign(participation: Participation, reason: str) -> JobFailure:
    return JobFailure(JobCode.SHARE_INCONSISTENT, f"round {participation.round + 1}: {reason}")
