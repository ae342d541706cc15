"""The whole table F_s against single entries, vector T1 and decimal logarithms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InternalError
from shared.tree.criteria import F_TABLE_CHECKED, f_entry, f_table_sha256
from shared.tree.f_table import f_table, f_table_hash
from tests.support.exact_tree import f_by_decimals


@pytest.mark.parametrize("s", [16, 32])
def test_the_checked_part_has_the_hash_of_vector_t1(s: int) -> None:
    assert f_table_hash(f_table(F_TABLE_CHECKED, s)) == f_table_sha256(s)


def test_the_first_entries_are_those_of_the_protocol() -> None:
    assert f_table(8, 32).tolist() == [
        *(0, 0, 8589934592, 20422086318, 34359738368, 49863026156, 66613976412, 84402483050, 103079215104)
    ]


@given(st.integers(0, 300), st.integers(0, 32))
def test_small_tables_agree_entry_by_entry(n: int, s: int) -> None:
    table = f_table(n, s)
    assert table.tolist() == [f_entry(x, s) for x in range(n + 1)]
    assert not table.flags.writeable


@given(st.integers(0, 10**5))
def test_a_large_table_agrees_with_other_ways_of_computing(x: int) -> None:
    for s in (13, 32):
        entry = int(f_table(10**5, s)[x])
        assert entry == f_entry(x, s) == f_by_decimals(x, s)


def test_the_table_does_not_depend_on_its_length() -> None:
    assert np.array_equal(f_table(10**5, 32)[:2001], f_table(2000, 32))


@pytest.mark.parametrize(("n", "s"), [(-1, 32), (2**24 + 1, 32), (10, -1), (10, 33)])
def test_other_bounds_are_refused(n: int, s: int) -> None:
    with pytest.raises(InternalError, match="at most"):
        f_table(n, s)
