"""Whether the request that is being served has proved who sends it: by a signature, a token, or a replica's ticket.

Only what was verified counts. A header that looks like a proof is no more than what a stranger can write as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Proof:
    """Of one request."""

    is_given: bool = False


_proof: ContextVar[Proof | None] = ContextVar("proof", default=None)


@contextmanager
def awaited() -> Iterator[Proof]:
    """While one request is served: what becomes of its proof."""
    proof = Proof()
    token = _proof.set(proof)
    try:
        yield proof
    finally:
        _proof.reset(token)


def given() -> None:
    """The sender of the request is known, in whatever thread that is found out."""
    proof = _proof.get()
    if proof is not None:
        proof.is_given = True
