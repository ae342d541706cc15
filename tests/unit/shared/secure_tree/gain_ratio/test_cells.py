"""Steps of cells against F itself, in both ways."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.arithmetic import reshare
from shared.mpc.program import Party, Program
from shared.mpc.ring import U32, signed
from shared.mpc.rotation import rotated_tables
from shared.mpc.sharing import Share
from shared.secure_tree.gain_ratio.cells import StepTables, steps_by_size, turned_steps
from shared.secure_tree.gain_ratio.tables import step_tables
from shared.tree.f_table import f_table
from tests.support.mpc import arithmetic, run_and_open

SCALE = 12
cell_sizes = st.lists(st.integers(0, 9), min_size=2, max_size=40).filter(any)


def expected_steps(sizes: list[int]) -> list[int]:
    f = f_table(sum(sizes), SCALE).astype(np.int64)
    sums = [np.array([f[r] + f[size - r] - f[size] for r in range(size + 1)]) for size in sizes]
    return [step for cell in sums for step in np.diff(cell).tolist()]


def turned(party: Party, tables: StepTables, sizes: Share, flags: Share) -> Program[Share]:
    distances = yield from rotated_tables(party, tables.distance, sizes.cumsum()[:-1], tables.records)
    return (yield from reshare(party, turned_steps(party, tables, distances, flags)))


@settings(deadline=None, max_examples=40)
@given(cell_sizes)
def test_both_ways_give_the_steps(sizes: list[int]) -> None:
    records = sum(sizes)
    tables = step_tables(records, SCALE)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    flags = (owner == np.arange(len(sizes))[:, None]).astype(U32)
    shared = arithmetic(np.array(sizes, U32))
    assert signed(run_and_open(turned, tables, shared, arithmetic(flags)).value).tolist() == expected_steps(
        sizes
    )
    assert signed(run_and_open(steps_by_size, tables, shared).value).tolist() == expected_steps(sizes)


def test_cost_by_size_does_not_depend_on_the_sizes() -> None:
    tables = step_tables(1000, SCALE)
    sizes = [np.zeros(64, np.uint32), np.full(64, 1000 // 64, np.uint32)]
    for one in sizes:
        one[7] += 1000 - one.sum()
    first, second = (run_and_open(steps_by_size, tables, arithmetic(one)) for one in sizes)
    assert first.run.sent_bytes == second.run.sent_bytes
    assert first.rounds == 6 + 3 + 6 * 3
    assert first.total_bytes < 1000 * 7 * 90
