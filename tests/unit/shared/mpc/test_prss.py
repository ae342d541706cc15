"""Correlated randomness: neighbours draw alike, zero shares cancel, nothing depends on how a stream is cut."""

from __future__ import annotations

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


@given(lengths=st.lists(st.integers(0, 40000), max_size=5))
def test_a_stream_is_aes_counter_mode_however_it_is_cut(lengths: list[int]) -> None:
    key = bytes(range(KEY_BYTES))
    stream = Stream(key)
    drawn = b"".join(stream.words(length, U8).tobytes() for length in lengths)
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    assert drawn == encryptor.update(bytes(sum(lengths)))


def test_every_draw_is_fresh() -> None:
    stream = Stream(bytes(KEY_BYTES))
    assert not np.array_equal(stream.words(4, U64), stream.words(4, U64))


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Prss.from_keys(bytes(16), bytes(15))


def test_keys_and_streams_have_no_text() -> None:
    assert repr(Prss.from_keys(bytes(16), bytes(16))) == "Prss()"
