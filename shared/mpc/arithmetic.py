"""Products of shares: element by element, sums of products, matrix products. One word a result, whatever is summed.

z_i = x_i y_i + x_i y_(i+1) + x_(i+1) y_i + a_i with a_i a fresh sharing of zero; P_i sends z_i to P_(i-1)
(protocol section 9). The three terms are computed as x_i (y_i + y_(i+1)) + x_(i+1) y_i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shared.mpc.program import Party, Program, pass_to_previous
from shared.mpc.ring import Words
from shared.mpc.sharing import BinaryShare, Share, public_share


def add_public(party: Party, x: Share, constant: Words | int) -> Share:
    """The share of x + constant; local. Args: constant: words of x's ring that broadcast to x, or an integer."""
    if isinstance(constant, int):
        return x + public_share(party.index, constant, x.dtype)
    return x + public_share(party.index, constant)


def subtract_from_public(party: Party, constant: int, x: Share) -> Share:
    """The share of constant - x; local."""
    return add_public(party, -x, constant)


def multiply(party: Party, x: Share, y: Share) -> Program[Share]:
    """Element-wise product, with numpy's broadcasting.

    Source: AFLNO16 in docs/sources.md, section 3.1 (multiplication); protocol section 9.
    Deviation: party i holds parts i and i+1, and the three parts sum to the value.
    Args: x, y: one dtype.
    Returns: share of x * y in the ring.
    Rounds: 1. Sends: 3 words a product. Leaks: nothing.
    """
    return (yield from sum_of_products(party, [(x, y)]))


def sum_of_products(party: Party, pairs: Sequence[tuple[Share, Share]]) -> Program[Share]:
    """Element-wise x_1 y_1 + x_2 y_2 + ...: the inner product over a list of pairs of arrays.

    Args: pairs: at least one; all products have one shape and dtype.
    Returns: share of the sum, in the ring.
    Rounds: 1. Sends: 3 words a result. Leaks: nothing.
    """
    total = product_terms(*pairs[0])
    for x, y in pairs[1:]:
        total += product_terms(x, y)
    return (yield from reshare(party, total))


def reshare(party: Party, additive: Words) -> Program[Share]:
    """From three additive parts to a replicated share: mask by a sharing of zero, pass to the previous party.

    Args: additive: this party's part; it is overwritten. Rounds: 1. Sends: 3 words an element. Leaks: nothing.
    """
    additive += party.prss.zero(additive.shape, additive.dtype)
    return Share(additive, (yield from pass_to_previous(additive)))


def product_terms(x: Share, y: Share) -> Words:
    """This party's additive part of x * y, without its part of zero: not for sending. Local."""
    terms = np.multiply(x.own, y.own + y.next)
    terms += x.next * y.own
    return np.asarray(terms)


def select(party: Party, condition: Share, if_one: Share, if_zero: Share) -> Program[Share]:
    """`if_one` where the condition is 1, `if_zero` where it is 0: IfElse of protocol section 9.

    Rounds: 1. Sends: 3 words an element. Leaks: nothing.
    """
    chosen = yield from multiply(party, condition, if_one - if_zero)
    return chosen + if_zero


def conjunction(party: Party, x: BinaryShare, y: BinaryShare) -> Program[BinaryShare]:
    """Bitwise AND of XOR-shared words. Rounds: 1. Sends: 3 words a word. Leaks: nothing."""
    return (yield from xor_of_conjunctions(party, [(x, y)]))


def xor_of_conjunctions(
    party: Party, pairs: Sequence[tuple[BinaryShare, BinaryShare]]
) -> Program[BinaryShare]:
    """Bitwise (x_1 AND y_1) XOR (x_2 AND y_2) XOR ...: the inner product over bits.

    Rounds: 1. Sends: 3 words a result. Leaks: nothing.
    """
    total = conjunction_terms(*pairs[0])
    for x, y in pairs[1:]:
        total ^= conjunction_terms(x, y)
    return (yield from reshare_binary(party, total))


def reshare_binary(party: Party, parts: Words) -> Program[BinaryShare]:
    """From three XOR parts to a replicated share.

    Args: parts: overwritten. Rounds: 1. Sends: 3 words an element. Leaks: nothing.
    """
    parts ^= party.prss.zero_xor(parts.shape, parts.dtype)
    return BinaryShare(parts, (yield from pass_to_previous(parts)))


def conjunction_terms(x: BinaryShare, y: BinaryShare) -> Words:
    """This party's XOR part of x AND y, without its part of zero: not for sending. Local."""
    terms = np.bitwise_and(x.own, y.own ^ y.next)
    terms ^= x.next & y.own
    return np.asarray(terms)
