"""Trees of gates over packed bits: the carry out of a chain, the AND of many rows.

Both end one gate early, with XOR parts of the result: the caller shares them again (`arithmetic.reshare_binary`) or
opens them under a mask (`shared.mpc.masked_bits`).

Source: MR18 in docs/sources.md, share conversion by parallel prefix adders; only the top carry is computed, so
the tree halves at every level.
"""

from __future__ import annotations

import numpy as np

from shared.mpc.arithmetic import conjunction, conjunction_terms, reshare_binary
from shared.mpc.program import Party, Program
from shared.mpc.ring import Words
from shared.mpc.sharing import PARTIES, BinaryShare, concatenate_binary


def complement(party: Party, x: BinaryShare) -> BinaryShare:
    """The share of NOT x; local."""
    return BinaryShare(
        np.invert(x.own) if party.index == 0 else x.own,
        np.invert(x.next) if party.index == PARTIES - 1 else x.next,
    )


def top_carry_terms(party: Party, carries: BinaryShare, turns: BinaryShare) -> Program[Words]:
    """The carry of the top digit of a chain: carry_d = made_d XOR turn_d AND carry_(d-1).

    Args: carries: made_0 to made_(D-1), packed bits, shape (D, words). turns: turn_1 to turn_(D-1).
    Returns: this party's XOR part, shape (words,).
    Rounds: ceil(log2 D) - 1. Sends: 3/8 byte a gate; after a level of k digits there are k // 2 carries and as many
        turns but one. Leaks: nothing.
    """
    while len(carries) > 2:
        pairs = len(carries) // 2
        joined = yield from reshare_binary(party, _joined_terms(carries, turns, pairs))
        if len(carries) % 2:
            carries = concatenate_binary([joined[:pairs], carries[-1:]])
            turns = concatenate_binary([joined[pairs:], turns[-1:]])
        else:
            carries, turns = joined[:pairs], joined[pairs:]
    if len(carries) == 1:
        return np.array(carries.own[0])
    terms = conjunction_terms(turns[0], carries[0])
    terms ^= carries.own[1]
    return terms


def _joined_terms(carries: BinaryShare, turns: BinaryShare, pairs: int) -> Words:
    """XOR parts of one level: digits 2 k and 2 k + 1 become one. First the carries, then the turns but the lowest.

    On bare arrays: for the small inputs that wait for rounds, slicing shares would cost more than the gates.
    """
    made, turn, turn_next = carries.own, turns.own, turns.next
    upper, upper_next = turn[: 2 * pairs : 2], turn_next[: 2 * pairs : 2]
    terms = np.empty((2 * pairs - 1, *made.shape[1:]), made.dtype)
    lower = made[: 2 * pairs : 2]
    first = terms[:pairs]
    np.bitwise_xor(lower, carries.next[: 2 * pairs : 2], out=first)
    first &= upper
    first ^= upper_next & lower
    first ^= made[1 : 2 * pairs : 2]
    if pairs > 1:
        lower = turn[1 : 2 * pairs - 1 : 2]
        rest = terms[pairs:]
        np.bitwise_xor(lower, turn_next[1 : 2 * pairs - 1 : 2], out=rest)
        rest &= upper[1:]
        rest ^= upper_next[1:] & lower
    return terms


def all_terms(party: Party, rows: BinaryShare) -> Program[Words]:
    """The AND of all rows. Args: rows: packed bits, shape (D, words).

    Returns: this party's XOR part, shape (words,).
    Rounds: ceil(log2 D) - 1, none for one row. Sends: 3/8 byte a gate, D - 2 gates. Leaks: nothing.
    """
    while len(rows) > 2:
        pairs = len(rows) // 2
        joined = yield from conjunction(party, rows[:pairs], rows[pairs : 2 * pairs])
        rows = concatenate_binary([joined, rows[-1:]]) if len(rows) % 2 else joined
    if len(rows) == 1:
        return np.array(rows.own[0])
    return conjunction_terms(rows[0], rows[1])
