"""The numbers of a layer that all columns have in common, as vectors over the positions (phase "tables").

Positions are sorted by slot; where a column's order inside a slot matters, only counts do. From the class counts of
the slots come the slots' bounds; from the bounds, by turning public tables:

- which positions are whose (`flags`), and where a cut may be at all (`allowed`);
- the denominators. With delta(r) = F(r) - F(r-1), F of the left size is a running sum of delta(1), delta(2), .. and
  F of the right size is F of the whole less a running sum of the same read backwards. So SplitInfo+ is a running sum
  of `backward - forward` over the group, and over a whole group that sum is 0: no group's total is ever needed.
- the same differences for the cells (slot, class), `class_steps`, in the order by (slot, class). A row of class c
  that stands r-th of its cell adds delta(r) to F(u_c) and takes delta(N_c + 1 - r) from F(w_c), so whatever the
  number of classes Gain+ = SplitInfo+ + running sum of the rows' own entries. One vector serves all columns; they
  fetch it by the place of their rows in that order, for which `places` holds what the columns have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shared.mpc.arithmetic import product_terms, reshare
from shared.mpc.bits import pack
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.rotation import rotated_tables
from shared.mpc.selection import low_bits
from shared.mpc.sharing import BinaryShare, Share, concatenate, public_share
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.secure_tree.gain_ratio.sums import any_of, spread
from shared.tree.f_table import f_table


@dataclass(frozen=True, slots=True)
class PublicTables:
    """Tables to turn. `unit`: 1 at place 0. `steps`: delta(r) at r-1 and, counted from the end, at -r."""

    unit: Words = field(repr=False)
    steps: Words = field(repr=False)

    @classmethod
    def of(cls, plan: GainRatioPlan) -> PublicTables:
        """The tables for the plan's number of records and scale."""
        records = plan.records
        delta = np.diff(f_table(records, plan.scale)).astype(U32)
        unit = np.zeros(1 << records.bit_length(), U32)
        unit[0] = 1
        steps = np.zeros(1 << (2 * records - 1).bit_length(), U32)
        steps[:records] = delta
        steps[steps.size - records :] = delta[::-1]
        return cls(unit, steps)

    def counted_from(self, bound: int, records: int) -> Words:
        """delta of the distance from a public bound, over the positions 0 to n-1."""
        return np.roll(self.steps, bound)[:records]


@dataclass(frozen=True, slots=True)
class LayerTables:
    """Over n positions. `flags`: (slots, n). `split`: SplitInfo+, (n,). `class_steps`: (n,). `places`: (classes, n).

    `allowed`: packed bits, 1 where a cut leaves `min_child` records of the group on each side.
    """

    flags: Share
    split: Share
    class_steps: Share
    places: Share
    allowed: BinaryShare


def layer_tables(
    party: Party, plan: GainRatioPlan, public: PublicTables, counts: Share
) -> Program[LayerTables]:
    """The common vectors of a layer.

    Args: counts: records of each slot and class, uint32, shape (slots, classes), classes at least 2.
    Rounds: 3. Sends: for each of slots * classes - 1 bounds about 5.3 to 7 words a position, and 2 + classes words
        a position. Leaks: nothing.
    """
    flat = counts.reshape(-1)
    bounds = flat.cumsum()[:-1]
    units, distances = yield from together(
        rotated_tables(party, public.unit, bounds, plan.records),
        rotated_tables(party, public.steps, bounds, plan.records),
    )
    cells = _between(party, units)
    flags = _slot_flags(cells, plan.classes)
    del units
    first, last = public.counted_from(0, plan.records), public.counted_from(plan.records, plan.records)
    ends = public_share(party.index, np.stack([first, last]))
    distances = concatenate([ends[:1], distances, ends[1:]])
    starts = flat.cumsum() - flat
    before = counts.cumsum(axis=0) - counts
    offsets = (starts.reshape(*counts.shape) - before).map(lambda part: part.T)
    side_by_side: list[Program[Any]] = [
        reshare(party, _step_terms(flags, cells, distances)),
        spread(party, flags, offsets),
        _allowed(party, flags, plan.rules.min_child),
    ]
    steps, places, allowed = yield from together(*side_by_side)
    return LayerTables(flags, -steps[0].cumsum(), steps[1], places, allowed)


def _between(party: Party, units: Share) -> Share:
    """From unit vectors at the inner bounds of positions to flags of the cells between, shape (bounds + 1, n)."""
    whole = public_share(party.index, 1, U32, (units.shape[1],))
    return Share(_differences(whole.own, units.own), _differences(whole.next, units.next))


def _differences(whole: Words, units: Words) -> Words:
    flags = np.empty((len(units) + 1, units.shape[1]), units.dtype)
    flags[0] = whole
    np.cumsum(units, axis=1, dtype=units.dtype, out=flags[1:])
    flags[:-1] -= flags[1:]
    return flags


def _slot_flags(cells: Share, classes: int) -> Share:
    """A slot's positions are those of its cells."""
    return cells.map(lambda part: part.reshape(-1, classes, part.shape[1]).sum(axis=1, dtype=part.dtype))


def _step_terms(flags: Share, cells: Share, distances: Share) -> Words:
    """Additive parts of `forward - backward` over the groups, and over the cells."""
    terms = np.zeros((2, flags.shape[1]), U32)
    classes = len(cells) // len(flags)
    for slot in range(len(flags)):
        span = distances[slot * classes] - distances[(slot + 1) * classes]
        terms[0] += product_terms(flags[slot], span)
    for cell in range(len(cells)):
        terms[1] += product_terms(cells[cell], distances[cell] - distances[cell + 1])
    return terms


def _allowed(party: Party, flags: Share, min_child: int) -> Program[BinaryShare]:
    """Position p leaves enough on both sides iff p + 1 - min_child and p + min_child are of one slot."""
    bits = low_bits(flags)
    return (
        yield from any_of(
            party,
            bits.map(lambda part: pack(_shifted(part, min_child - 1))),
            bits.map(lambda part: pack(_shifted(part, -min_child))),
        )
    )


def _shifted(rows: Words, places: int) -> Words:
    """Every row moved right by some places (left if negative), zeros coming in."""
    moved = np.zeros_like(rows)
    size = rows.shape[1]
    if abs(places) < size:
        if places >= 0:
            moved[:, places:] = rows[:, : size - places]
        else:
            moved[:, :places] = rows[:, -places:]
    return moved
