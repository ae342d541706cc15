from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InternalError
from shared.secure_tree.packing import (
    MAX_SUM,
    SLOT_BITS,
    data_plaintext_count,
    pack,
    plaintext_count,
    roster_plaintext_count,
    slots_per_plaintext,
    unpack,
)
from tests.support.toy_keys import fixed_key

N = fixed_key(512).public.n
WIDTH = slots_per_plaintext(512)
EDGES = (-(2**47), -(2**47) + 1, -1, 0, 1, MAX_SUM, 2**47 - 1)
digits = st.one_of(st.sampled_from(EDGES), st.integers(min_value=-(2**47), max_value=2**47 - 1))


@pytest.mark.parametrize(("bits", "slots"), [(256, 5), (2048, 42), (3072, 63), (4096, 85)])
def test_slots_per_plaintext(bits: int, slots: int) -> None:
    assert slots_per_plaintext(bits) == slots


@given(st.integers(min_value=1, max_value=2**20), st.integers(min_value=3, max_value=1024))
def test_counts_are_rounded_up(slots: int, members: int) -> None:
    assert data_plaintext_count(slots, 2048) == (slots + 41) // 42
    assert roster_plaintext_count(members, 2048) == (members + 41) // 42
    assert plaintext_count(slots, members, 2048) == (slots + 41) // 42 + (members + 41) // 42


@given(st.lists(digits, max_size=3 * WIDTH))
def test_packing_and_unpacking_mod_n_keep_the_values(values: list[int]) -> None:
    packed = pack(values, WIDTH)
    assert len(packed) == data_plaintext_count(len(values), 512)
    back = [
        unpack(plaintext % N, min(WIDTH, len(values) - i * WIDTH), N) for i, plaintext in enumerate(packed)
    ]
    assert [value for part in back for value in part or []] == values


@given(st.lists(digits, min_size=1, max_size=WIDTH))
def test_a_packed_value_is_the_published_sum(values: list[int]) -> None:
    assert pack(values, WIDTH) == [sum(v * 2 ** (SLOT_BITS * t) for t, v in enumerate(values))]


@given(st.lists(st.lists(st.integers(min_value=0, max_value=2**36), min_size=4, max_size=4), max_size=8))
def test_sums_of_packed_values_unpack_to_summed_cells(rows: list[list[int]]) -> None:
    total = sum(pack(row, WIDTH)[0] for row in rows)
    assert unpack(total % N, 4, N) == [sum(column) for column in zip(*rows, strict=True)] or [0] * 4


@given(st.integers(min_value=1, max_value=WIDTH), st.integers(min_value=0, max_value=N - 1))
def test_leftovers_are_found_and_nothing_else(slots: int, plaintext: int) -> None:
    centred = plaintext - N if plaintext > N // 2 else plaintext
    digits_found = unpack(plaintext, slots, N)
    if digits_found is None:
        halves = sum(2**47 * 2 ** (SLOT_BITS * t) for t in range(slots))
        assert not -halves <= centred < 2 ** (SLOT_BITS * slots) - halves
    else:
        assert sum(v * 2 ** (SLOT_BITS * t) for t, v in enumerate(digits_found)) == centred


@pytest.mark.parametrize("value", [2**47, -(2**47) - 1, 2**60])
def test_values_beyond_their_slot_are_a_bug(value: int) -> None:
    with pytest.raises(InternalError, match="slot"):
        pack([0, value], WIDTH)
