"""Values in two halves: the sum of two parts that P0 knows, and the third part, which P1 and P2 both know.

Every replicated share is one already, without a message: P0 holds parts 0 and 1, P1 and P2 hold part 2. So a protocol
needs no more than one input by P0 (`deal_pair`) to turn it into two parts at P1 and P2, which they can both combine
with the second half alone, and a step from two parts back to a replicated share (`from_pair`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import DTypeLike

from shared.mpc.arithmetic import product_terms
from shared.mpc.program import Party, Program, Round, Spec
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share

DEALER: Final = 0
"""The party that knows two parts of everything that is halved here."""


def half_of(party: Party, x: Share | BinaryShare) -> Words:
    """The half this party knows: parts 0 and 1 together at P0, part 2 at P1 and P2; local."""
    if party.index == DEALER:
        return np.asarray(x.own ^ x.next if isinstance(x, BinaryShare) else x.own + x.next)
    return x.next if party.index == 1 else x.own


def halves_of_products(party: Party, pairs: Sequence[tuple[Share, Share]]) -> Program[Words]:
    """This party's half of x_1 y_1 + x_2 y_2 + ..., where nobody needs the sum as a replicated share.

    Rounds: 1. Sends: 2 words an element. Leaks: nothing.
    """
    terms = product_terms(*pairs[0])
    for x, y in pairs[1:]:
        terms += product_terms(x, y)
    terms += party.prss.zero(terms.shape, terms.dtype)
    spec = Spec.of(terms)
    if party.index == DEALER:
        received = yield Round(from_next=(spec,))
        terms += received.next[0]
        return terms
    if party.index == 1:
        received = yield Round(to_previous=(terms,), from_next=(spec,))
        return received.next[0]
    yield Round(to_previous=(terms,))
    return terms


def deal_pair(
    party: Party, values: Words | None, shape: int | tuple[int, ...], dtype: DTypeLike
) -> Program[Words]:
    """P0 gives P1 and P2 two parts of an array: P1's comes from their stream, P2 is sent what is missing.

    Args: values: at P0 the array, elsewhere None.
    Returns: this party's part, the difference that was sent at P0.
    Rounds: 1. Sends: 1 word an element. Leaks: nothing.
    """
    return (yield from _deal(party, values, shape, dtype, np.subtract))


def deal_pair_binary(
    party: Party, values: Words | None, shape: int | tuple[int, ...], dtype: DTypeLike
) -> Program[Words]:
    """The same in XOR parts."""
    return (yield from _deal(party, values, shape, dtype, np.bitwise_xor))


def _deal(
    party: Party, values: Words | None, shape: int | tuple[int, ...], dtype: DTypeLike, minus: np.ufunc
) -> Program[Words]:
    if party.index == 1:
        part = party.prss.previous.words(shape, dtype)
        yield Round()
        return part
    if party.index == DEALER:
        mask = party.prss.next.words(shape, dtype)
        minus(values, mask, out=mask)
        yield Round(to_previous=(mask,))
        return mask
    size = (shape,) if isinstance(shape, int) else shape
    received = yield Round(from_next=(Spec(size, np.dtype(dtype)),))
    return received.next[0]


def from_pair(party: Party, part: Words) -> Program[Share]:
    """A replicated share of the sum of P1's and P2's parts.

    Parts 0 and 1 come from P0's streams with P2 and P1; part 2 is what is left, of which each sends its masked part.
    Args: part: at P0 any array of the same shape and dtype; not written to.
    Rounds: 1. Sends: 2 words an element. Leaks: nothing.
    """
    own, following = yield from _from_pair(party, part, np.subtract, np.add)
    return Share(own, following)


def from_pair_binary(party: Party, part: Words) -> Program[BinaryShare]:
    """The same from XOR parts."""
    own, following = yield from _from_pair(party, part, np.bitwise_xor, np.bitwise_xor)
    return BinaryShare(own, following)


def _from_pair(party: Party, part: Words, minus: np.ufunc, plus: np.ufunc) -> Program[tuple[Words, Words]]:
    shape, dtype = part.shape, part.dtype
    if party.index == DEALER:
        own, following = party.prss.previous.words(shape, dtype), party.prss.next.words(shape, dtype)
        yield Round()
        return own, following
    if party.index == 1:
        drawn = party.prss.previous.words(shape, dtype)
        masked = np.asarray(minus(part, drawn))
        received = yield Round(to_next=(masked,), from_next=(Spec.of(masked),))
        return drawn, np.asarray(plus(masked, received.next[0]))
    drawn = party.prss.next.words(shape, dtype)
    masked = np.asarray(minus(part, drawn))
    received = yield Round(to_previous=(masked,), from_previous=(Spec.of(masked),))
    return np.asarray(plus(masked, received.previous[0])), drawn
