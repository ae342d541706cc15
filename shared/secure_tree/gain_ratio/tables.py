"""The numbers of a layer that all columns have in common, as vectors over the positions (phase "tables").

Positions are sorted by slot; where a column's order inside a slot matters, only counts do. From the class counts of
the slots come:

- which positions are whose (`flags`), and where a cut may be at all (`allowed`);
- the denominators. The steps of `cells`, with the slots as cells, sum up to F(left) + F(right) - F(whole), which is
  SplitInfo+ with its sign turned. Over a whole slot the sum is 0, so no slot's total is ever needed.
- `class_steps`: the same steps for the cells (slot, class), in the order by (slot, class). A row that stands r-th among
  the rows of its class adds the r-th step of its cell to sum_c F(u_c) + F(w_c) - F(N_c), so whatever the number of
  classes, Gain+ = SplitInfo+ + running sum of the rows' own steps. One vector serves all columns; they fetch from it
  by the places of their rows in that order, for which `places` holds what the columns have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shared.mpc.arithmetic import reshare
from shared.mpc.bits import pack
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.rotation import rotated_tables
from shared.mpc.selection import low_bits
from shared.mpc.sharing import BinaryShare, Share, public_share
from shared.secure_tree.gain_ratio.arrays import transposed
from shared.secure_tree.gain_ratio.cells import StepTables, steps_by_size, turned_steps
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.secure_tree.gain_ratio.sums import any_of, spread
from shared.tree.f_table import f_table

FEW_CELLS: Final = 32
"""Up to so many cells (slot, class) turning tables to each bound costs less than sorting cells by size."""


@dataclass(frozen=True, slots=True)
class LayerTables:
    """Over n positions. `flags`: (slots, n). `split`: SplitInfo+, (n,). `class_steps`: (n,). `places`: (classes, n).

    `allowed`: packed bits, 1 where a cut leaves `min_child` records of the slot on each side.
    """

    flags: Share
    split: Share
    class_steps: Share
    places: Share
    allowed: BinaryShare


def step_tables(records: int, scale: int) -> StepTables:
    """The public tables of a training, from F_s(0) to F_s(records)."""
    return StepTables(np.diff(f_table(records, scale)).astype(U32))


def layer_tables(
    party: Party, plan: GainRatioPlan, public: StepTables, counts: Share, few_cells: int = FEW_CELLS
) -> Program[LayerTables]:
    """The common vectors of a layer.

    Args: counts: records of each slot and class, uint32, shape (slots, classes), classes at least 2.
    Rounds: 4 with few cells, else 1 and those of `steps_by_size`. Sends, a position: with few cells 27 to 40 bytes
        for each but one, and 24; with many 11 to 16 bytes for each slot, and `steps_by_size` twice; and 12 bytes a
        class and 3 bits. Leaks: uniform positions, if there are many cells.
    """
    slots, classes = counts.shape
    if slots * classes <= few_cells:
        flags, slot_steps, class_steps = yield from _turned(party, public, counts)
    else:
        flags, slot_steps, class_steps = yield from _by_size(party, public, counts)
    before = counts.cumsum(axis=0) - counts
    starts = _exclusive(counts.reshape(-1)).reshape(slots, classes)
    offsets = transposed(starts - before)
    side_by_side: list[Program[Any]] = [
        spread(party, flags, offsets),
        _allowed(party, flags, plan.rules.min_child),
    ]
    places, allowed = yield from together(*side_by_side)
    return LayerTables(flags, -slot_steps.cumsum(), class_steps, places, allowed)


def _turned(party: Party, public: StepTables, counts: Share) -> Program[tuple[Share, Share, Share]]:
    """Flags of the slots, and steps of slots and cells, from tables turned to all bounds. Rounds: 3."""
    slots, classes = counts.shape
    bounds = counts.reshape(-1).cumsum()[:-1]
    units, distances = yield from together(
        rotated_tables(party, public.unit, bounds, public.records),
        rotated_tables(party, public.distance, bounds, public.records),
    )
    cells = _between(party, units)
    flags = cells.map(lambda part: part.reshape(slots, classes, -1).sum(axis=1, dtype=part.dtype))
    terms = [
        turned_steps(party, public, distances[classes - 1 :: classes], flags),
        turned_steps(party, public, distances, cells),
    ]
    steps = yield from reshare(party, np.stack(terms))
    return flags, steps[0], steps[1]


def _by_size(party: Party, public: StepTables, counts: Share) -> Program[tuple[Share, Share, Share]]:
    """The same for many cells."""
    sizes = counts.sum(axis=1)
    units, slot_steps, class_steps = yield from together(
        rotated_tables(party, public.unit, sizes.cumsum()[:-1], public.records),
        steps_by_size(party, public, sizes),
        steps_by_size(party, public, counts.reshape(-1)),
    )
    return _between(party, units), slot_steps, class_steps


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


def _exclusive(sizes: Share) -> Share:
    return sizes.cumsum() - sizes
