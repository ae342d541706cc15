"""Mode G with a least gain and a share that ends growth: the plain tree, in what is sent and opened without them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import InputError
from shared.mpc.permutation import OPENED_KIND
from shared.secure_tree.gain_ratio.plan import GainRatioPlan
from shared.tree.gain_ratio_growing import GainRatioRules, GroupLeaf, grow_by_gain_ratio
from shared.tree.gain_ratio_layer import table_scale
from shared.tree.growth_rules import GrowthRules
from shared.tree.pruning import Pruning
from shared.wire.secret import MAX_RECORDS
from tests.support.numeric_samples import NumericSample, bounded_rules, numeric_samples
from tests.support.secret_gain_ratio import random_sample, train
from tests.unit.shared.secure_tree.gain_ratio import test_view as views
from tests.unit.shared.secure_tree.gain_ratio.test_training import assert_equal_trees, two_unlike_samples

BOUNDS: dict[str, Any] = {"min_gain": Fraction(1, 50), "stop_share": Fraction(9, 10)}


def check_drawn(data: st.DataObject) -> None:
    sample = data.draw(numeric_samples(least_rows=1, most_rows=70))
    assert_equal_trees(sample, train(sample, data.draw(bounded_rules(len(sample.keys)))))


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_equals_the_plain_tree(data: st.DataObject) -> None:
    check_drawn(data)


@pytest.mark.long
@settings(deadline=None, max_examples=200)
@given(st.data())
def test_equals_the_plain_tree_many_times(data: st.DataObject) -> None:
    check_drawn(data)


@pytest.mark.parametrize("bounds", [BOUNDS, {"min_gain": Fraction(3, 20)}, {"stop_share": Fraction(7, 10)}])
def test_each_bound_makes_another_tree_of_many_records(bounds: dict[str, Any]) -> None:
    sample = random_sample(1200, 3, 3, seed=6)
    rules = GainRatioRules(height=4, min_node=10, min_child=5)
    training = train(sample, replace(rules, **bounds))
    assert_equal_trees(sample, training)
    assert len(training.layers) > 1
    free = grow_by_gain_ratio(sample.keys, sample.labels, sample.label_count, rules)
    assert sum(map(len, training.layers)) < sum(map(len, free))


def test_a_gain_that_is_just_reached_splits_and_one_above_it_does_not() -> None:
    """One bit exactly: a column that tells two classes apart, as many records of each."""
    sample = NumericSample(np.array([[0, 0, 1, 1]], np.uint32), np.array([0, 0, 1, 1]), 2)
    for least, splits in ((Fraction(1), True), (1 + Fraction(1, 10**9), False), (Fraction(999), False)):
        training = train(sample, GainRatioRules(height=1, min_gain=least))
        assert_equal_trees(sample, training)
        assert (training.layers[0] != (GroupLeaf(0),)) == splits


def test_what_is_sent_and_opened_is_the_same_for_all_records() -> None:
    rules = GainRatioRules(height=3, min_node=2, min_child=2, **BOUNDS)
    bounded = [train(sample, rules, widths=(16, 16, 16)) for sample in two_unlike_samples()]
    assert bounded[0].run.sent_bytes == bounded[1].run.sent_bytes
    free = train(two_unlike_samples()[0], replace(rules, min_gain=Fraction(0), stop_share=None))
    for ours, theirs in zip(bounded[0].run.meters, free.run.meters, strict=True):
        assert set(ours.opened) == {OPENED_KIND}
        assert ours.opened == theirs.opened


@pytest.mark.long
def test_a_view_does_not_tell_two_inputs_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two-sample test of `test_view`, with both bounds."""
    monkeypatch.setattr(views, "RULES", replace(views.RULES, **BOUNDS))
    assert views.RULES.stop_share is not None
    pairs = zip(views.views(views.SPLITTING, 0), views.views(views.FLAT, 10**6), strict=True)
    assert all(abs(views.distance(one, other)) < 5 for one, other in pairs)


def test_a_least_gain_costs_no_round_and_a_share_one_or_two_a_layer() -> None:
    sample, rules = random_sample(130, 3, 3, seed=8), GainRatioRules(height=3, min_node=2)
    free = train(sample, rules).run
    gained, stopped = (train(sample, replace(rules, **{name: bound})).run for name, bound in BOUNDS.items())
    assert gained.rounds == free.rounds
    assert free.rounds < stopped.rounds <= free.rounds + 2 * rules.height
    sent = [sum(map(sum, run.sent_bytes)) for run in (free, gained, stopped)]
    assert sent[1] < 1.01 * sent[0]
    assert sent[2] < 1.03 * sent[0]


def test_the_widest_numbers_fit_their_words() -> None:
    """A gain times 10^9, and 2 bits of all records times 10^9, differ by less than 2^63."""
    for classes in (2, 3, 64):
        for records in (2**11, 2**20, MAX_RECORDS):
            plan = GainRatioPlan(
                records,
                (8,),
                classes,
                GainRatioRules(height=1, min_gain=2 - Fraction(1, 10**9), stop_share=1 - Fraction(1, 10**9)),
            )
            least, most_gain = plan.least_gain, (records << table_scale(records, classes)) + 3 * classes
            needed = least.numerator * records << plan.scale
            assert (
                max(needed - plan.lowest_numerator * least.denominator, least.denominator * most_gain)
                < 1 << 63
            )
            assert 10**9 * records < 1 << 63


def test_more_digits_than_a_manifest_can_say_are_refused() -> None:
    for rules in (
        GainRatioRules(height=1, min_gain=Fraction(1, 10**10)),
        GainRatioRules(height=1, stop_share=Fraction(1, 10**10)),
    ):
        with pytest.raises(InputError, match="at most 9 digits behind the point"):
            GainRatioPlan(10, (8,), 2, rules)


def test_rules_of_a_job_and_what_mode_g_has_not() -> None:
    rules = GrowthRules(
        max_depth=3, min_gain=Fraction(1, 4), pruning=Pruning("majority", share=Fraction(4, 5))
    )
    assert GainRatioRules.of(rules) == GainRatioRules(3, 10, 5, (), Fraction(1, 4), Fraction(4, 5))
    with pytest.raises(InputError, match="needs a height"):
        GainRatioRules.of(replace(rules, max_depth=None))
    with pytest.raises(InputError, match="no class weights"):
        GainRatioRules.of(replace(rules, class_weights=(1, 2)))
