"""Intervals and measures on tables whose answers are known without a library, and what all measures have in common."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings

from shared.errors import InputError
from shared.evaluation.binomial import beta_quantile, binomial_tail
from shared.evaluation.calibration import bins_of, recalibration
from shared.evaluation.combining import may_be_shown, over_parts, pooled
from shared.evaluation.comparing import Paired, baseline, compare
from shared.evaluation.confusion import Confusion, accuracy, f1, kappa, matthews, sensitivity
from shared.evaluation.deciding import cheapest, decide, net_benefit, threshold_of
from shared.evaluation.judging import judge
from shared.evaluation.measures import Confidence, clopper_pearson_interval, mean_of_shares, share
from shared.evaluation.probabilities import brier, brier_skill, log_loss
from shared.evaluation.ranking import auc, roc
from tests.support.judged import matrix_table, table_of, tables

TWO = Confusion.of(matrix_table(((40, 10), (5, 45))))


def test_a_matrix_of_two_classes_by_hand() -> None:
    assert accuracy(TWO).value == 0.85
    assert sensitivity(TWO, 0).value == 0.8
    assert f1(TWO, 0).value == pytest.approx(80 / 95)
    assert kappa(TWO).value == pytest.approx(0.7)
    assert matthews(TWO).value == pytest.approx((40 * 45 - 50) / math.sqrt(45 * 55 * 50 * 50))


def test_binomial_tails_are_sums_of_their_terms() -> None:
    for least, total, chance in ((0, 5, 0.3), (3, 5, 0.3), (5, 5, 0.3), (60, 100, 0.5), (7, 9, 0.999)):
        exact = sum(
            math.comb(total, k) * Fraction(chance) ** k * (1 - Fraction(chance)) ** (total - k)
            for k in range(least, total + 1)
        )
        assert binomial_tail(least, total, chance) == pytest.approx(float(exact), rel=1e-11)
    assert binomial_tail(6, 5, 0.3) == 0
    assert beta_quantile(0.5, 1, 1) == pytest.approx(0.5, abs=1e-12)


def test_exact_intervals_of_nothing_and_of_all() -> None:
    low, high = clopper_pearson_interval(0, 10, 0.95)
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 10))
    assert clopper_pearson_interval(10, 10, 0.95) == pytest.approx((0.025 ** (1 / 10), 1.0))
    assert clopper_pearson_interval(500_000, 1_000_000, 0.95)[0] == pytest.approx(0.49902, abs=1e-5)
    with pytest.raises(InputError, match="between 0 and 1"):
        Confidence(95)


def test_nothing_over_nothing_is_none_with_a_reason() -> None:
    judged = judge(matrix_table(((0, 0), (0, 0))))
    for name, measure in judged.overall.items():
        assert measure.value is None, name
        assert measure.reason, name
    one = Confusion.of(matrix_table(((7, 0), (0, 0))))
    assert kappa(one).reason
    assert matthews(one).value is None
    assert sensitivity(one, 1).reason == "no judged record has this class"
    assert accuracy(one).value == 1
    assert f1(one, 1).value is None


def test_a_perfect_table_has_no_spread_to_make_an_interval_of() -> None:
    perfect = Confusion.of(matrix_table(((9, 0), (0, 9))))
    assert kappa(perfect).value == 1
    assert kappa(perfect).low is None
    assert "no spread" in kappa(perfect).reason
    low = accuracy(perfect).low
    assert low is not None
    assert low < 1


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
@settings(max_examples=12, deadline=None)
@given(table=tables())
def test_intervals_hold_their_values_and_stay_in_bounds(table, method) -> None:  # type: ignore[no-untyped-def]
    judged = judge(table, confidence=Confidence(0.9, method))
    wider = judge(table, confidence=Confidence(0.99, method))
    groups = [(judged.overall, wider.overall)]
    groups += [(a.measures, b.measures) for a, b in zip(judged.classes, wider.classes, strict=True)]
    for narrow, wide in groups:
        for name, measure in narrow.items():
            assert measure.value is not None or measure.reason
            if measure.low is None or measure.high is None or measure.value is None:
                assert measure.reason, name
                continue
            assert measure.low <= measure.value + 1e-9, name
            assert measure.value - 1e-9 <= measure.high, name
            least, most = _BOUNDS.get(name, (0, 1))
            assert least <= measure.low, name
            assert measure.high <= most, name
            low, high = wide[name].low, wide[name].high
            assert low is not None
            assert high is not None
            assert low <= measure.low + 1e-9, name
            assert measure.high - 1e-9 <= high, name


_BOUNDS = {
    "kappa": (-1, 1),
    "mcc": (-1, 1),
    "brier": (0, 2),
    "log_loss": (0, math.inf),
    "calibration_intercept": (-math.inf, math.inf),
    "calibration_slope": (-math.inf, math.inf),
}


@settings(max_examples=15, deadline=None)
@given(tables())
def test_measures_do_not_depend_on_the_order_of_places(table) -> None:  # type: ignore[no-untyped-def]
    turned = replace(table, places=table.places[::-1], counts=table.counts[::-1])
    one, other = judge(table), judge(turned)
    for name, measure in one.overall.items():
        assert measure.value == pytest.approx(other.overall[name].value, abs=1e-12), name
    for mine, theirs in zip(one.classes, other.classes, strict=True):
        for name, measure in mine.measures.items():
            assert measure.value == pytest.approx(theirs.measures[name].value, abs=1e-9), name


def test_ties_count_half_and_equal_scores_of_different_leaves_are_ties() -> None:
    # 1/3 and 2/6 are one score; 9007199254740993/2^54 would be another as a float.
    table = table_of(((2, 1), (4, 2), (0, 5)), ((3, 1), (2, 2), (1, 4)))
    pairs = 4 * (3 + 2) + 4 * 0.5 + (1 + 2) * 0.5 * (3 + 2)
    assert auc(table, 1).value == pytest.approx(pairs / (7 * 6))
    assert len(roc(table, 1)) == 3


def test_brier_and_log_loss_by_hand() -> None:
    table = table_of(((3, 1), (0, 4)), ((2, 1), (0, 3)))
    assert brier(table).value == pytest.approx((2 * (1 / 16 + 1 / 16) + (9 / 16 + 9 / 16)) / 6)
    assert brier_skill(table).value == pytest.approx(1 - (11 / 8) / 6 / (1 - (2**2 + 4**2) / 6**2))
    assert log_loss(table).value == pytest.approx(-(2 * math.log(3 / 4) + math.log(1 / 4)) / 6)
    beyond = log_loss(table_of(((3, 1), (0, 4)), ((2, 1), (1, 3))))
    assert beyond.value is None
    assert "smooth" in beyond.reason


def test_a_score_on_a_bound_is_in_the_bin_above() -> None:
    found = bins_of(table_of(((7, 3), (0, 5), (9, 1)), ((4, 2), (1, 5), (8, 1))), 1)
    assert [(round(b.low, 1), b.records) for b in found if b.records] == [(0.1, 9), (0.3, 6), (0.9, 6)]
    assert found[3].expected == 0.3
    assert found[3].observed.value == pytest.approx(2 / 6)
    assert found[0].observed.value is None


def test_scores_that_part_the_classes_have_no_slope() -> None:
    table = table_of(((9, 1), (1, 9)), ((5, 0), (0, 5)))
    intercept, slope = recalibration(table, 1)
    assert (intercept.value, slope.value) == (None, None)
    assert "without an overlap" in slope.reason


def test_thresholds_from_costs() -> None:
    table = table_of(((8, 2), (5, 5), (1, 9)), ((20, 3), (10, 8), (2, 18)))
    assert threshold_of(1, 4) == Fraction(1, 5)
    low = decide(table, 1, threshold_of(1, 4))
    assert (low.tp, low.fn, low.fp, low.tn) == (29, 0, 32, 0)
    middle = decide(table, 1, Fraction(1, 2))
    assert (middle.tp, middle.fn, middle.fp, middle.tn) == (26, 3, 12, 20)
    assert cheapest(table, 1, 1, 1).threshold == Fraction(9, 10)
    assert cheapest(table, 1, 1, 20).threshold == Fraction(1, 5)
    assert cheapest(table, 1, 20, 1).threshold > 1, "a false alarm costs more than all misses"
    curve = net_benefit(table, 1, [Fraction(1, 2)])
    assert curve[0].by_tree == Fraction(26 - 12, 61)
    assert curve[0].by_all == Fraction(29 - 32, 61)
    with pytest.raises(InputError, match="two costs"):
        threshold_of(0, 1)


def test_two_trees_on_the_same_records() -> None:
    truth = [0, 0, 1, 1, 1, 0]
    found = compare([0, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 1], truth)
    assert (found.both, found.first_only, found.second_only, found.neither) == (2, 2, 1, 1)
    assert found.p_value == 1.0
    assert Paired(50, 9, 1, 5).p_value == pytest.approx(2 * (10 + 1) / 2**10)
    assert Paired(5, 0, 0, 1).p_value is None
    assert found.difference().value == pytest.approx(1 / 6)
    assert Paired(0, 0, 0, 0).difference().value is None
    with pytest.raises(InputError, match="two answers"):
        compare([0], [0, 1], [0, 1])


def test_always_answering_one_class_is_the_baseline() -> None:
    base = baseline(TWO, 0)
    assert base.best.value == 0.5
    assert base.expected is not None
    assert base.expected.value == 0.5
    assert base.p_value == pytest.approx(sum(math.comb(100, k) for k in range(85, 101)) / 2**100)


def test_folds_are_pooled_and_told_with_their_spread() -> None:
    folds = [
        TWO,
        Confusion.of(matrix_table(((50, 0), (0, 50)))),
        Confusion.of(matrix_table(((0, 0), (0, 0)))),
    ]
    found = over_parts(folds)
    assert pooled(folds).records == 200
    assert found["accuracy"].pooled.value == 0.925
    assert found["accuracy"].mean == pytest.approx(0.925)
    assert found["accuracy"].deviation == pytest.approx(math.sqrt(2 * 0.075**2))
    assert found["accuracy"].defined == 2
    with pytest.raises(InputError, match="same classes"):
        pooled([])


def test_a_spread_over_folds_tells_no_small_cell_of_one_under_a_floor() -> None:
    """Of six records of a class in a fold each one missed moves its kappa, and with it least, most and deviation."""
    even = Confusion.of(matrix_table(((95, 0), (2, 4))))
    told = []
    for missed in range(2, 5):
        folds = [even, Confusion.of(matrix_table(((95, 0), (missed, 6 - missed))))]
        told.append({name: spread.to_json(5) for name, spread in over_parts(folds).items()})
    for name in ("accuracy", "balanced_accuracy", "f1_macro", "kappa", "mcc"):
        for figure in ("mean", "standard_deviation", "least", "most", "parts_with_a_value"):
            assert len({entry[name][figure] for entry in told}) == 1, (name, figure)
    assert told[0]["kappa"]["pooled"]["value"] is None, "four of twelve, by the smallest class"
    large = over_parts([Confusion.of(matrix_table(((80, 20), (n, 100 - n)))) for n in (10, 20)])
    assert large["kappa"].to_json(5)["least"] == 0.6
    assert large["kappa"].to_json(5)["parts_with_a_value"] == 2


def test_hospitals_are_shown_where_the_rest_of_the_pooled_result_tells_of_three_or_nobody() -> None:
    everybody = ("h1", "h2", "h3", "h4", "h5")
    assert [may_be_shown(everybody[:count], everybody) for count in range(6)] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]


def test_the_interval_of_a_mean_joins_the_distances_of_its_shares() -> None:
    first, second = share(8, 10), share(30, 40)
    found = mean_of_shares([first, second])
    assert found.value == pytest.approx(0.775)
    assert (first.low, second.low) == (pytest.approx(0.490, abs=1e-3), pytest.approx(0.598, abs=1e-3))
    assert found.low == pytest.approx((1.55 - math.hypot(0.8 - 0.4902, 0.75 - 0.5981)) / 2, abs=1e-4)
    assert found.high == pytest.approx((1.55 + math.hypot(0.9433 - 0.8, 0.8581 - 0.75)) / 2, abs=1e-4)


def test_a_mean_of_perfect_shares_still_has_a_width() -> None:
    found = mean_of_shares([share(9, 9), share(30, 30)])
    assert found.value == 1
    assert found.low is not None
    assert 0 < found.low < 1
    assert found.high == 1
