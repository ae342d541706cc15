"""Every primitive of the engine as a program on the same inputs, and one program that times them all.

The cost of a primitive does not depend on values, so that one set of inputs serves all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from shared.mpc.arithmetic import conjunction, multiply, sum_of_products
from shared.mpc.bits import pack_bits
from shared.mpc.comparison import equal, equal_words, less_than, less_than_words
from shared.mpc.conversion import binary_to_arithmetic, bits_to_arithmetic, to_binary, widen
from shared.mpc.fractions import wide_fraction_choosing
from shared.mpc.group_maximum import greater_fraction, group_maximum
from shared.mpc.grouping import form_groups, group_sums, running_sums, spread
from shared.mpc.lookup import LookupTable, sums_by_unit_vectors
from shared.mpc.matrices import SecretMatrix
from shared.mpc.maximum import maximum_with_index
from shared.mpc.opening import open_share
from shared.mpc.permutation import lay_route, move_to, send_along, shuffle
from shared.mpc.program import Party, Program, pass_to_previous
from shared.mpc.ring import U32, U64
from shared.mpc.rotation import rotated_tables
from shared.mpc.selection import low_bits
from shared.mpc.sharing import BinaryShare, Share
from shared.mpc.sorted_lookup import entries_by_sorting
from shared.mpc.sorting import partition_destination, stable_sort

GROUPS: Final = 16
"""Bound on the groups of the group protocols."""
TABLE_ENTRIES: Final = 2**16
MATRIX_ROWS: Final = 20
WORD_BITS: Final = 16


@dataclass(frozen=True, slots=True)
class Inputs:
    """Shares of n elements each: x, y of Z_2^64, both small; order, a permutation, flags, 0 or 1 and 1 at the end,
    of Z_2^32; keys, 16-bit words.
    """

    x: Share
    y: Share
    order: Share
    flags: Share
    keys: BinaryShare

    @property
    def size(self) -> int:
        """n."""
        return len(self.x)


@dataclass(frozen=True, slots=True)
class Primitive:
    """What to run, on how many elements; `elements`: by what its cost is divided, where that is not n."""

    name: str
    program: Callable[[Party, Inputs], Program[Any]]
    size: int
    elements: int | None = None


def _narrow(party: Party, i: Inputs) -> tuple[Share, Share]:
    return i.x.to_ring32(), i.y.to_ring32()


def _matrix_product(party: Party, i: Inputs) -> Program[Any]:
    x = i.x.to_ring32().reshape(MATRIX_ROWS, -1)
    matrix = SecretMatrix.of([i.y.to_ring32().reshape(MATRIX_ROWS, -1)], 18)
    return matrix.multiplied(party, x, np.arange(MATRIX_ROWS))


def _fractions(party: Party, i: Inputs) -> Program[Any]:
    differences = Share(np.stack([i.x.own, i.y.own]), np.stack([i.x.next, i.y.next]))
    return wide_fraction_choosing(party, i.x, i.y, i.y, i.x, differences)


def _route_again(party: Party, i: Inputs) -> Program[Any]:
    route, _ = yield from lay_route(party, i.order)
    yield from send_along(party, route, [i.flags])


def _sorted(party: Party, i: Inputs) -> Program[Any]:
    return stable_sort(party, i.keys, WORD_BITS, [i.order])


def _groups(party: Party, i: Inputs) -> Program[Any]:
    groups = yield from form_groups(party, i.flags, GROUPS)
    [sums] = yield from group_sums(party, groups, [i.order])
    yield from spread(party, groups, [sums])


def _running(party: Party, i: Inputs) -> Program[Any]:
    groups = yield from form_groups(party, i.flags, GROUPS)
    yield from running_sums(party, groups, [i.order])


def _group_maximum(party: Party, i: Inputs) -> Program[Any]:
    compared = Share(np.stack([i.x.own, i.y.own]), np.stack([i.x.next, i.y.next]))
    return group_maximum(party, low_bits(i.flags), compared, [i.keys], greater_fraction)


def _looked_up(party: Party, i: Inputs) -> Program[Any]:
    table = LookupTable.of(np.arange(TABLE_ENTRIES, dtype=np.uint64))
    each = np.arange(i.size)
    return sums_by_unit_vectors(party, table, i.x, np.ones(i.size, np.uint64), each)


def _looked_up_by_sorting(party: Party, i: Inputs) -> Program[Any]:
    return entries_by_sorting(party, np.arange(TABLE_ENTRIES, dtype=np.uint64), i.x)


def _greatest(party: Party, i: Inputs) -> Program[Any]:
    return maximum_with_index(party, i.x.reshape(MATRIX_ROWS, -1))


def primitives(large: int, small: int) -> list[Primitive]:
    """All of them. Args: large: elements of the cheap ones. small: of those that move or look up."""
    few = min(small, 10**3)
    return [
        Primitive("messages alone, 64 bit", lambda _, i: pass_to_previous(i.x.own), large),
        Primitive("multiply, 64 bit", lambda p, i: multiply(p, i.x, i.y), large),
        Primitive("multiply, 32 bit", lambda p, i: multiply(p, *_narrow(p, i)), large),
        Primitive(
            "inner product of 10 pairs, 32 bit",
            lambda p, i: sum_of_products(p, [_narrow(p, i)] * 10),
            large,
        ),
        Primitive(f"matrix product of {MATRIX_ROWS} rows each, an entry", _matrix_product, large),
        Primitive(
            "AND of packed bits",
            lambda p, i: conjunction(p, *(pack_bits(low_bits(x)) for x in _narrow(p, i))),
            large,
        ),
        Primitive("open, 64 bit", lambda p, i: open_share(p, i.x), large),
        Primitive("bit to number, 32 bit", lambda p, i: bits_to_arithmetic(p, i.keys, U32), large),
        Primitive(
            "16-bit word to number, 32 bit",
            lambda p, i: binary_to_arithmetic(p, i.keys, WORD_BITS, U32),
            large,
        ),
        Primitive("number to bits, 32 bit", lambda p, i: to_binary(p, i.x.to_ring32(), 32), large),
        Primitive("32 to 64 bit", lambda p, i: widen(p, i.x.to_ring32()), large),
        Primitive("less than, 64 bit", lambda p, i: less_than(p, i.x, i.y), large),
        Primitive("less than, 32 bit", lambda p, i: less_than(p, *_narrow(p, i)), large),
        Primitive("equal, 64 bit", lambda p, i: equal(p, i.x, i.y), large),
        Primitive("equal, 32 bit", lambda p, i: equal(p, *_narrow(p, i)), large),
        Primitive(
            "less than, 16-bit words", lambda p, i: less_than_words(p, i.keys, i.keys, WORD_BITS), large
        ),
        Primitive("equal, 16-bit words", lambda p, i: equal_words(p, i.keys, i.keys, WORD_BITS), large),
        Primitive("compare fractions, choose 2 fields", _fractions, large),
        Primitive(f"greatest of {MATRIX_ROWS}, with index, 64 bit", _greatest, large),
        Primitive("shuffle, 32 bit", lambda p, i: shuffle(p, [i.flags]), small),
        Primitive("move by a secret permutation", lambda p, i: move_to(p, i.order, [i.flags]), small),
        Primitive("lay a route, send a column along it", _route_again, small),
        Primitive("partition place", lambda p, i: partition_destination(p, i.flags), small),
        Primitive("stable sort, 16 bit, with one column", _sorted, small),
        Primitive("form groups, sum, spread", _groups, small),
        Primitive("form groups, running sums", _running, small),
        Primitive("group maximum of fractions, one word", _group_maximum, small),
        Primitive(
            "turn a table, an entry",
            lambda p, i: rotated_tables(
                p, np.zeros(_turned(small), np.uint32), i.flags[:GROUPS], _turned(small)
            ),
            GROUPS,
            GROUPS * _turned(small),
        ),
        Primitive("look up in 2^16 entries by unit vectors", _looked_up, few),
        Primitive("look up in 2^16 entries by sorting", _looked_up_by_sorting, small),
    ]


def _turned(size: int) -> int:
    return 1 << (size.bit_length() - 1)


def time_all(
    party: Party,
    large: int,
    small: int,
    repeats: int,
    x: Share,
    y: Share,
    order: Share,
    flags: Share,
    keys: BinaryShare,
) -> Program[dict[str, tuple[float, float, int]]]:
    """Each primitive some times, after once for warming up; its costs are booked to the phase of its name.

    Args: x, y, keys: at least of the larger size. order: of the smaller size.
    Returns: by name, the median of seconds by the clock and of CPU seconds, and how often it ran.
    """
    spent: dict[str, tuple[float, float, int]] = {}
    for primitive in primitives(large, small):
        n = primitive.size
        inputs = Inputs(x[:n], y[:n], order[:n], flags[-n:], keys[:n])
        taken = []
        for _ in range(repeats + 1):
            begun, cpu = time.perf_counter(), time.process_time()
            with party.meter.phase(primitive.name):
                yield from primitive.program(party, inputs)
            taken.append((time.perf_counter() - begun, time.process_time() - cpu))
        walls, cpus = zip(*taken[1:], strict=True)
        spent[primitive.name] = median(walls), median(cpus), repeats + 1
    return spent


def plain_inputs(large: int, small: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values to deal, as `shares` and `binary` of `bench.parties.run_three`."""
    random = np.random.default_rng(0)
    size = max(large, small)
    flags = np.zeros(small, U32)
    flags[np.linspace(0, small - 1, GROUPS).astype(int)] = 1
    shares = {
        "x": random.integers(1, TABLE_ENTRIES, size).astype(U64),
        "y": random.integers(1, TABLE_ENTRIES, size).astype(U64),
        "order": random.permutation(small).astype(U32),
        "flags": flags,
    }
    return shares, {"keys": random.integers(0, 1 << WORD_BITS, size).astype(np.uint16)}
