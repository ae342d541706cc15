"""The records in the order of one column: sorted once, and kept sorted by (slot, code) from layer to layer.

The records' own order, in which owners shared them, never changes. From there every column has a chain of routes: the
sort's, and one a layer. Bits travel the chain from the records' order to the column's (phase "link"); inside a
layer nothing is sorted again (phase "split").
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shared.mpc.arithmetic import add_public, multiply
from shared.mpc.permutation import Route, lay_route, send_along, send_back
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32
from shared.mpc.sharing import BinaryShare, Share, public_share
from shared.mpc.sorting import stable_sort


@dataclass(frozen=True, slots=True)
class Order:
    """One column in its order: `keys` and `classes` of shape (n,), and how to come here from the records' order."""

    keys: BinaryShare
    classes: BinaryShare
    first: Route = field(repr=False)
    later: tuple[Route, ...] = field(default=(), repr=False)


def sorted_order(party: Party, keys: BinaryShare, width_bits: int, classes: BinaryShare) -> Program[Order]:
    """Sort the records by one column, equal codes in the records' order.

    Args: keys, classes: in the records' order, shape (n,). width_bits: of the keys.
    Rounds: those of `stable_sort` and 4. Sends: those of `stable_sort` with a word of 32 bits, 16 bytes a record, and
        4 words for its class. Leaks: uniform positions.
    """
    rows = public_share(party.index, np.arange(len(keys), dtype=U32))
    keys, [rows] = yield from stable_sort(party, keys, width_bits, [rows])
    route, _ = yield from lay_route(party, rows)
    [classes] = yield from send_back(party, route, [classes])
    return Order(keys, classes, route)


def fetch(party: Party, order: Order, column: BinaryShare) -> Program[BinaryShare]:
    """Bring a column of the records' order to this order.

    Args: column: shape (n,), any words. Rounds: 2 + 2 a layer so far. Sends: 4 words an element for every 2 rounds.
    Leaks: nothing.
    """
    [column] = yield from send_back(party, order.first, [column])
    for route in order.later:
        [column] = yield from send_along(party, route, [column])
    return column


def next_codes(codes: BinaryShare) -> BinaryShare:
    """Of each position the code at the next one; local. The last keeps its own."""
    return codes.map(lambda part: np.append(part[1:], part[-1:]))


@dataclass(frozen=True, slots=True)
class SplitFrame:
    """What the partitions of all columns have in common at each position, uint32, shape (n,).

    ones_before: records that go right, of the slots before. ones_start: where those of the own slot come to start.
    """

    ones_before: Share
    ones_start: Share


def partition(party: Party, order: Order, right: Share, frame: SplitFrame) -> Program[Order]:
    """Split every slot: records with `right` = 1 behind the others, each side in the order it had.

    With r earlier records of the slot that go right: at position p, one that stays left goes to p - r, one that goes
    right to ones_start + r.
    Args: right: 0 or 1, shape (n,). frame: common to all columns.
    Rounds: 4. Sends: 28 bytes a record, and 4 words for its key and class. Leaks: uniform positions.
    """
    ones = right.cumsum() - right - frame.ones_before
    stay = add_public(party, -ones, np.arange(len(right), dtype=U32))
    further = yield from multiply(party, right, frame.ones_start + ones - stay)
    route, (keys, classes) = yield from lay_route(party, stay + further, [order.keys, order.classes])
    return Order(keys, classes, order.first, (*order.later, route))
