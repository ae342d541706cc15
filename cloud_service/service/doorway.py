"""Who sent it and how long it may be, read off a message before any parser sees its body.

Keys are sorted in canonical JSON, so sender, job, round, type and signature stand at the very end of a message. For
one that is longer than `SMALL_BYTES` the size is checked against what the job expects, and the signature is
verified over the raw bytes, before the rest is looked at.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from shared.errors import ErrorCode, PeerError
from shared.protocol.envelopes import signed_part
from shared.protocol.job import Job
from shared.protocol.layout import contribution_bytes, partial_bytes
from shared.protocol.quality import kind_of
from shared.wire.envelope import MessageType
from shared.wire.quality import MAX_QUALITY_BYTES

SMALL_BYTES: Final = 2**16
"""Every message but those of contributions, partial decryptions, published trees or figures and paper's decisions is
shorter."""
MAX_TREE_BYTES: Final = 2**22
_NOTIFY_BYTES_A_CELL: Final = 64
_SPELLED: Final = 2
"""Quotes inside a text take two bytes each."""
_TAIL_BYTES: Final = 1024
_TAIL: Final = re.compile(
    rb',"from":"([a-z0-9-]{1,64})","job":"([0-9a-f]{32})","mh":"[0-9a-f]{64}","prev":"[0-9a-f]{64}",'
    rb'"round":[0-9]{1,10},"seq":[0-9]{1,16},"to":"cloud","type":"([a-z_]{1,32})","v":1\},'
    rb'"signature":"([0-9a-f]{128})"\}\Z'
)


@dataclass(frozen=True, slots=True)
class Tail:
    """What the end of a message says, not yet believed. `sha256`: of the envelope's bytes, 32 bytes."""

    sender: str
    job: str
    type: str
    signature: bytes
    sha256: bytes


def read_tail(raw: bytes) -> Tail:
    """The end of a long message. Raises: PeerError: `malformed`: it is not the end of a signed envelope."""
    found = _TAIL.search(raw[-_TAIL_BYTES:])
    if found is None:
        raise PeerError(ErrorCode.MALFORMED, "message: not a signed envelope to the cloud in canonical form")
    sender, job, kind, signature = (part.decode() for part in found.groups())
    digest = hashlib.sha256(signed_part(raw)).digest()
    return Tail(sender, job, kind, bytes.fromhex(signature), digest)


def longest(job: Job, kind: str, key_bits: int) -> int:
    """The greatest length in bytes of a message of this kind now. `key_bits`: of the job's Paillier key."""
    if kind == MessageType.CONTRIBUTION:
        exact = contribution_bytes(job.slots, job.prompts, len(job.roster), key_bits)
        return max(SMALL_BYTES, exact)
    if kind == MessageType.PARTIAL and job.manifest.key_mode == "threshold":
        return max(SMALL_BYTES, partial_bytes(job.slots, len(job.roster), key_bits))
    if kind == MessageType.NOTIFY and job.manifest.profile == "paper":
        return SMALL_BYTES + _NOTIFY_BYTES_A_CELL * job.slots
    if kind == MessageType.ATTEST and job.manifest.publish_tree:
        return MAX_TREE_BYTES
    if kind == MessageType.ATTEST and kind_of(job.manifest) == "evaluation":
        return SMALL_BYTES + _SPELLED * MAX_QUALITY_BYTES
    return SMALL_BYTES
