"""Sums over cells of secret sizes that lie one after the other: the steps from which all layers' fractions come.

A cell of N positions has at its r-th the step delta(r) - delta(N + 1 - r), where delta(r) = F(r) - F(r-1). A running
sum over the steps is F(left) + F(right) - F(N) at every position, and 0 again after each cell.

Two ways: for few cells a public table is turned to each bound and chosen by flags (`turned_steps`), which costs n words
a cell. For many, cells are sorted by size; the i-th largest has at most n / i positions, so room for all of them is
n log(cells), and the steps in use are moved from there to their places (`steps_by_size`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shared.mpc.arithmetic import add_public, multiply, product_terms
from shared.mpc.conversion import to_words
from shared.mpc.permutation import move_to
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.rotation import rotated_tables
from shared.mpc.sharing import Share, concatenate, public_share
from shared.mpc.sorting import stable_sort

_DIGIT_BITS = 4
"""Sorting a few sizes is all rounds."""


@dataclass(frozen=True, slots=True)
class StepTables:
    """delta(1) to delta(n), and tables to turn. `unit`: 1 at place 0. `distance`: delta of the distance from place 0.

    To the right the distance begins with 1 at place 0, to the left with 1 at place -1.
    """

    delta: Words = field(repr=False)

    @property
    def records(self) -> int:
        """n."""
        return self.delta.size

    @property
    def unit(self) -> Words:
        """1 at place 0, turned by 0 to n: of a size above n."""
        return unit_table(self.records)

    @property
    def distance(self) -> Words:
        """delta(q + 1) at q >= 0 and delta(-q) at q < 0, turned by 0 to n and read at 0 to n - 1."""
        table = self.back(self.records)
        table[: self.records] = self.delta
        return table

    def back(self, length: int) -> Words:
        """delta(-q) at -length <= q < 0, and 0 at 0 <= q < length."""
        table = np.zeros(1 << (2 * length - 1).bit_length(), U32)
        table[table.size - length :] = self.delta[:length][::-1]
        return table


def unit_table(length: int) -> Words:
    """A table to turn by 0 to `length`, with its only 1 at place 0."""
    table = np.zeros(1 << length.bit_length(), U32)
    table[0] = 1
    return table


def turned_steps(party: Party, tables: StepTables, distances: Share, flags: Share) -> Words:
    """This party's additive part of the steps; local.

    Args: distances: the tables `distance` turned to all inner bounds, shape (cells - 1, n). flags: of the cells,
        shape (cells, n).
    """
    first = public_share(party.index, tables.delta)
    last = public_share(party.index, tables.delta[::-1])
    terms = np.zeros(tables.records, U32)
    for cell in range(len(flags)):
        forward = distances[cell - 1] if cell else first
        backward = distances[cell] if cell < len(flags) - 1 else last
        terms += product_terms(flags[cell], forward - backward)
    return terms


def steps_by_size(party: Party, tables: StepTables, sizes: Share) -> Program[Share]:
    """The steps of many cells.

    Args: sizes: uint32, shape (cells,), of sum n.
    Returns: uint32, shape (n,).
    Rounds: 6, those of `to_words`, and 6 for each 4 bits of n. Sends: some 80 bytes a position for each bit of the
        number of cells.
    Leaks: uniform positions.
    """
    starts = sizes.cumsum() - sizes
    smaller = add_public(party, -sizes, tables.records)
    width = tables.records.bit_length()
    words = yield from to_words(party, smaller, width)
    _, [sizes, starts] = yield from stable_sort(party, words, width, [sizes, starts], _DIGIT_BITS)
    levels = yield from together(
        *(
            _level(party, tables, sizes[first : 2 * first + 1], starts[first : 2 * first + 1], first + 1)
            for first in _firsts(len(sizes), tables.records)
        )
    )
    used, steps, places = (concatenate([level[field] for level in levels]) for field in range(3))
    entries = np.arange(len(used), dtype=U32) + np.uint32(tables.records)
    unused_place = add_public(party, used - used.cumsum(), entries)
    further = yield from multiply(party, used, places - unused_place)
    [moved] = yield from move_to(party, unused_place + further, [steps])
    return moved[: tables.records]  # type: ignore[no-any-return]


def _firsts(cells: int, records: int) -> list[int]:
    """Of each level the rank of its first cell: 0, 1, 3, 7, ..; a cell of rank i is of size n / (i + 1) at most."""
    firsts = [(1 << level) - 1 for level in range(cells.bit_length())]
    return [first for first in firsts if first < min(cells, records)]


def _level(party: Party, tables: StepTables, sizes: Share, starts: Share, share: int) -> Program[list[Share]]:
    """Cells of at most n / share positions, each with room for so many.

    Returns: at each place of the room 1 if it is in use, its step, and where it belongs; one after the other.
    """
    room = tables.records // share
    units, backward = yield from together(
        rotated_tables(party, unit_table(room), sizes, room),
        rotated_tables(party, tables.back(room), sizes, room),
    )
    ended = units.cumsum(axis=1)
    used = add_public(party, -ended, 1)
    steps = used.times(tables.delta[:room]) - backward
    places = add_public(party, starts.reshape(-1, 1) + _zeros(used), np.arange(room, dtype=U32))
    return [one.reshape(-1) for one in (used, steps, places)]


def _zeros(like: Share) -> Share:
    return like.map(np.zeros_like)
