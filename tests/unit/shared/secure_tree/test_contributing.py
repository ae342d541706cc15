"""Records as shares: what is sent has the announced form, and the three parties' shares are the records."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InternalError
from shared.mpc.program import Spec
from shared.mpc.ring import U8, U16, U32, bits_of
from shared.mpc.sharing import PARTIES
from shared.secure_tree.contributing import (
    BitBlock,
    Layout,
    WordBlock,
    deal,
    join,
    message_specs,
    party_index,
    shares_of,
)

LAYOUT: Layout = (BitBlock(3), WordBlock(U8), WordBlock(U16), WordBlock(U32), BitBlock(1))


def seeds(number: int) -> tuple[bytes, bytes]:
    digest = hashlib.sha256(str(number).encode()).digest()
    return digest[:16], digest[16:]


def blocks(records: int, number: int) -> list[np.ndarray]:
    generator = np.random.default_rng(number)
    made = []
    for block in LAYOUT:
        if isinstance(block, BitBlock):
            made.append(generator.integers(0, 2, (block.rows, records), dtype=np.uint8))
        else:
            made.append(generator.integers(0, 2 ** bits_of(block.dtype), records, dtype=block.dtype))
    return made


def opened(shares: list[tuple]) -> list[np.ndarray]:
    values = []
    for three in zip(*shares, strict=True):
        for index in range(PARTIES):
            assert np.array_equal(three[index].next, three[(index + 1) % PARTIES].own)
        values.append(three[0].own ^ three[1].own ^ three[2].own)
    return values


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_the_joined_shares_are_the_records_of_all_hospitals(sizes: list[int]) -> None:
    inputs = [blocks(records, number) for number, records in enumerate(sizes)]
    messages = [deal(LAYOUT, own, seeds(number)) for number, own in enumerate(inputs)]
    shares = []
    for party in range(PARTIES):
        for records, dealt in zip(sizes, messages, strict=True):
            assert tuple(map(Spec.of, dealt[party])) == message_specs(LAYOUT, records, party)
        parts = [shares_of(LAYOUT, n, party, dealt[party]) for n, dealt in zip(sizes, messages, strict=True)]
        shares.append(join(parts))
    for place, values in enumerate(opened(shares)):
        assert np.array_equal(values, np.concatenate([own[place] for own in inputs], axis=-1))


def test_the_same_seeds_give_the_same_bytes_and_part_2_hides_the_records() -> None:
    zeros = [np.zeros_like(block) for block in blocks(1000, 1)]
    first, again = deal(LAYOUT, zeros, seeds(1)), deal(LAYOUT, zeros, seeds(1))
    for one, other in zip(first, again, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))
    sent = np.unpackbits(np.concatenate([words.view(np.uint8).reshape(-1) for words in first[1][1:]]))
    assert abs(float(sent.mean()) - 0.5) < 0.02
    assert [words.nbytes for words in first[0]] == [16, 16]


def test_other_blocks_than_the_layout_has_are_a_bug_of_ours() -> None:
    with pytest.raises(InternalError, match="other blocks"):
        deal(LAYOUT, blocks(5, 1)[1:], seeds(1))
    with pytest.raises(InternalError, match="another shape"):
        deal((BitBlock(2),), blocks(5, 1)[:1], seeds(1))


def test_who_computes() -> None:
    assert [party_index(["b", "a", "c"], name) for name in ("a", "b", "c", "d")] == [1, 0, 2, None]
