"""Numbers 0 and 1 as bits, and bits as masks of words, whatever words their parts are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U16, U32, U64
from shared.mpc.selection import low_bits, negated, word_masks
from tests.support.mpc import arithmetic, binary, run_and_open

BITS = st.lists(st.integers(0, 1), max_size=70)


def locally(function: Any, *others: Any) -> Any:
    """A function of shares as a program without rounds."""

    def program(party: Party, x: Any) -> Program[Any]:
        yield from ()
        return function(party, x, *others)

    return program


@given(BITS)
def test_low_bits(bits: list[int]) -> None:
    for dtype in (U32, U64):
        run = run_and_open(locally(lambda _, x: low_bits(x)), arithmetic(bits, dtype))
        assert run.value.dtype == U8
        assert run.value.tolist() == bits


@given(BITS)
def test_negated(bits: list[int]) -> None:
    run = run_and_open(locally(negated), binary(bits))
    assert run.value.tolist() == [1 - bit for bit in bits]


@pytest.mark.parametrize("dtype", [U8, U16, U32, U64])
def test_word_masks(dtype: Any) -> None:
    run = run_and_open(locally(lambda _, x: word_masks(x, dtype)), binary([0, 1, 1, 0]))
    assert run.value.tolist() == [0, np.iinfo(dtype).max, np.iinfo(dtype).max, 0]
