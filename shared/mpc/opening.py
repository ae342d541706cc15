"""Shares to plaintext, nowhere else: who may import this module is a contract in `pyproject.toml`.

An opened value counts as public from the moment the program goes on after the round of its opening: by then this
party has compared what it was sent with the other neighbour's hash. Every call has a row in docs/threat-model.md.
"""

from __future__ import annotations

import hashlib

import numpy as np

from shared.errors import JobCode, JobFailure
from shared.mpc.program import Party, Program, Round, Spec
from shared.mpc.ring import U8, Words
from shared.mpc.sharing import BinaryShare, Share

_HASH = Spec((32,), U8)


def open_share(party: Party, x: Share) -> Program[Words]:
    """The plaintext array, at all three parties.

    Source: AFLNO16 in docs/sources.md, section 3.1 (reconstruction), with the check of protocol section 9: P_i gets
    part i-1 from P_(i-1), and its hash from P_(i+1), who holds it too.
    Returns: words of the ring (use `ring.signed` for negative numbers).
    Rounds: 1. Sends: 3 words an element and 96 bytes a call. Leaks: the values.
    Raises: JobFailure: `share_inconsistent`: the two neighbours do not agree on the missing part.
    """
    missing = yield from _missing_part(party, x.own, x.next)
    return np.asarray(x.own + x.next + missing)


def open_binary(party: Party, x: BinaryShare) -> Program[Words]:
    """The same for XOR sharing."""
    missing = yield from _missing_part(party, x.own, x.next)
    return np.asarray(x.own ^ x.next ^ missing)


def _missing_part(party: Party, own: Words, following: Words) -> Program[Words]:
    received = yield Round(
        to_next=(own,), to_previous=(_digest(following),), from_previous=(Spec.of(own),), from_next=(_HASH,)
    )
    missing = received.previous[0]
    if not np.array_equal(_digest(missing), received.next[0]):
        raise JobFailure(
            JobCode.SHARE_INCONSISTENT,
            f"party {party.index}: what the two other parties sent for an opening differs; the job ends here",
        )
    return missing


def _digest(words: Words) -> Words:
    return np.frombuffer(hashlib.sha256(np.ascontiguousarray(words).data).digest(), np.uint8)
