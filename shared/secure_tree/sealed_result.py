"""A shared result on its way to those who may know it, so that all members of a job can agree on the same one.

Each of the three parts of the result is held by two compute parties. Both commit to it by the same hiding hash: a nonce
from their common key stream stands before the part, because a party that has two parts could otherwise try trees
against the hash of the third. Every member compares the two commitments of each part. A result party is also sent the
parts with their nonces, checks them, and combines them. Nobody else learns more than the three hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shared.errors import JobCode, JobFailure
from shared.mpc.arithmetic import reshare_binary
from shared.mpc.program import Party, Program, Spec, together
from shared.mpc.ring import U8, Words
from shared.mpc.sharing import PARTIES, BinaryShare
from shared.wire.base import canonical_json

NONCE_BYTES: Final = 32
HASH_BYTES: Final = 32
_LABEL: Final = b"ppsdt/1/result part"
COMMITMENTS: Final = Spec((2 * HASH_BYTES,), U8)
"""What every member is sent by each compute party: its two commitments, one after the other."""


@dataclass(frozen=True, slots=True)
class SealedShare:
    """A compute party's share of a result, ready to be given out. The nonces are 32 bytes each, as words."""

    shares: tuple[BinaryShare, ...]
    own_nonce: Words = field(repr=False)
    next_nonce: Words = field(repr=False)

    def own_part(self) -> tuple[Words, ...]:
        """What a result party is sent of this party's own part."""
        return (self.own_nonce, *(share.own for share in self.shares))

    def next_part(self) -> tuple[Words, ...]:
        """The other part that this party holds, in the same form."""
        return (self.next_nonce, *(share.next for share in self.shares))

    def commitments(self) -> Words:
        """The commitments to both parts, own first."""
        return np.concatenate([commitment(self.own_part()), commitment(self.next_part())])


def seal_result(party: Party, shares: Sequence[BinaryShare]) -> Program[SealedShare]:
    """Give each array new parts that say nothing of where it came from, and draw the nonces.

    Rounds: 1. Sends: 3 words an element. Leaks: nothing.
    """
    fresh = yield from together(*(reshare_binary(party, share.own.copy()) for share in shares))
    own, following = (stream.words(NONCE_BYTES, U8) for stream in (party.prss.previous, party.prss.next))
    return SealedShare(tuple(fresh), own, following)


def commitment(part: Sequence[Words]) -> Words:
    """The hash of a part: nonce first, then its arrays in order. Returns: 32 words of uint8."""
    digest = hashlib.sha256(_LABEL)
    for words in part:
        digest.update(np.ascontiguousarray(words).data)
    return np.frombuffer(digest.digest(), U8)


def part_specs(arrays: Sequence[Spec]) -> tuple[Spec, ...]:
    """What a result party is sent by each compute party. Args: arrays: shapes and words of the result."""
    return (Spec((NONCE_BYTES,), U8), *arrays)


def sealed_record(results: Sequence[Sequence[str]]) -> str:
    """The canonical record of sealed results. Args: results: of each, what `agreed_commitments` gave."""
    return canonical_json({"sealed": [list(hashes) for hashes in results]}).decode()


def agreed_commitments(commitments: Sequence[Words]) -> list[str]:
    """The hashes of parts 0, 1, 2 in hex, once both holders of each part are seen to say the same.

    Args: commitments: as P_0, P_1, P_2 gave them.
    Raises: JobFailure: `share_inconsistent`: two holders of a part say different things.
    """
    halves = [(bytes(both[:HASH_BYTES]), bytes(both[HASH_BYTES:])) for both in commitments]
    for holder in range(PARTIES):
        if halves[holder - 1][1] != halves[holder][0]:
            raise _inconsistent(holder)
    return [own.hex() for own, _ in halves]


def combine_sealed(parts: Sequence[Sequence[Words]], commitments: Sequence[Words]) -> tuple[Words, ...]:
    """The arrays of a result from its three parts.

    Args: parts: parts 0, 1, 2, each with its nonce. commitments: as for `agreed_commitments`, which has held.
    Raises: JobFailure: `share_inconsistent`: a part is not the one that its holders committed to.
    """
    for holder, part in enumerate(parts):
        if not np.array_equal(commitment(part), commitments[holder][:HASH_BYTES]):
            raise _inconsistent(holder)
    first, second, third = (part[1:] for part in parts)
    return tuple(np.asarray(x ^ y ^ z) for x, y, z in zip(first, second, third, strict=True))


def _inconsistent(part: int) -> JobFailure:
    return JobFailure(
        JobCode.SHARE_INCONSISTENT,
        f"the compute parties do not agree on part {part} of the result; the job ends here",
    )
