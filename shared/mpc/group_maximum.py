"""The greatest element of each secret group, by a tree over the positions.

A node of the tree covers a stretch of positions. It knows whether a group ends inside (`ends`), the greatest element
up to the first such end (`left`) and after the last one (`right`); without an end both are the greatest of the whole.
Where two stretches meet, L.right and R.left belong to one group: that is the only comparison a merge makes. If both
stretches have an end, this group lies between them and is complete: its winner is put down at the first position of
R, which is one of the group's. So every group is put down once, at a place that nobody knows.

Source: Hamada 2021 in docs/sources.md (group-wise maximum over the group-information vector).
Deviation: a reduction with one comparison an element in place of a scan with log2(n) of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.arithmetic import (
    conjunction,
    conjunction_terms,
    multiply,
    reshare_binary,
    subtract_from_public,
)
from shared.mpc.conversion import bits_to_arithmetic
from shared.mpc.fractions import wide_fraction_choosing
from shared.mpc.program import Party, Program, together
from shared.mpc.selection import low_bits, negated, word_masks
from shared.mpc.sharing import BinaryShare, Share, concatenate

Choose = Callable[[Party, Share, Share, Share], Program[tuple[Share, Share]]]
"""(party, challenger, incumbent, differences): c = 1 where the challenger is greater, and c * d for every row d of
the differences. Challenger and incumbent have shape (fields, n)."""


def greater_fraction(
    party: Party, challenger: Share, incumbent: Share, differences: Share
) -> Program[tuple[Share, Share]]:
    """The choice between fractions: fields are numerator and denominator; as `wide_fraction_choosing`."""
    return (
        yield from wide_fraction_choosing(
            party, challenger[0], challenger[1], incumbent[0], incumbent[1], differences
        )
    )


def group_maximum(
    party: Party, last: BinaryShare, compared: Share, carried: Sequence[BinaryShare], choose: Choose
) -> Program[list[BinaryShare]]:
    """For each group the carried words of its greatest element; of equal ones, of the first.

    Args: last: words 0 or 1, shape (n,): 1 at the last element of each group, and at n-1. compared: fields that
        `choose` compares, shape (fields, n). carried: words of shape (n,).
        The last elements of all groups must be equal in all fields and words, and no element less than they are: so
        they also stand for a group's part that has no element (in mode G they are the positions that can't be cut).
    Returns: columns like `carried`: at one position of each group the words of its winner, else 0. Their XOR over
        the positions of a group is the winner.
    Rounds: 2 and, for each of ceil(log2 n) levels, 1 and those of `choose`; then 2.
        Sends: an element less 1: `choose` with 2 * fields differences, 6 * fields + 3 words of the fields' ring,
        9 bytes and 9 carried words; 3 words of the ring an element besides. Leaks: nothing.
    """
    ends = yield from bits_to_arithmetic(party, last, compared.dtype)
    stretches = _Stretches(ends, compared, compared)
    candidates = [_Carried(words, words, []) for words in carried]
    meeting: _Meeting | None = None
    while len(stretches.ends) > 1:
        level: list[Program[Any]] = [_merge(party, stretches, choose)]
        if meeting is not None:
            level.append(_follow(party, meeting, candidates))
        results = yield from together(*level)
        stretches, next_meeting = results[0]
        if meeting is not None:
            candidates = results[1]
        meeting = next_meeting
    if meeting is not None:
        candidates = yield from _follow(party, meeting, candidates)
    return [_put_down(column, len(last)) for column in candidates]


@dataclass(frozen=True, slots=True)
class _Stretches:
    """The nodes of one level: `ends` shape (m,), the others (fields, m)."""

    ends: Share
    left: Share
    right: Share


@dataclass(frozen=True, slots=True)
class _Meeting:
    """What one level decided, as words 0 or 1: the right one won; an end is in L, in R, in both."""

    right_wins: BinaryShare
    left_ends: BinaryShare
    right_ends: BinaryShare
    complete: BinaryShare


@dataclass(frozen=True, slots=True)
class _Carried:
    """A carried column beside the nodes, and the winners put down so far, one array a level."""

    left: BinaryShare
    right: BinaryShare
    winners: list[BinaryShare]


def _merge(party: Party, nodes: _Stretches, choose: Choose) -> Program[tuple[_Stretches, _Meeting]]:
    """One level. With an end in L its `left` stays, else it becomes the greater of both; the same for R's `right`."""
    pairs = len(nodes.ends) // 2
    fields = nodes.left.shape[0]
    ends_l, ends_r = _left(nodes.ends, pairs), _right(nodes.ends, pairs)
    left_l, left_r = _left(nodes.left, pairs), _right(nodes.left, pairs)
    right_l, right_r = _left(nodes.right, pairs), _right(nodes.right, pairs)
    open_l = subtract_from_public(party, 1, ends_l).reshape(1, pairs)
    open_r = subtract_from_public(party, 1, ends_r).reshape(1, pairs)
    products = yield from multiply(
        party,
        concatenate([open_l] * fields + [open_r] * fields + [ends_l.reshape(1, pairs)]),
        concatenate([left_r - left_l, right_l - right_r, ends_r.reshape(1, pairs)]),
    )
    differences, complete = products[:-1], products[-1]
    right_wins, chosen = yield from choose(party, left_r, right_l, differences)
    merged = _Stretches(
        _beside(ends_l + ends_r - complete, nodes.ends, pairs),
        _beside(left_l + chosen[:fields], nodes.left, pairs),
        _beside(right_r + differences[fields:] - chosen[fields:], nodes.right, pairs),
    )
    return merged, _Meeting(low_bits(right_wins), low_bits(ends_l), low_bits(ends_r), low_bits(complete))


def _left(x: Share, pairs: int) -> Share:
    return x.map(lambda part: np.ascontiguousarray(part[..., 0 : 2 * pairs : 2]))


def _right(x: Share, pairs: int) -> Share:
    return x.map(lambda part: np.ascontiguousarray(part[..., 1 : 2 * pairs : 2]))


def _beside(merged: Share, before: Share, pairs: int) -> Share:
    """The merged nodes, and the one that was left over."""
    if before.shape[-1] == 2 * pairs:
        return merged
    return Share(
        np.concatenate([merged.own, before.own[..., 2 * pairs :]], axis=-1),
        np.concatenate([merged.next, before.next[..., 2 * pairs :]], axis=-1),
    )


def _follow(party: Party, meeting: _Meeting, columns: Sequence[_Carried]) -> Program[list[_Carried]]:
    """The carried words of one level, by the bits of its comparison.

    Rounds: 2. Sends: 9 bytes and 9 carried words a pair.
    """
    wins = meeting.right_wins
    first = _rows([wins, negated(party, wins), wins])
    second = _rows([negated(party, meeting.left_ends), negated(party, meeting.right_ends), meeting.complete])
    bits = yield from conjunction(party, first, second)
    return (yield from together(*(_followed(party, bits, meeting.complete, column) for column in columns)))


def _followed(party: Party, bits: BinaryShare, complete: BinaryShare, column: _Carried) -> Program[_Carried]:
    """Args: bits, shape (3, pairs): L's left becomes R's left; R's right becomes L's right; R's left is put down."""
    pairs = len(complete)
    masks = word_masks(bits, column.left.dtype)
    left_l, left_r = column.left[0 : 2 * pairs : 2], column.left[1 : 2 * pairs : 2]
    right_l, right_r = column.right[0 : 2 * pairs : 2], column.right[1 : 2 * pairs : 2]
    parts = np.empty((3, pairs), column.left.dtype)
    parts[0] = conjunction_terms(masks[0], left_l ^ left_r)
    parts[0] ^= left_l.own
    parts[1] = conjunction_terms(masks[1], right_l ^ right_r)
    parts[1] ^= right_r.own
    parts[2] = conjunction_terms(masks[2], left_r ^ right_l)
    parts[2] ^= conjunction_terms(word_masks(complete, column.left.dtype), right_l)
    chosen = yield from reshare_binary(party, parts)
    return _Carried(
        _rest(chosen[0], column.left, pairs),
        _rest(chosen[1], column.right, pairs),
        [*column.winners, chosen[2]],
    )


def _rows(bits: Sequence[BinaryShare]) -> BinaryShare:
    return BinaryShare(np.stack([x.own for x in bits]), np.stack([x.next for x in bits]))


def _rest(merged: BinaryShare, before: BinaryShare, pairs: int) -> BinaryShare:
    if len(before) == 2 * pairs:
        return merged
    return BinaryShare(
        np.append(merged.own, before.own[2 * pairs :]), np.append(merged.next, before.next[2 * pairs :])
    )


def _put_down(column: _Carried, size: int) -> BinaryShare:
    """The winners at their positions: those of level k at odd multiples of 2^k; the first group's at 0."""
    own, following = np.zeros(size, column.left.dtype), np.zeros(size, column.left.dtype)
    own[:1], following[:1] = column.left.own, column.left.next
    for level, winners in enumerate(column.winners):
        places = slice(1 << level, None, 2 << level)
        own[places], following[places] = winners.own, winners.next
    return BinaryShare(own, following)
