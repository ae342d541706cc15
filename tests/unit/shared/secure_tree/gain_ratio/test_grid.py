"""Thresholds on grids against the plain rule, up to the greatest codes and steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.mpc.ring import U8, U32
from shared.secure_tree.gain_ratio.grid import on_grid
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.tree.gain_ratio_growing import GainRatioRules
from tests.support.mpc import binary, run_and_open

steps = st.sampled_from([0, 1, 2, 3, 7, 10, 1000, 2**16, 2**31 - 1, 2**31, 2**32 - 1]) | st.integers(
    0, 2**32 - 1
)
codes = st.sampled_from([0, 1, 2**31, 2**32 - 2, 2**32 - 1]) | st.integers(0, 2**32 - 1) | st.integers(0, 40)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(steps, min_size=2, max_size=3), st.lists(st.tuples(codes, codes, st.integers(0, 2)), min_size=1)
)
def test_rounds_up_to_the_grid(grid: list[int], tests: list[tuple[int, int, int]]) -> None:
    plan = GainRatioPlan(5, (32,) * len(grid), 2, GainRatioRules(height=1, grid=tuple(grid)))
    columns = [column % len(grid) for _, _, column in tests]
    pairs = [(min(x, y), max(x, y)) if x != y else (x, None) for x, y, _ in tests]
    leaves = [following is None for _, following in pairs]
    thresholds = [0 if leaf else code for (code, _), leaf in zip(pairs, leaves, strict=True)]
    following = [bound or 0 for _, bound in pairs]
    chosen = np.array(
        [
            [int(column == own and not leaf) for own, leaf in zip(columns, leaves, strict=True)]
            for column in range(len(grid))
        ],
        U8,
    )
    run = run_and_open(
        lambda party, *given: on_grid(party, plan, *given),
        binary(thresholds, U32),
        binary(following, U32),
        binary(chosen),
    )
    expected = [
        0 if leaf else max(code, (bound - 1) // grid[column] * grid[column] if grid[column] else 0)
        for code, bound, column, leaf in zip(thresholds, following, columns, leaves, strict=True)
    ]
    assert run.value.tolist() == expected
    assert run.rounds == 29
