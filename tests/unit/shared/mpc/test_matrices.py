"""Products of secret matrices by doubles, and residues lifted to a larger ring, against plain integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc import matrices
from shared.mpc.matrices import MOST_BITS, SecretMatrix, lifted
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, U64, Words
from shared.mpc.sharing import Share
from tests.support.mpc import arithmetic, assert_cost, run_and_open


def product(party: Party, x: Share, y: Share, bits: int, rows: Words) -> Program[Share]:
    return (yield from SecretMatrix.of([y[:1], y[1:]], bits).multiplied(party, x, rows))


@given(
    st.integers(1, MOST_BITS), st.integers(1, 4), st.integers(1, 5), st.integers(0, 40), st.integers(0, 2**32)
)
def test_products_are_right_modulo_two_to_the_bits(bits: int, u: int, r: int, n: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.integers(0, 2**bits, (u, n), np.uint32)
    y = random.integers(0, 2**bits, (r, n), np.uint32)
    rows = random.integers(0, r, 3)
    run = run_and_open(product, arithmetic(x), arithmetic(y), bits, rows)
    expected = x.astype(object) @ y[rows].T.astype(object) % 2**bits
    assert (run.value.astype(object) % 2**bits == expected).all()
    assert_cost(run, rounds=1, elements=u * len(rows), words_per_element=3)


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
def test_the_parties_take_turns_over_the_blocks(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_BLOCK_COLUMNS", 7)
    x = np.arange(21 * blocks, dtype=np.uint32).reshape(3, -1) % 2
    run = run_and_open(product, arithmetic(x), arithmetic(x), 8, np.arange(3))
    assert (run.value % 256 == x @ x.T % 256).all()


def test_extreme_residues_stay_exact() -> None:
    """All residues at the negative end: the sums come as near to 2^53 as they can."""
    for bits in (8, 18, 22, MOST_BITS):
        n = min(2**13, 2 ** max(0, 54 - 2 * bits)) + 1
        x = np.full((1, n), 2 ** (bits - 1), U32)
        shares = tuple(
            Share(x, x) for _ in range(3)
        )  # parts that are all extreme, for a value that does not matter
        run = run_and_open(product, shares, shares, bits, np.arange(1))
        value = 3 * 2 ** (bits - 1)
        assert int(run.value[0, 0]) % 2**bits == n * value * value % 2**bits


def test_row_sums_are_local() -> None:
    y = np.arange(30, dtype=np.uint32).reshape(3, 10)

    def sums(party: Party, shared: Share) -> Program[Share]:
        return SecretMatrix.of([shared], 10).row_sums()
        yield

    run = run_and_open(sums, arithmetic(y))
    assert (run.value % 1024 == y.sum(axis=1)).all()
    assert run.rounds == 0


def test_more_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 26 bits"):
        SecretMatrix.of([Share(np.zeros((1, 1), U32), np.zeros((1, 1), U32))], MOST_BITS + 1)


@given(st.integers(2, 31), st.data())
def test_lifting_keeps_the_number(bits: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 2 ** (bits - 1) - 1), min_size=1, max_size=70))
    for ring in (U64, U32):
        words = np.array(values, U32)
        noise = (np.arange(len(words), dtype=np.uint64) << np.uint64(bits)).astype(U32)  # above the low bits
        run = run_and_open(lifted, arithmetic(words + noise), bits, ring)
        assert run.value.dtype == ring
        assert run.value.tolist() == values
        assert_cost(run, rounds=2, elements=len(values), words_per_element=4, dtype=ring)


@given(st.integers(0, 9), st.integers(0, 50), st.sampled_from([U32, U64]), st.integers(0, 2**32))
def test_products_of_rows(count: int, n: int, ring: np.dtype, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, y = (random.integers(0, 2**32, (5, n), np.uint64).astype(ring) for _ in range(2))
    x_rows, y_rows = (random.integers(0, 5, count) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matrices, "_BLOCK_WORDS", 20)
        run = run_and_open(
            lambda party, a, b: matrices.products_of_rows(party, a, x_rows, b, y_rows),
            arithmetic(x),
            arithmetic(y),
        )
    assert (run.value == x[x_rows] * y[y_rows]).all()
    assert_cost(run, rounds=1, elements=count * n, words_per_element=3, dtype=ring)
