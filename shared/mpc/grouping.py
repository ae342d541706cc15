"""Sums and values of secret groups: from positions to one slot a group, and from slots back to positions.

Equal groups lie side by side; the group-information vector is 1 at the last element of each. How many there are and
where they end is secret, a bound on their number is public. One route carries every group's last position to its slot;
a prefix sum read there and differenced is the group's sum, and the difference to the next slot, carried back and
summed up again, is the slot's value at every position of its group. Both differences and sums are local.

Source: Hamada 2021 in docs/sources.md (group-information vector, group-wise sum); protocol section 11.
Deviation: groups go to slots and back by one shared permutation, where the paper sorts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.arithmetic import conjunction, multiply, subtract_from_public
from shared.mpc.permutation import Route, lay_route, send_along, send_back
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.selection import low_bits, word_masks
from shared.mpc.sharing import BinaryShare, Share, public_share
from shared.mpc.sorting import partition_destination
from shared.mpc.walking import Column


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of n positions. `used`, uint32, shape (slots,): 1 for each slot that has a group, in their order."""

    size: int
    used: Share
    route: Route | None
    """Takes the last positions to the slots; None where there is one slot."""

    @property
    def slots(self) -> int:
        """The public bound on the number of groups."""
        return len(self.used)


def form_groups(party: Party, last: Share, bound: int) -> Program[Groups]:
    """Give every group its slot.

    Args: last: uint32 of 0 and 1, shape (n,): 1 at the last element of each group, and at n-1. bound: at least the
        number of groups.
    Rounds: 4; none for bound 1. Sends: 44 bytes an element; nothing for bound 1. Leaks: uniform positions.
    """
    size = len(last)
    if bound < 1:
        raise ValueError(f"there is at least one group, not {bound}")
    if bound == 1:
        return Groups(size, public_share(party.index, 1, U32, (1,)), None)
    destination = yield from partition_destination(party, subtract_from_public(party, 1, last))
    route, [marks] = yield from lay_route(party, destination, [last])
    return Groups(size, marks[: min(bound, size)], route)


def values_at_last(party: Party, groups: Groups, columns: Sequence[Column]) -> Program[list[Any]]:
    """The value of each column at the last element of each group; 0 in slots without a group.

    Args: columns: numbers of Z_2^32 or words, shape (n,). Returns: shape (slots,).
    Rounds: 3; none for one slot. Sends: 4 words an element and 3 a slot of each column; nothing for one slot.
    Leaks: nothing.
    """
    if groups.route is None:
        return [column[groups.size - 1 :] for column in columns]
    carried = yield from send_along(party, groups.route, columns)
    return (yield from _used_only(party, groups, [column[: groups.slots] for column in carried]))


def values_at_first(party: Party, groups: Groups, columns: Sequence[Column]) -> Program[list[Any]]:
    """The same at the first element of each group. Rounds, Sends, Leaks: as `values_at_last`."""
    if groups.route is None:
        return [column[:1] for column in columns]
    following = [column.map(lambda part: np.roll(part, -1)) for column in columns]
    carried = yield from send_along(party, groups.route, following)
    first = [
        _beside(column[:1], at_next[: groups.slots - 1])
        for column, at_next in zip(columns, carried, strict=True)
    ]
    return (yield from _used_only(party, groups, first))


def group_sums(party: Party, groups: Groups, columns: Sequence[Column]) -> Program[list[Any]]:
    """The sum of each column (of words the XOR) over each group; 0 in slots without a group.

    Rounds, Sends, Leaks: as `values_at_last`.
    """
    running = [_summed(column) for column in columns]
    if groups.route is None:
        return [column[groups.size - 1 :] for column in running]
    carried = yield from send_along(party, groups.route, running)
    steps = [_less(column[: groups.slots], _zero_first(column[: groups.slots])) for column in carried]
    return (yield from _used_only(party, groups, steps))


def spread(party: Party, groups: Groups, columns: Sequence[Column]) -> Program[list[Any]]:
    """The value of its group's slot at every position.

    Args: columns: numbers of Z_2^32 or words, shape (slots,); what slots without a group hold does not matter.
    Returns: shape (n,).
    Rounds: 3; none for one slot. Sends: 3 words a slot and 4 an element of each column; nothing for one slot.
    Leaks: nothing.
    """
    if groups.route is None:
        return [column.map(lambda part: np.repeat(part, groups.size)) for column in columns]
    clean = yield from _used_only(party, groups, columns)
    steps = [_less(column[1:], column[:-1]).map(lambda part: _padded(part, groups.size)) for column in clean]
    at_last = yield from send_back(party, groups.route, steps)
    return [_summed(_beside(column[:1], step[:-1])) for column, step in zip(clean, at_last, strict=True)]


def running_sums(party: Party, groups: Groups, columns: Sequence[Share]) -> Program[list[Share]]:
    """At every position the sum from the start of its group, with the position itself.

    Args: columns: uint32, shape (n,). Returns: the like.
    Rounds: 6; none for one slot. Sends: 8 words an element and 6 a slot of each column. Leaks: nothing.
    """
    sums = yield from group_sums(party, groups, columns)
    earlier = yield from spread(party, groups, [total.cumsum() - total for total in sums])
    return [column.cumsum() - before for column, before in zip(columns, earlier, strict=True)]


def _used_only(party: Party, groups: Groups, columns: Sequence[Column]) -> Program[list[Any]]:
    """Zeros in slots without a group. Rounds: 1. Sends: 3 words a slot of each column."""
    masks = low_bits(groups.used)
    if any(isinstance(column, Share) and column.dtype != U32 for column in columns):
        raise ValueError("numbers of groups are uint32")
    programs: list[Program[Any]] = [
        conjunction(party, word_masks(masks, column.dtype), column)
        if isinstance(column, BinaryShare)
        else multiply(party, groups.used, column)
        for column in columns
    ]
    return (yield from together(*programs))


def _summed(column: Column) -> Column:
    """Running sums, of words running XORs."""
    return column.cumsum() if isinstance(column, Share) else column.map(np.bitwise_xor.accumulate)


def _less(x: Any, y: Any) -> Column:
    """x - y, of words x XOR y."""
    difference: Column = x - y if isinstance(x, Share) else x ^ y
    return difference


def _zero_first(column: Column) -> Column:
    """Each slot's predecessor, before the first a zero."""
    return column.map(lambda part: np.append(part.dtype.type(0), part[:-1]))


def _beside(first: Column, rest: Column) -> Column:
    return type(first)(np.append(first.own, rest.own), np.append(first.next, rest.next))


def _padded(part: Words, size: int) -> Words:
    whole = np.zeros(size, part.dtype)
    whole[: len(part)] = part
    return whole
