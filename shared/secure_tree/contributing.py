"""A hospital's records as shares for the three compute parties: what each is sent, and what it makes of it.

Every input is a block of unsigned words shared by XOR (protocol section 9, input): x = x_0 ^ x_1 ^ x_2, and P_i gets
parts i and i+1. Parts 0 and 1 are key streams of two seeds, so P_0 is sent two seeds, P_1 and P_2 one seed and the
words of part 2: two words a word of input instead of six. Blocks of 0/1 bits travel packed, eight to a byte. Sizes
follow from the layout and the number of records, which are public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shared.errors import InternalError
from shared.mpc.program import Spec
from shared.mpc.prss import KEY_BYTES, Stream
from shared.mpc.ring import U8, Words
from shared.mpc.sharing import PARTIES, BinaryShare

SEEDS: Final = 2
_SEED: Final = Spec((KEY_BYTES,), U8)


@dataclass(frozen=True, slots=True)
class BitBlock:
    """Rows of bits, one column a record; words 0 and 1 of uint8 at both ends."""

    rows: int

    def packed_spec(self, records: int) -> Spec:
        """How the block travels."""
        return Spec((self.rows, (records + 7) // 8), U8)

    def pack(self, block: Words) -> Words:
        """Args: block: uint8 of 0 and 1, shape (rows, records)."""
        return np.packbits(block, axis=1, bitorder="little")

    def unpack(self, words: Words, records: int) -> Words:
        """The inverse of `pack`, of a block or of a part of its shares."""
        return np.unpackbits(words, axis=1, count=records, bitorder="little")


@dataclass(frozen=True, slots=True)
class WordBlock:
    """One unsigned word of this type a record."""

    dtype: np.dtype[Any]

    def packed_spec(self, records: int) -> Spec:
        """How the block travels."""
        return Spec((records,), self.dtype)

    def pack(self, block: Words) -> Words:
        """Args: block: words of this type, shape (records,)."""
        return block

    def unpack(self, words: Words, records: int) -> Words:
        """The inverse of `pack`."""
        return words[:records]


Block = BitBlock | WordBlock
Layout = tuple[Block, ...]
"""The blocks of one record set, in the order in which they travel."""


def message_specs(layout: Layout, records: int, party: int) -> tuple[Spec, ...]:
    """What compute party `party` is sent by a hospital with so many records; nothing by one without."""
    if records == 0:
        return ()
    words = tuple(block.packed_spec(records) for block in layout)
    return (_SEED, _SEED) if party == 0 else (_SEED, *words)


def deal(
    layout: Layout, blocks: Sequence[Words], seeds: tuple[bytes, bytes]
) -> tuple[tuple[Words, ...], ...]:
    """The messages to P_0, P_1 and P_2 that share these blocks.

    Args: blocks: as the layout's blocks take them, all of the same number of records. seeds: two fresh keys of 16
        bytes; the same seeds and blocks give the same bytes again.
    Raises: InternalError: other blocks than the layout has.
    """
    if len(blocks) != len(layout):
        raise InternalError("the records room gave other blocks than the layout of the job has")
    records = blocks[0].shape[-1]
    if records == 0:
        return ((), (), ())
    streams = [Stream(seed) for seed in seeds]
    last = []
    for block, values in zip(layout, blocks, strict=True):
        words, spec = block.pack(values), block.packed_spec(records)
        if Spec.of(words) != spec:
            raise InternalError(
                "the records room gave a block of another shape than the layout of the job has"
            )
        part = words
        for stream in streams:
            part = part ^ stream.words(spec.shape, spec.dtype)
        last.append(part)
    first, second = (np.frombuffer(seed, U8) for seed in seeds)
    return ((first, second), (second, *last), (first, *last))


def held_parts(party: int, message: Sequence[Words]) -> tuple[Sequence[Words], Sequence[Words]]:
    """The words that stand for a party's own and next part in its message; the other holder of a part got the same."""
    first, rest = message[:1], message[1:]
    return (rest, first) if party == PARTIES - 1 else (first, rest)


def shares_of(layout: Layout, records: int, party: int, message: Sequence[Words]) -> tuple[BinaryShare, ...]:
    """This party's shares of one hospital's blocks. Args: message: as `message_specs` says."""
    if records == 0:
        return tuple(_empty(block) for block in layout)
    # Of parts 0, 1, 2: P_0 draws 0 and 1; P_1 draws 1 and was sent 2; P_2 was sent 2 and draws 0.
    seeds = message[:SEEDS] if party == 0 else message[:1]
    streams = [Stream(seed.tobytes()) for seed in seeds]
    shares = []
    for place, block in enumerate(layout):
        spec = block.packed_spec(records)
        drawn = [block.unpack(stream.words(spec.shape, spec.dtype), records) for stream in streams]
        if party == 0:
            shares.append(BinaryShare(drawn[0], drawn[1]))
            continue
        sent = block.unpack(message[1 + place], records)
        shares.append(BinaryShare(drawn[0], sent) if party == 1 else BinaryShare(sent, drawn[0]))
    return tuple(shares)


def join(parts: Sequence[tuple[BinaryShare, ...]]) -> tuple[BinaryShare, ...]:
    """The blocks of all hospitals, one after the other along the records, in the order given."""
    return tuple(
        BinaryShare(
            np.concatenate([share.own for share in of_block], axis=-1),
            np.concatenate([share.next for share in of_block], axis=-1),
        )
        for of_block in zip(*parts, strict=True)
    )


def _empty(block: Block) -> BinaryShare:
    spec = block.packed_spec(0)
    nothing = block.unpack(np.empty(spec.shape, spec.dtype), 0)
    return BinaryShare(nothing, nothing)


def party_index(compute_parties: Sequence[str], agent: str) -> int | None:
    """Which compute party an agent is; None: it only contributes."""
    places = {name: place for place, name in enumerate(compute_parties[:PARTIES])}
    return places.get(agent)
