"""Correlated randomness: neighbours draw alike, zero shares cancel, nothing depends on how a stream is cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.local import local_parties
from shared.mpc.prss import KEY_BYTES, Prss, Stream
from shared.mpc.ring import U8, U16, U32, U64
from tests.support.mpc import seeded_random_bytes


def test_neighbours_draw_from_one_stream() -> None:
    parties = local_parties(seeded_random_bytes())
    for party in parties:
        neighbour = parties[(party.index + 1) % 3]
        np.testing.assert_array_equal(party.prss.next.words(50, U64), neighbour.prss.previous.words(50, U64))


@pytest.mark.parametrize("dtype", [U32, U64])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (70000,)])
def test_the_three_parts_of_zero_cancel(dtype: Any, shape: tuple[int, ...]) -> None:
    parts = [party.prss.zero(shape, dtype) for party in local_parties(seeded_random_bytes())]
    assert {part.shape for part in parts} == {shape}
    assert not np.any(parts[0] + parts[1] + parts[2])


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64])
def test_the_three_xor_parts_of_zero_cancel(dtype: Any) -> None:
    parts = [party.prss.zero_xor((2, 33), dtype) for party in local_parties(seeded_random_bytes())]
    assert not np.any(parts[0] ^ parts[1] ^ parts[2])
    assert np.any(parts[0])


SHAPES = st.tuples(st.integers(0, 4), st.integers(0, 30) | st.sampled_from([500, 70000]))


@given(shapes=st.lists(st.tuples(SHAPES, st.sampled_from([U8, U16, U32, U64])), max_size=8))
def test_draws_are_aes_counter_mode_and_no_byte_serves_twice(shapes: list[Any]) -> None:
    """Short draws come from a piece drawn ahead, long ones directly; both from one stream, at whole words."""
    key = bytes(range(KEY_BYTES))
    stream, twin = Stream(key), Stream(key)
    draws = [stream.words(shape, dtype) for shape, dtype in shapes]
    for (shape, dtype), drawn in zip(shapes, draws, strict=True):
        assert (drawn.shape, drawn.dtype) == (shape, dtype)
        assert drawn.flags.writeable
        assert drawn.flags.aligned
        np.testing.assert_array_equal(drawn, twin.words(shape, dtype))
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    whole = encryptor.update(bytes(sum(drawn.nbytes for drawn in draws) + 2**16))
    taken: list[tuple[int, int]] = []
    for drawn in draws:
        if drawn.nbytes >= 16:
            start = whole.find(drawn.tobytes())
            assert start >= 0
            taken.append((start, start + drawn.nbytes))
    taken.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))


def test_every_draw_is_fresh() -> None:
    stream = Stream(bytes(KEY_BYTES))
    assert not np.array_equal(stream.words(4, U64), stream.words(4, U64))


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Prss.from_keys(bytes(16), bytes(15))


def test_keys_and_streams_have_no_text() -> None:
    assert repr(Prss.from_keys(bytes(16), bytes(16))) == "Prss()"
