"""Mode G's plain oracle against exact fractions, and its rule for the width of the table."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError, InternalError
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, GroupTest, grow_by_gain_ratio
from shared.tree.gain_ratio_layer import table_scale
from tests.support.exact_gain_ratio import GainRatioSetting, exact_gain_ratio_tree
from tests.support.numeric_samples import gain_ratio_rules, nested, numeric_samples


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_equals_the_exact_tree(data: st.DataObject) -> None:
    sample = data.draw(numeric_samples())
    rules = data.draw(gain_ratio_rules(len(sample.keys)))
    scale = data.draw(st.sampled_from([None, 0, 10, 20]))
    layers = grow_by_gain_ratio(sample.keys, sample.labels, sample.label_count, rules, scale=scale)
    chosen = table_scale(len(sample.labels), sample.label_count) if scale is None else scale
    setting = GainRatioSetting(
        sample.label_count, chosen, rules.height, rules.min_node, rules.min_child, rules.grid
    )
    expected = exact_gain_ratio_tree(sample.rows, setting)
    assert nested(layers) == expected


@pytest.mark.parametrize(
    ("records", "labels", "scale"),
    [(0, 1, 20), (1, 1, 20), (1000, 4, 20), (10**4, 4, 17), (10**5, 4, 13), (10**6, 4, 10), (10**5, 2, 14)],
)
def test_scale_by_the_protocols_examples(records: int, labels: int, scale: int) -> None:
    assert table_scale(records, labels) == scale


@given(st.integers(0, 2**30), st.integers(1, 64))
def test_scale_is_the_greatest_that_fits(records: int, labels: int) -> None:
    try:
        found = table_scale(records, labels)
    except InputError:
        found = -1

    def fits(s: int) -> bool:
        with localcontext() as context:
            context.prec = 60
            log = max(Decimal(1), Decimal(labels).ln() / Decimal(2).ln())
            gain = records * log * 2**s + Decimal(3 * labels + 3) / 2
            return gain * (records * 2**s + Decimal("1.5")) < 2**62

    assert found == -1 or fits(found)
    assert found == 20 or not fits(found + 1)


def test_scale_refuses_what_fits_no_table() -> None:
    with pytest.raises(InputError, match="sample"):
        table_scale(2**31, 2)
    with pytest.raises(InternalError):
        table_scale(-1, 2)


def test_no_records() -> None:
    empty = np.zeros((2, 0), dtype=np.uint32)
    assert grow_by_gain_ratio(empty, np.zeros(0, np.int64), 3, GainRatioRules(4)) == ((GroupLeaf(0),),)


def test_one_record() -> None:
    keys = np.array([[7]], dtype=np.uint32)
    assert grow_by_gain_ratio(keys, np.array([2]), 3, GainRatioRules(4)) == ((GroupLeaf(2),),)


def test_ties_go_to_the_smaller_left_side_then_to_the_lower_column() -> None:
    # Both columns part the classes; the second one's left side is smaller.
    keys = np.array([[0, 0, 1], [1, 1, 0]], dtype=np.uint32)
    labels = np.array([0, 0, 1])
    assert grow_by_gain_ratio(keys, labels, 2, GainRatioRules(1))[0] == (GroupTest(1, 0),)
    same = np.array([[1, 1, 0], [1, 1, 0]], dtype=np.uint32)
    assert grow_by_gain_ratio(same, labels, 2, GainRatioRules(1))[0] == (GroupTest(0, 0),)


def test_keys_up_to_32_bits() -> None:
    keys = np.array([[2**32 - 1, 2**32 - 2, 0]], dtype=np.uint32)
    layers = grow_by_gain_ratio(keys, np.array([1, 0, 0]), 2, GainRatioRules(3, grid=(2**31,)))
    assert layers[0] == (GroupTest(0, 2**32 - 2),)


def test_grid_moves_a_threshold_up_to_its_greatest_point_in_the_gap() -> None:
    keys = np.array([[3, 3, 41, 41]], dtype=np.uint32)
    labels = np.array([0, 0, 1, 1])
    thresholds = [
        grow_by_gain_ratio(keys, labels, 2, GainRatioRules(1, grid=(step,)))[0][0]
        for step in (0, 1, 10, 41, 50)
    ]
    assert thresholds == [GroupTest(0, t) for t in (3, 40, 40, 3, 3)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"height": 0},
        {"height": 1, "min_node": 0},
        {"height": 1, "min_child": 0},
        {"height": 1, "grid": (-1,)},
    ],
)
def test_rules_that_no_manifest_says(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match="expected"):
        GainRatioRules(**wrong)


@pytest.mark.parametrize(
    ("keys", "labels", "grid"),
    [
        (np.zeros(3, np.uint32), np.zeros(3, int), ()),
        (np.zeros((1, 3), np.uint32), np.zeros(2, int), ()),
        (np.zeros((1, 3), np.uint32), np.full(3, 2), ()),
        (np.zeros((1, 3), np.uint32), np.zeros(3, int), (1, 2)),
    ],
)
def test_inputs_that_do_not_fit(keys: np.ndarray, labels: np.ndarray, grid: tuple[int, ...]) -> None:
    with pytest.raises(InternalError, match="expected"):
        grow_by_gain_ratio(keys, labels, 2, GainRatioRules(2, grid=grid))
