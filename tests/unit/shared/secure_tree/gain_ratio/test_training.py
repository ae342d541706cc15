"""Mode G on shares equals the plain tree bit for bit, opens nothing but its result, and sends what is public only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InternalError
from shared.mpc.permutation import OPENED_KIND
from shared.mpc.sharing import split_binary
from shared.secure_tree.gain_ratio.plan import GainRatioPlan, SharedRows, class_words
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, grow_by_gain_ratio
from tests.support.mpc import seeded_random_bytes
from tests.support.numeric_samples import NumericSample, gain_ratio_rules, numeric_samples
from tests.support.secret_gain_ratio import Training, random_sample, train, wide_enough


def assert_equal_trees(sample: NumericSample, training: Training) -> None:
    rules = training.plan.rules
    assert training.layers == grow_by_gain_ratio(sample.keys, sample.labels, sample.label_count, rules)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_equals_the_plain_tree(data: st.DataObject) -> None:
    sample = data.draw(numeric_samples(least_rows=1, most_rows=70))
    rules = data.draw(gain_ratio_rules(len(sample.keys)))
    widths = data.draw(wide_enough(sample.keys))
    assert_equal_trees(sample, train(sample, rules, widths=widths))


@pytest.mark.parametrize(
    ("records", "columns", "labels", "values", "rules"),
    [
        (2000, 5, 2, 2**16, GainRatioRules(height=5, min_node=10, min_child=5)),
        (2000, 3, 4, 12, GainRatioRules(height=6)),
        (1000, 7, 3, 2**32, GainRatioRules(height=4, min_child=20, grid=(0, 10, 2**20, 0, 1, 7, 2**31))),
        (700, 2, 5, 300, GainRatioRules(height=7, min_node=3)),
        (64, 1, 2, 2, GainRatioRules(height=2)),
    ],
)
def test_equals_the_plain_tree_of_many_records(
    records: int, columns: int, labels: int, values: int, rules: GainRatioRules
) -> None:
    sample = random_sample(records, columns, labels, seed=records + columns, values=values)
    training = train(sample, rules)
    assert_equal_trees(sample, training)
    assert len(training.layers) > 1


def test_one_record() -> None:
    sample = NumericSample(np.array([[7]], np.uint32), np.array([2]), 4)
    assert train(sample, GainRatioRules(height=3)).layers == ((GroupLeaf(2),),)


@pytest.mark.parametrize("bound", [39, 40, 41, 2**31, 2**32, 2**32 + 3, 2**46])
def test_bounds_above_all_words(bound: int) -> None:
    sample = random_sample(40, 2, 2, seed=1)
    for rules in (GainRatioRules(height=2, min_node=bound), GainRatioRules(height=2, min_child=bound)):
        assert_equal_trees(sample, train(sample, rules))


@pytest.mark.parametrize("label_count", [1, 2])
def test_one_class_and_constant_columns(label_count: int) -> None:
    keys = np.array([[3] * 9, list(range(9))], np.uint32)
    sample = NumericSample(keys, np.full(9, label_count - 1), label_count)
    assert train(sample, GainRatioRules(height=2)).layers == ((GroupLeaf(label_count - 1),),)
    constant = NumericSample(np.full((2, 5), 6, np.uint32), np.array([1, 0, 1, 0, 0]), 2)
    assert train(constant, GainRatioRules(height=2)).layers == ((GroupLeaf(0),),)


def test_no_record_is_a_leaf_of_class_0() -> None:
    sample = NumericSample(np.zeros((2, 0), np.uint32), np.zeros(0, np.int64), 3)
    assert train(sample, GainRatioRules(height=2)).layers == ((GroupLeaf(0),),)


def test_many_classes_and_columns() -> None:
    sample = random_sample(150, 70, 64, seed=4, values=50)
    assert_equal_trees(sample, train(sample, GainRatioRules(height=2)))


def two_unlike_samples() -> tuple[NumericSample, NumericSample]:
    """Equal public numbers; one splits everywhere, the other is one leaf."""
    first = random_sample(130, 3, 3, seed=8)
    constant = replace(first, keys=np.zeros_like(first.keys), labels=np.zeros_like(first.labels))
    return first, constant


def test_what_is_sent_and_opened_is_the_same_for_all_records() -> None:
    rules = GainRatioRules(height=3, min_node=2, min_child=2, grid=(0, 5, 0))
    runs = [train(sample, rules, widths=(16, 16, 16)) for sample in two_unlike_samples()]
    assert [len(training.layers) for training in runs] == [4, 1]
    assert runs[0].run.sent_bytes == runs[1].run.sent_bytes
    for training in runs:
        for meter in training.run.meters:
            assert set(meter.opened) == {OPENED_KIND}
            # A column: the sort's steps and the way back; a layer: the order by class, and a split but for the last.
            per_column = 8 + 1 + rules.height + rules.height - 1
            assert meter.opened[OPENED_KIND] == 130 * 3 * per_column


def test_phases_and_layers_are_named() -> None:
    training = train(random_sample(40, 2, 2, seed=1), GainRatioRules(height=2))
    meter = training.run.meters[0]
    assert meter.layer == 2
    assert set(meter.by_phase) == {
        "sort",
        "tables",
        "numerators",
        "attribute maximum",
        "group maximum",
        "split",
        "link",
        "labels",
    }


def test_rounds_do_not_grow_with_columns_and_classes_of_equal_depth() -> None:
    rules = GainRatioRules(height=2)
    few = train(random_sample(50, 5, 3, seed=1), rules, widths=(16,) * 5).run
    many = train(random_sample(50, 8, 4, seed=1), rules, widths=(16,) * 8).run
    assert few.rounds == many.rounds


def test_refuses_shares_of_another_shape_or_ring() -> None:
    plan = GainRatioPlan(4, (3,), 2, GainRatioRules(height=1))
    deal = seeded_random_bytes()
    classes = split_binary(class_words([0, 1, 1, 0], 2), deal)[0]
    wide = split_binary(np.zeros(4, np.uint32), deal)[0]
    short = split_binary(np.zeros(3, np.uint16), deal)[0]
    good = split_binary(np.zeros(4, np.uint16), deal)[0]
    for rows in (
        SharedRows((wide,), classes),
        SharedRows((short,), classes),
        SharedRows((good, good), classes),
        SharedRows((good,), short),
    ):
        with pytest.raises(InternalError, match="expected"):
            rows.checked(plan)
