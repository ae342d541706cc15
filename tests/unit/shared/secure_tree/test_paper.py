from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.crypto.key_holder import KeyHolder
from shared.crypto.paillier import encode_ciphertext
from shared.errors import ErrorCode, InternalError, JobCode, JobFailure, PeerError
from shared.secure_tree.packing import MAX_COUNT, MAX_SUM
from shared.secure_tree.paper import build_matrix, open_matrix, sum_matrices
from tests.support.toy_keys import fixed_key

HOLDER = KeyHolder(fixed_key(512))
PUBLIC = HOLDER.public
counts = st.integers(min_value=0, max_value=MAX_COUNT)


@given(
    st.lists(st.lists(counts, min_size=6, max_size=6), min_size=3, max_size=4),
    st.lists(st.binary(min_size=32, max_size=32), min_size=4, max_size=4),
)
@settings(max_examples=20, deadline=None)
def test_nonces_come_off_and_cells_add_up(rows: list[list[int]], nonces: list[bytes]) -> None:
    matrices = [build_matrix(HOLDER, row, nonce) for row, nonce in zip(rows, nonces, strict=False)]
    sums = sum_matrices(PUBLIC, matrices, nonces[: len(rows)])
    assert open_matrix(HOLDER, sums) == [sum(column) for column in zip(*rows, strict=True)]


def test_a_hidden_cell_is_the_cell_plus_the_nonce() -> None:
    hidden = build_matrix(HOLDER, [5, 0], (1000).to_bytes(32, "big"))
    assert HOLDER.decrypt(hidden) == [1005, 1000]


@pytest.mark.parametrize("count", [1, 9, 10, 11, 35])
def test_any_number_of_cells_opens(count: int) -> None:
    cells = [MAX_SUM - cell for cell in range(count)]
    assert open_matrix(HOLDER, HOLDER.encrypt(cells)) == cells


@pytest.mark.parametrize("bad", [-1, MAX_SUM + 1, 2**47, 2**48, -(2**48), PUBLIC.n // 2, fixed_key(512).p])
@pytest.mark.parametrize("place", [0, 4, 11])
def test_a_cell_out_of_range_is_found_wherever_it_stands(bad: int, place: int) -> None:
    cells = [3] * 12
    cells[place] = bad
    with pytest.raises(JobFailure) as caught:
        open_matrix(HOLDER, HOLDER.encrypt(cells))
    assert caught.value.code is JobCode.RANGE_VIOLATION


def test_cells_whose_packed_sum_looks_right_are_found() -> None:
    """2^48 in one slot and -1 in the next cancel when packed; each cell is checked on its own."""
    with pytest.raises(JobFailure):
        open_matrix(HOLDER, HOLDER.encrypt([2**48 + 5, 2]))


def test_a_ciphertext_that_no_encryption_gives_is_out_of_range() -> None:
    good = HOLDER.encrypt([1, 2])
    for bad in (bytes(128), encode_ciphertext(PUBLIC, PUBLIC.n), b""):
        with pytest.raises(JobFailure):
            open_matrix(HOLDER, [*good, bad])


def test_matrices_of_different_sizes_are_rejected() -> None:
    nonce = bytes(32)
    matrices = [build_matrix(HOLDER, [1, 2], nonce), build_matrix(HOLDER, [1], nonce)]
    with pytest.raises(PeerError) as caught:
        sum_matrices(PUBLIC, matrices, [nonce, nonce])
    assert caught.value.code is ErrorCode.CONTRIBUTION_REJECTED


@pytest.mark.parametrize("bad", [-1, MAX_COUNT + 1])
def test_counts_out_of_range_never_reach_the_encryption(bad: int) -> None:
    with pytest.raises(InternalError):
        build_matrix(HOLDER, [bad], bytes(32))
