"""The best test of every slot, by fractions over its positions (phase "group maximum").

Positions are compared first inside blocks, with no regard to slots; then every slot compares the blocks that lie in
it whole with the single rows of the two blocks in which it begins and ends, fetched by secret indices. So nearly every
comparison is made once, whatever the number of slots, and no comparison needs to know where a slot ends.

Source: protocol section 11, step 7: any order of evaluation gives this result, as the first of equals always wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shared.mpc.arithmetic import add_public, multiply, reshare, reshare_binary
from shared.mpc.conversion import widen
from shared.mpc.program import Party, Program, together
from shared.mpc.ring import U32, Words
from shared.mpc.selection import low_bits, word_masks
from shared.mpc.sharing import BinaryShare, Share, concatenate, public_share
from shared.secure_tree.gain_ratio.all_pairs import by_fractions
from shared.secure_tree.gain_ratio.arrays import joined, stacked
from shared.secure_tree.gain_ratio.candidates import NO_TEST, Candidates, where_flag
from shared.secure_tree.gain_ratio.knock_out import knock_out


@dataclass(frozen=True, slots=True)
class Blocks:
    """n positions in `count` blocks of `size`, a power of two; the last block may be filled up."""

    records: int
    size: int

    @classmethod
    def of(cls, records: int, slots: int) -> Blocks:
        """The size with the fewest comparisons. Blocks of one position are none: every slot looks at all positions."""
        sizes = [Blocks(records, 1 << bits) for bits in range(records.bit_length())]
        return min(sizes, key=lambda blocks: blocks.comparisons(slots))

    @property
    def count(self) -> int:
        """Number of blocks."""
        return -(-self.records // self.size)

    def comparisons(self, slots: int) -> int:
        """About how many comparisons all slots together cost."""
        edges = 2 * self.size if self.size > 1 else 0
        return self.records - self.count + slots * (self.count + edges)

    def rows(self, part: Words) -> Words:
        """Positions, shape (.., n), as an array of shape (.., size, count), block by column, zeros at the end."""
        missing = self.size * self.count - self.records
        if missing:
            part = np.concatenate([part, np.zeros((*part.shape[:-1], missing), part.dtype)], axis=-1)
        return np.ascontiguousarray(part.reshape(*part.shape[:-1], self.count, self.size).swapaxes(-1, -2))


def best_of_slots(party: Party, candidates: Candidates, flags: Share, lowest: int) -> Program[Candidates]:
    """Of each slot the greatest fraction, the first of equal ones; -1 / 1 where the slot has no valid test.

    Args: candidates: shape (n,), numbers uint32. flags: uint32, shape (slots, n). lowest: at most 0; numerators are
        from there on below lowest + 2^31.
    Returns: candidates of shape (slots,), numbers uint64.
    Rounds: 2 and those of `by_fractions` for at most log2(n) + 2 levels, 3 more with several slots; and 1.
    Sends: about n matches (`by_fraction`), 32 bytes a position, and what few candidates cost in groups.
    Leaks: nothing.
    """
    slots, records = flags.shape
    blocks = Blocks.of(records, slots)
    programs: list[Program[Any]] = [_best_of_blocks(party, candidates, blocks, lowest)]
    if slots > 1:
        programs.append(_whole_blocks(party, flags, blocks))
        if blocks.size > 1:
            programs.append(_edge_rows(party, candidates, flags, blocks, lowest))
    (fractions, words), *others = yield from together(*programs)
    if others:
        fractions = yield from where_flag(party, others[0], fractions)
        words = [word.map(lambda part: np.repeat(part, slots, axis=1)) for word in words]
    if len(others) > 1:
        firsts, lasts = others[1]
        fractions = joined([firsts[0], fractions, lasts[0]], axis=1)
        words = [joined(parts) for parts in zip(firsts[1], words, lasts[1], strict=True)]
    best, words = yield from knock_out(party, [fractions[0], fractions[1]], words, by_fractions)
    return Candidates(best[0][0], best[1][0], [word[0] for word in words])


def _best_of_blocks(
    party: Party, candidates: Candidates, blocks: Blocks, lowest: int
) -> Program[tuple[Share, list[BinaryShare]]]:
    """Of each block the best: fractions of shape (2, count, 1), words of shape (count, 1)."""
    narrow = _fractions(party, candidates, blocks)
    wide = yield from widen(party, narrow, lowest)
    words = [word.map(blocks.rows) for word in candidates.words]
    best, words = yield from knock_out(party, [wide[0], wide[1]], words, by_fractions)
    return stacked([best[0], best[1]]).reshape(2, -1, 1), [word.reshape(-1, 1) for word in words]


def _whole_blocks(party: Party, flags: Share, blocks: Blocks) -> Program[Share]:
    """1 where a block lies in a slot from its first to its last position, uint64, shape (count, slots)."""
    first = np.arange(blocks.count) * blocks.size
    last = np.minimum(first + blocks.size, blocks.records) - 1
    whole = flags.map(lambda part: part[:, first].T)
    if blocks.size > 1:
        whole = yield from multiply(party, whole, flags.map(lambda part: part[:, last].T))
    return (yield from widen(party, whole))


def _edge_rows(
    party: Party, candidates: Candidates, flags: Share, blocks: Blocks, lowest: int
) -> Program[list[tuple[Share, list[BinaryShare]]]]:
    """The rows of the blocks where each slot begins, and ends: neutral where they are another slot's.

    Returns: twice fractions, uint64, of shape (2, size, slots), and words of shape (size, slots).
    """
    numbers, slot_rows = _fractions(party, candidates, blocks), flags.map(blocks.rows)
    words = [word.map(blocks.rows) for word in candidates.words]
    chosen = _edge_blocks(party, flags, blocks)
    programs: list[Program[Any]] = [
        reshare(party, np.stack([_fetched_terms(edge, numbers, slot_rows) for edge in chosen])),
        *(reshare_binary(party, np.stack([_fetched_words(edge, word) for edge in chosen])) for word in words),
    ]
    fetched, *edge_words = yield from together(*programs)
    fields = fetched.map(lambda part: np.ascontiguousarray(part.swapaxes(0, 1)))
    masked = yield from where_flag(party, fields[2], fields[:2])
    wide = yield from widen(party, masked, lowest)
    return [(wide[:, edge], [word[edge] for word in edge_words]) for edge in range(2)]


def _edge_blocks(party: Party, flags: Share, blocks: Blocks) -> tuple[Share, Share]:
    """Unit vectors of the block in which a slot begins, and of that in which it ends; shape (count, slots).

    Local: with S(p) = 1 from a slot's start on, its start is in a block iff S is 1 at the block's last position and
    0 at that of the block before; its end is where the next slot's S turns to 1 one position later.
    """
    started = flags.map(lambda part: np.cumsum(part[::-1], axis=0, dtype=part.dtype)[::-1].T)
    ends = np.arange(1, blocks.count) * blocks.size
    beyond = public_share(party.index, 1, U32, (1, len(flags)))
    never = public_share(party.index, 0, U32, (len(started), 1))
    by_block_end = concatenate([started[ends - 1], beyond])
    following = joined([started[:, 1:], never], axis=1)
    by_block_start = concatenate([following[:: blocks.size], beyond])
    begin = by_block_end.map(lambda part: np.diff(part, axis=0, prepend=part.dtype.type(0)))
    return begin, by_block_start.map(lambda part: np.diff(part, axis=0))


def _fetched_terms(unit: Share, numbers: Share, slot_rows: Share) -> Words:
    """Additive parts of numerators, denominators and the slot's own flags of the chosen blocks, (3, size, slots)."""
    both = unit.own + unit.next
    terms = np.empty((3, slot_rows.shape[1], len(slot_rows)), U32)
    for field in range(2):
        terms[field] = numbers.own[field] @ both
        terms[field] += numbers.next[field] @ unit.own
    for slot in range(len(slot_rows)):
        terms[2, :, slot] = slot_rows.own[slot] @ both[:, slot]
        terms[2, :, slot] += slot_rows.next[slot] @ unit.own[:, slot]
    return terms


def _fetched_words(unit: Share, rows: BinaryShare) -> Words:
    """XOR parts of the words of the chosen blocks, (size, slots)."""
    masks = word_masks(low_bits(unit), rows.dtype)
    both = rows.own ^ rows.next
    parts = np.empty((rows.shape[0], unit.shape[1]), rows.dtype)
    for slot in range(unit.shape[1]):
        parts[:, slot] = np.bitwise_xor.reduce(
            (masks.own[:, slot] & both) ^ (masks.next[:, slot] & rows.own), axis=1
        )
    return parts


def _fractions(party: Party, candidates: Candidates, blocks: Blocks) -> Share:
    """Numerators and denominators as rows, uint32, shape (2, size, count); -1 / 1 where blocks are filled up."""
    numbers = stacked([candidates.numerators, candidates.denominators])
    neutral = NO_TEST.astype(U32)[:, None]
    rows = add_public(party, numbers, np.broadcast_to(np.negative(neutral), numbers.shape)).map(blocks.rows)
    return add_public(party, rows, np.broadcast_to(neutral[:, None], rows.shape))
