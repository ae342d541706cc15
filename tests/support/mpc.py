"""Sub-protocols under test: share inputs, run three parties in this process, open the results, count the cost.

run = run_and_open(less_than, arithmetic(x), arithmetic(y))
assert np.array_equal(run.value, x < y)
assert_cost(run, rounds=8, bytes_per_element=36, elements=len(x))
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike, DTypeLike

from shared.mpc.local import LocalRun, Tap, run_local
from shared.mpc.program import Party, Program
from shared.mpc.ring import U8, U32, U64, Words, bits_of
from shared.mpc.sharing import PARTIES, BinaryShare, Share, split, split_binary
from shared.rng import RandomBytes

ArithmeticInput = tuple[Share, Share, Share]
BinaryInput = tuple[BinaryShare, BinaryShare, BinaryShare]


def seeded_random_bytes(seed: int = 0) -> RandomBytes:
    """Reproducible bytes in place of `shared.rng.random_bytes`; every call gives other ones."""
    calls = count()
    return lambda length: hashlib.shake_128(f"{seed}/{next(calls)}".encode()).digest(length)


def as_words(values: ArrayLike, dtype: DTypeLike) -> Words:
    """Integers of any sign as words of the ring: taken modulo 2^bits."""
    array = np.asarray(values)
    if array.dtype == object or array.size == 0:
        modulus = 2 ** bits_of(dtype)
        flat = [int(value) % modulus for value in array.reshape(-1)]
        return np.array(flat, dtype).reshape(array.shape)
    return array.astype(dtype)


def arithmetic(values: ArrayLike, dtype: DTypeLike = U32, seed: int = 1) -> ArithmeticInput:
    """Three shares of an array, one a party. Args: dtype: the ring, unless the values are ring words already."""
    array = np.asarray(values)
    return split(array if array.dtype in (U32, U64) else as_words(array, dtype), seeded_random_bytes(seed))


def binary(values: ArrayLike, dtype: DTypeLike = U8, seed: int = 2) -> BinaryInput:
    """Three XOR shares of an array of words, one a party. Args: dtype: as above."""
    array = np.asarray(values)
    words = array if array.dtype.kind == "u" else as_words(array, dtype)
    return split_binary(words, seeded_random_bytes(seed))


def opened(results: Sequence[Any]) -> Any:
    """The plaintext of the three parties' results: shares, or tuples and lists of them (others must be equal).

    Checks that both holders of each part hold the same one.
    """
    first = results[0]
    if isinstance(first, (tuple, list)):
        return type(first)(opened(parts) for parts in zip(*results, strict=True))
    if not isinstance(first, (Share, BinaryShare)):
        for other in results[1:]:
            np.testing.assert_array_equal(other, first)
        return first
    for index in range(PARTIES):
        np.testing.assert_array_equal(results[index].next, results[(index + 1) % PARTIES].own)
    parts = [result.own for result in results]
    if isinstance(first, Share):
        return parts[0] + parts[1] + parts[2]
    return parts[0] ^ parts[1] ^ parts[2]


@dataclass(frozen=True)
class OpenedRun:
    """A run and the plaintext of its result."""

    value: Any
    run: LocalRun[Any]

    @property
    def rounds(self) -> int:
        return self.run.rounds

    @property
    def total_bytes(self) -> int:
        return self.run.total_bytes


def run_and_open(
    program: Callable[..., Program[Any]], *inputs: Any, seed: int = 0, tap: Tap | None = None, **options: Any
) -> OpenedRun:
    """Run `program(party, *inputs, **options)` at three parties and open what it returns.

    Args: inputs: a tuple of three shares (as `arithmetic` and `binary` make them) is dealt to the three parties, a
        list of such tuples as the list of each party's; anything else is public and goes to all.
    """

    def program_of(party: Party) -> Program[Any]:
        return program(party, *(_dealt(given, party.index) for given in inputs), **options)

    run = run_local(program_of, seeded_random_bytes(seed), tap)
    return OpenedRun(opened(run.results), run)


def _dealt(given: Any, index: int) -> Any:
    if isinstance(given, list):
        return [_dealt(one, index) for one in given]
    if isinstance(given, tuple) and len(given) == PARTIES and isinstance(given[0], (Share, BinaryShare)):
        return given[index]
    return given


def assert_cost(
    run: OpenedRun | LocalRun[Any],
    *,
    rounds: int,
    elements: int = 1,
    bytes_per_element: float | None = None,
    words_per_element: float | None = None,
    dtype: DTypeLike = U32,
    fixed_bytes: int = 0,
) -> None:
    """Hold a docstring's Rounds and Sends to what was counted, all three parties together.

    Args: elements: how many the run handled. words_per_element: of this dtype, in place of bytes.
        fixed_bytes: what a call sends besides, whatever the number of elements.
    """
    if words_per_element is not None:
        bytes_per_element = words_per_element * np.dtype(dtype).itemsize
    assert run.rounds == rounds, f"{run.rounds} rounds, the docstring says {rounds}"
    if bytes_per_element is not None:
        expected = bytes_per_element * elements + fixed_bytes
        assert run.total_bytes == expected, f"{run.total_bytes} bytes, the docstring says {expected}"


def edge_values(dtype: DTypeLike) -> list[int]:
    """The numbers at which a ring's arithmetic turns: ends, middle and their neighbours."""
    bits = bits_of(dtype)
    middle, top = 2 ** (bits - 1), 2**bits
    return sorted({0, 1, 2, middle - 1, middle, middle + 1, top - 2, top - 1})


def ring_elements(dtype: DTypeLike) -> st.SearchStrategy[int]:
    """Any element of the ring, edges often."""
    return st.sampled_from(edge_values(dtype)) | st.integers(0, 2 ** bits_of(dtype) - 1)


def ring_arrays(dtype: DTypeLike, min_size: int = 0, max_size: int = 130) -> st.SearchStrategy[Words]:
    """Vectors of ring elements; the sizes reach over two packed words of 64 bits."""
    lists = st.lists(ring_elements(dtype), min_size=min_size, max_size=max_size)
    return lists.map(lambda values: np.array(values, dtype))
