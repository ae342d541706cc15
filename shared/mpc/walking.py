"""Walks of two halves past all three parties, in either direction, and their end: back to replicated shares.

`shared.mpc.halves` has the same step for one direction and one array; here columns of any kinds go together, and a
walk may go the other way round.

The parties take roles 0, 1, 2: the middle role 0 holds no half. In walking order role i's neighbour *after* it is
role i+1, the one *before* it is role i-1. On a straight walk party i has role i; on a mirrored walk role 2-i, so
that parties 1 and 0 end with the halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.program import Party, Program, Received, Round, Spec
from shared.mpc.prss import Stream
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share

Column = Share | BinaryShare


@dataclass(frozen=True, slots=True)
class Form:
    """What a column looks like from outside: its kind of sharing, shape and word type."""

    binary: bool
    spec: Spec

    @classmethod
    def of(cls, column: Column) -> Form:
        """The form of a share."""
        return cls(isinstance(column, BinaryShare), Spec.of(column.own))

    def draw(self, stream: Stream) -> Words:
        """Uniform words of this form."""
        return stream.words(self.spec.shape, self.spec.dtype)

    def plus(self, x: Words, y: Words, out: Words | None = None) -> Words:
        """x + y, or x ^ y."""
        return np.bitwise_xor(x, y, out=out) if self.binary else np.add(x, y, out=out)

    def minus(self, x: Words, y: Words, out: Words | None = None) -> Words:
        """x - y, or x ^ y."""
        return np.bitwise_xor(x, y, out=out) if self.binary else np.subtract(x, y, out=out)

    def share(self, own: Words, following: Words) -> Column:
        """The share of these parts."""
        return BinaryShare(own, following) if self.binary else Share(own, following)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a party stands on a walk. Its streams and parts lie `before` (common with role - 1) or `after` it."""

    party: Party
    mirrored: bool = False

    @property
    def role(self) -> int:
        """0, 1 or 2."""
        return 2 - self.party.index if self.mirrored else self.party.index

    @property
    def stream_before(self) -> Stream:
        """The stream common with role - 1."""
        return self.party.prss.next if self.mirrored else self.party.prss.previous

    @property
    def stream_after(self) -> Stream:
        """The stream common with role + 1."""
        return self.party.prss.previous if self.mirrored else self.party.prss.next

    def part_after(self, column: Column) -> Words:
        """The part that role + 1 holds too."""
        return column.own if self.mirrored else column.next

    def exchange(
        self,
        to_before: Sequence[Words] = (),
        to_after: Sequence[Words] = (),
        from_before: Sequence[Spec] = (),
        from_after: Sequence[Spec] = (),
    ) -> Program[tuple[tuple[Words, ...], tuple[Words, ...]]]:
        """One round in walking order. Returns: what came from before, what came from after."""
        if self.mirrored:
            received: Received = yield Round(
                tuple(to_after), tuple(to_before), tuple(from_after), tuple(from_before)
            )
            return received.next, received.previous
        received = yield Round(tuple(to_before), tuple(to_after), tuple(from_before), tuple(from_after))
        return received.previous, received.next


def from_halves(place: Place, forms: Sequence[Form], halves: Sequence[Words]) -> Program[list[Any]]:
    """Replicated shares of values that roles 1 and 2 hold as halves.

    The parts common with role 0 come from the pairs' streams; roles 1 and 2 tell each other what their halves lack,
    each masked by the part that the other does not know.
    Source: AFLNO16 in docs/sources.md, section 3.1 (resharing), for two parties instead of three.
    Args: halves: at roles 1 and 2 one array a form; ignored at role 0.
    Returns: one share a form.
    Rounds: 1. Sends: 2 words an element. Leaks: nothing.
    """
    if place.role == 0:
        before = [form.draw(place.stream_before) for form in forms]
        after = [form.draw(place.stream_after) for form in forms]
        yield from place.exchange()
    elif place.role == 1:
        before = [form.draw(place.stream_before) for form in forms]
        after = yield from _joined(place, forms, halves, before)
    else:
        after = [form.draw(place.stream_after) for form in forms]
        before = yield from _joined(place, forms, halves, after)
    own, following = (after, before) if place.mirrored else (before, after)
    return [form.share(x, y) for form, x, y in zip(forms, own, following, strict=True)]


def swap_halves(place: Place, specs: Sequence[Spec], halves: Sequence[Words]) -> Program[tuple[Words, ...]]:
    """Roles 1 and 2 show each other arrays. Returns: the other's arrays; nothing at role 0.

    Rounds: 1. Sends: 2 words an element. Leaks: what is shown.
    """
    if place.role == 0:
        yield from place.exchange()
        return ()
    if place.role == 1:
        return (yield from place.exchange(to_after=halves, from_after=specs))[1]
    return (yield from place.exchange(to_before=halves, from_before=specs))[0]


def _joined(
    place: Place, forms: Sequence[Form], halves: Sequence[Words], masks: Sequence[Words]
) -> Program[list[Words]]:
    """The part common to roles 1 and 2: the sum of both masked halves."""
    masked = [form.minus(half, mask) for form, half, mask in zip(forms, halves, masks, strict=True)]
    others = yield from swap_halves(place, [form.spec for form in forms], masked)
    return [form.plus(mine, other) for form, mine, other in zip(forms, masked, others, strict=True)]
