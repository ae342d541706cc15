"""A mix between hospitals and whoever merges their drafts: the merger sees what is said, and not who said it.

1. Each hospital cuts its draft into statements, these into blocks of one length, and seals each block to the merger's
   key (HPKE, RFC 9180) for this one contract's name (`seal_draft`).
2. The mixer, who cannot open them, joins the blocks of three hospitals or more and puts them into a fresh random order
   (`mix`). One pass of Chaum's mix (Untraceable Electronic Mail, Return Addresses, and Digital Pseudonyms, 1981); the
   deviation: one mix. Without the second layer, an envelope to the mixer's own key (`into_envelope`), a merger who gets
   hold of a sealed draft on its way can open it.
3. The merger opens the batch and makes drafts of it that merge alike (`open_batch`).

Mixer and merger together see all, as does a merger who knows the drafts of all hospitals but one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from shared.contract.blocks import from_blocks, to_blocks
from shared.contract.statements import drafts_of, statements_of
from shared.crypto import agreement, sealing
from shared.crypto.derivation import lp
from shared.errors import ErrorCode, InputError, PeerError
from shared.rng import RandomBelow, RandomBytes, random_below, random_bytes
from shared.wire.base import decode_base64url, encode_base64url
from shared.wire.contract import DataContract
from shared.wire.contract_sealed import (
    MAX_BATCH_BLOCKS,
    MAX_MIXED,
    MAX_SEALED_BYTES,
    MIN_MIXED,
    EnvelopedDraft,
    MergerKey,
    MergerSecret,
    SealedBatch,
    SealedDraft,
)

_INFO: Final = b"ppsdt/1/sealed-draft"
_ENVELOPE: Final = b"ppsdt/1/enveloped-draft"
_KEY: Final = "Name a key that privet data merger-key wrote."
_AGAIN: Final = "Have the hospitals seal their drafts again, and the batch mixed again."


def new_merger_secret() -> MergerSecret:
    """A fresh key for one study's batches."""
    return MergerSecret(private=agreement.generate_private().hex())


def public_key(secret: MergerSecret) -> MergerKey:
    """What hospitals get."""
    return MergerKey(public=agreement.public_of(bytes.fromhex(secret.private)).hex())


def fingerprint(key: MergerKey) -> str:
    """SHA-256 of the public key, 64 hex digits, for reading aloud."""
    return hashlib.sha256(bytes.fromhex(key.public)).hexdigest()


def seal_draft(draft: DataContract, key: MergerKey, random: RandomBytes = random_bytes) -> SealedDraft:
    """One hospital's draft as the mixer gets it.

    Raises: InputError: longer than a sealed draft may be, or the key is none.
    """
    public, info = bytes.fromhex(key.public), _info(draft.name)
    try:
        blocks = to_blocks(statements_of(draft), random)
        sealed = [encode_base64url(sealing.seal(public, block, info)) for block in blocks]
    except PeerError as error:
        remedy = _KEY
        if error.code is ErrorCode.TOO_LARGE:
            remedy = "List fewer values, or leave out their meanings."
        raise InputError(str(error), where=f"draft {draft.name}", remedy=remedy) from None
    return SealedDraft(name=draft.name, merger=fingerprint(key), blocks=sealed)


def into_envelope(draft: SealedDraft, mixer: MergerKey) -> EnvelopedDraft:
    """The draft for the mixer's eyes alone. Raises: InputError: the mixer's key is none, or is the merger's."""
    own = fingerprint(mixer)
    if own == draft.merger:
        raise InputError(
            "the mixer's key is the merger's: whoever does both sees whose each value is",
            where="--through",
            remedy="Have somebody else mix, with a key of their own (privet data merger-key).",
        )
    try:
        sealed = sealing.seal(bytes.fromhex(mixer.public), draft.canonical(), _ENVELOPE)
    except PeerError as error:
        raise InputError(str(error), where="--through", remedy=_KEY) from None
    return EnvelopedDraft(mixer=own, content=encode_base64url(sealed))


def out_of_envelope(envelope: EnvelopedDraft, mixer: MergerSecret, where: str) -> SealedDraft:
    """The sealed draft, for the mixer. Args: where: the file, for messages.

    Raises: InputError: for another mixer's key, or changed on the way.
    """
    if fingerprint(public_key(mixer)) != envelope.mixer:
        raise InputError(
            f"it is for another mixer's key, {envelope.mixer[:16]}", where=where, remedy="Name that key."
        )
    try:
        raw = sealing.open_sealed(
            bytes.fromhex(mixer.private), decode_base64url(envelope.content, what="content"), _ENVELOPE
        )
        return SealedDraft.parse(raw, what="the content", max_bytes=MAX_SEALED_BYTES)
    except PeerError as error:
        raise InputError(str(error), where=where, remedy="Have that hospital seal it again.") from None


def mix(drafts: Sequence[SealedDraft], below: RandomBelow = random_below) -> SealedBatch:
    """All blocks in an order that nothing but `below` decides.

    Raises: InputError: fewer than MIN_MIXED or more than MAX_MIXED, of several contracts or for several keys, one of
        them twice, or one that was not filled up.
    """
    if not MIN_MIXED <= len(drafts) <= MAX_MIXED:
        raise InputError(
            f"{len(drafts)} sealed drafts were given, and a mix takes {MIN_MIXED} to {MAX_MIXED}",
            where="mix",
            remedy="Of two hospitals each knows what is the other's; wait for a third one's draft.",
        )
    first = drafts[0]
    if any(draft.name != first.name for draft in drafts):
        names = ", ".join(sorted({draft.name for draft in drafts}))
        raise InputError(
            f"they are drafts of different contracts: {names}",
            where="mix",
            remedy="Have all hospitals draft with the same --name.",
        )
    if any(draft.merger != first.merger for draft in drafts):
        raise InputError(
            "they are sealed to different keys",
            where="mix",
            remedy="Have all hospitals seal to one merger's key.",
        )
    if any(len(draft.blocks) & (len(draft.blocks) - 1) for draft in drafts):
        raise InputError(
            "a sealed draft's number of blocks is no power of two",
            where="mix",
            remedy="Have it sealed again.",
        )
    senders = [draft.sender.hospital for draft in drafts if draft.sender is not None]
    blocks = sorted(block for draft in drafts for block in draft.blocks)
    if len(set(blocks)) < len(blocks) or len(set(senders)) < len(senders):
        raise InputError(
            "a hospital's sealed draft, or a block of one, was given twice",
            where="mix",
            remedy="Give one file for each hospital.",
        )
    if len(blocks) > MAX_BATCH_BLOCKS:
        raise InputError(
            f"more than {MAX_BATCH_BLOCKS} blocks", where="mix", remedy="Have drafts made with fewer values."
        )
    return SealedBatch(
        name=first.name, merger=first.merger, hospitals=len(drafts), blocks=_shuffled(blocks, below)
    )


def _shuffled(blocks: Sequence[str], below: RandomBelow) -> list[str]:
    """A uniform order: Fisher and Yates."""
    order = list(blocks)
    for last in range(len(order) - 1, 0, -1):
        other = below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def open_batch(
    batch: SealedBatch, secret: MergerSecret, opened: Callable[[int], None] = lambda _: None
) -> list[DataContract]:
    """Drafts that merge as the hospitals' own do, and are no hospital's.

    Args: opened: told 1 after each block, about 4 000 a second.
    Raises: InputError: sealed to another key, changed on the way, or not whole.
    """
    if fingerprint(public_key(secret)) != batch.merger:
        raise InputError(
            f"the batch is sealed to another key, {batch.merger[:16]}",
            where=f"batch {batch.name}",
            remedy="Name the key whose public half the hospitals got.",
        )
    if len(set(batch.blocks)) < len(batch.blocks):
        raise InputError("a block is there twice", where=f"batch {batch.name}", remedy=_AGAIN)
    private, info = bytes.fromhex(secret.private), _info(batch.name)
    blocks = []
    try:
        for block in batch.blocks:
            blocks.append(sealing.open_sealed(private, decode_base64url(block, what="a block"), info))
            opened(1)
        drafts = drafts_of(from_blocks(blocks), batch.hospitals)
    except PeerError as error:
        raise InputError(str(error), where=f"batch {batch.name}", remedy=_AGAIN) from None
    if any(draft.name != batch.name for draft in drafts):
        raise InputError("a draft is another contract's", where=f"batch {batch.name}", remedy=_AGAIN)
    return drafts


def _info(name: str) -> bytes:
    """Binds a block to its contract's name, so that it opens in no other's batch."""
    return _INFO + lp(name)
