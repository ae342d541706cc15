"""Hypothesis strategies for numeric records with many ties, and layers of groups as nested dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shared.tree.gain_ratio_growing import GainRatioRules, GroupTest, Layer


@dataclass(frozen=True)
class NumericSample:
    """`keys`: shape (columns, n). `labels`: shape (n,), below `label_count`."""

    keys: NDArray[np.uint32]
    labels: NDArray[np.int64]
    label_count: int

    @property
    def rows(self) -> list[tuple[int, ...]]:
        """Row by row, the class last."""
        return list(zip(*self.keys.tolist(), self.labels.tolist(), strict=True))


@st.composite
def numeric_samples(draw: st.DrawFn, *, most_rows: int = 30, least_rows: int = 0) -> NumericSample:
    """1 to 4 columns of widths 1 to 32 bits, 1 to 5 classes; few distinct values, so that ties are common."""
    label_count = draw(st.integers(1, 5))
    columns = draw(st.integers(1, 4))
    size = draw(st.integers(least_rows, most_rows))
    keys = np.zeros((columns, size), dtype=np.uint32)
    for line in keys:
        greatest = 2 ** draw(st.sampled_from([1, 2, 3, 8, 16, 17, 32])) - 1
        pool = draw(
            st.lists(st.integers(0, greatest), min_size=1, max_size=draw(st.sampled_from([1, 2, 5, 40])))
        )
        line[:] = draw(st.lists(st.sampled_from([*pool, greatest]), min_size=size, max_size=size))
    occurring = draw(st.integers(1, label_count))
    labels = draw(st.lists(st.integers(0, occurring - 1), min_size=size, max_size=size))
    return NumericSample(keys, np.array(labels, dtype=np.int64), label_count)


def gain_ratio_rules(columns: int) -> st.SearchStrategy[GainRatioRules]:
    """All rules, with and without a grid."""
    steps = st.lists(st.sampled_from([0, 1, 3, 10]), min_size=columns, max_size=columns).map(tuple)
    return st.builds(
        GainRatioRules,
        height=st.integers(1, 6),
        min_node=st.integers(1, 6),
        min_child=st.integers(1, 4),
        grid=st.one_of(st.just(()), steps),
    )


@st.composite
def bounded_rules(draw: st.DrawFn, columns: int) -> GainRatioRules:
    """The same with a least gain and a share that ends growth, each or none."""
    gains = [Fraction(0), Fraction(1, 10**9), Fraction(1, 8), Fraction(311, 1000), Fraction(1), Fraction(7)]
    shares = [None, Fraction(1), Fraction(3, 4), Fraction(2, 3), Fraction(1, 2), Fraction(1, 10**9)]
    return replace(
        draw(gain_ratio_rules(columns)),
        min_gain=draw(st.sampled_from(gains)),
        stop_share=draw(st.sampled_from(shares)),
    )


def nested(layers: Sequence[Layer]) -> dict[str, Any]:
    """Layers as `{"leaf": c}` or `{"column": j, "threshold": code, "kids": [left, right]}`."""
    below: list[dict[str, Any]] = []
    for layer in reversed(layers):
        pairs = iter(below)
        below = [
            {"column": node.column, "threshold": node.threshold, "kids": [next(pairs), next(pairs)]}
            if isinstance(node, GroupTest)
            else {"leaf": node.label}
            for node in layer
        ]
    return below[0]
