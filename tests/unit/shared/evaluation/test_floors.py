"""What a shared report may show: no small count, and no figure from which one follows."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.evaluation.confusion import Confusion, f1
from shared.evaluation.floors import rounded, rounded_table, shown, shown_count, shown_matrix
from shared.evaluation.judging import judge
from shared.evaluation.measures import Confidence, Measure, ShareMethod, share
from shared.texts import text
from tests.support.judged import matrix_table, table_of


def test_counts_are_rounded_and_small_ones_are_not_told() -> None:
    assert [shown_count(count, 5) for count in (0, 4, 5, 7, 8, 12, 13)] == ["< 5", "< 5", 5, 5, 10, 10, 15]
    assert shown_count(3, None) == 3
    matrix = Confusion.of(matrix_table(((40, 2), (8, 51))))
    assert shown_matrix(matrix, 5) == [[40, "< 5"], [10, 50]]
    assert rounded(2, 4) == 4


@settings(max_examples=25, deadline=None)
@example(floor=5, total=8, method="wilson")
@example(floor=5, total=9, method="wilson")
@given(st.integers(2, 20), st.integers(0, 3000), st.sampled_from(["wilson", "clopper-pearson"]))
def test_all_numbers_below_the_floor_give_one_figure(floor: int, total: int, method: ShareMethod) -> None:
    confidence = Confidence(0.95, method)
    for hits in (True, False):
        small = range(min(floor, total + 1))
        made = [share(n if hits else total - n, total, confidence) for n in small]
        figures = {shown(measure, floor, confidence) for measure in made}
        assert len(figures) == 1
        for found in figures:
            assert found.parts == ()
            assert found.again is None


def test_a_measure_of_many_records_is_told_in_hundredths() -> None:
    found = shown(share(900, 1000), 5)
    assert (found.value, found.low, found.high) == (0.9, 0.87, 0.92)
    assert shown(Measure(0.123456, 0.1, 0.2, "delta", records=50, parts=(20, 30)), 5).value == 0.12
    assert shown(Measure(0.123456, 0.101, 0.199, "delta", records=50, parts=(48, 2)), 5).value == 0.1
    few = shown(Measure(0.5, records=20, parts=(18, 2)), 5)
    assert (few.value, few.low) == (None, None)
    assert shown(f1(Confusion.of(matrix_table(((40, 2), (1, 51)))), 0), 5) == shown(
        f1(Confusion.of(matrix_table(((40, 0), (3, 51)))), 0), 5
    )
    assert shown(share(3, 7), None) == share(3, 7)


def test_curves_are_drawn_from_counts_with_stand_ins() -> None:
    table = table_of(((9, 1), (2, 8)), ((21, 2), (3, 14)))
    assert rounded_table(table, 5).counts == ((0, 0), (20, 2), (2, 15))
    assert rounded_table(table, None) is table
    points = judge(table).to_json(5)["classes"][1]["roc"]
    found = [(p["false_positive_rate"], p["true_positive_rate"]) for p in points]
    assert found == [(0, 0), (2 / 22, 15 / 17), (1, 1)]
    bins = judge(table).to_json(5)["classes"][1]["calibration"]
    assert [entry["records"] for entry in bins if entry["records"]] == [20, 15]


def test_no_curve_tells_a_small_cell() -> None:
    """Of the numbers below the floor, also those that would round up, each curve and each decision is the same."""
    drawn = []
    for small in range(5):
        told = judge(matrix_table(((95, small), (small, 40)))).to_json(5)["classes"]
        drawn.append([{k: v for k, v in entry.items() if k != "measures"} for entry in told])
    assert drawn[0][0]["calibration"]
    assert all(entry == drawn[0] for entry in drawn)
    assert judge(matrix_table(((95, 5), (4, 40)))).to_json(5)["classes"][0]["roc"] != drawn[0][0]["roc"]


@pytest.mark.parametrize(
    "matrices",
    [
        # Five records of the rarer class: a few wrong answers among a hundred, each of another probability by chance.
        [((95, 0), (wrong, 5 - wrong)) for wrong in range(5)],
        # A few records of the rarer class, all answered wrong.
        [((100 - few, 0), (few, 0)) for few in range(5)],
        [((14, 0), (wrong, 6 - wrong)) for wrong in range(5)],
    ],
)
def test_what_chance_would_do_tells_no_small_number(matrices: list[tuple[tuple[int, int], ...]]) -> None:
    told = [judge(matrix_table(matrix)).to_json(5)["baseline"]["p_value"] for matrix in matrices]
    assert len(set(told)) == 1
    exact = [judge(matrix_table(matrix)).to_json()["baseline"]["p_value"] for matrix in matrices]
    assert len({round(p, 3) for p in exact}) > 1


def test_no_measure_of_a_small_class_tells_how_many_of_it_were_missed() -> None:
    """Of six records of a class among a hundred each one missed moves these by a sixth, which hundredths would show."""
    missed = [judge(matrix_table(((95, 0), (wrong, 6 - wrong)))).to_json(5) for wrong in range(2, 5)]
    weighed = ("auc", "average_precision", "observed_over_expected", "calibration_slope", "sensitivity")
    for entry in missed:
        told = entry["classes"][1]["measures"]
        assert {name: told[name] for name in weighed} == {
            name: missed[0]["classes"][1]["measures"][name] for name in weighed
        }
        assert told["auc"]["value"] is None
    for name in ("balanced_accuracy", "f1_macro", "kappa", "mcc", "auc_macro", "brier_skill"):
        assert {entry["overall"][name]["value"] for entry in missed} == {None}
    none, one = (
        judge(matrix_table(((95, 0), (n, 6 - n)))).to_json(5)["classes"][1]["measures"] for n in (0, 1)
    )
    assert none["observed_over_expected"] == one["observed_over_expected"]
    assert none["auc"] == one["auc"]


def test_of_few_records_nothing_is_said_of_chance() -> None:
    assert judge(matrix_table(((4, 1), (1, 2)))).to_json(5)["baseline"]["p_value"] is None
    p = judge(matrix_table(((40, 12), (13, 35)))).to_json(5)["baseline"]["p_value"]
    assert p == judge(matrix_table(((41, 11), (12, 36)))).to_json(5)["baseline"]["p_value"]


def test_why_a_figure_is_missing_tells_no_zero() -> None:
    table = table_of(((9, 1), (2, 8)), ((21, 0), (0, 20)))
    found, told = (judge(table).to_json(floor)["classes"][1]["measures"] for floor in (None, 5))
    assert "without an overlap" in found["calibration_slope"]["reason"]
    small = judge(table_of(((9, 1), (2, 8)), ((21, 3), (1, 3)))).to_json(5)["classes"][1]["measures"]
    assert told["calibration_slope"] == small["calibration_slope"]
    for counts in ((21, 0), (20, 0)), ((21, 2), (20, 2)):  # no record of the class, and two
        sensitivity = judge(table_of(((9, 1), (2, 8)), counts)).to_json(5)["classes"][1]["measures"][
            "sensitivity"
        ]
        assert sensitivity == told["calibration_slope"]
    unscored = shown(Measure(None, reason=text("measured.no_scores")), 5)
    assert unscored.reason == text("measured.no_scores")  # of the tree, not of records


def test_the_exact_form_is_exact() -> None:
    plain = judge(table_of(((9, 1), (2, 8)), ((21, 2), (3, 14)))).to_json()
    assert plain["confusion"]["cells"] == [[21, 3], [2, 14]]
    assert plain["overall"]["accuracy"]["value"] == pytest.approx(35 / 40)
    assert plain["floor"] is None


def test_a_recalibration_with_a_small_cell_is_told_coarsely_or_not_at_all() -> None:
    few = judge(table_of(((9, 1), (2, 8)), ((21, 2), (3, 14)))).to_json(5)["classes"][1]["measures"]
    assert few["calibration_slope"]["value"] is None
    assert "too few records" in few["calibration_intercept"]["reason"]
    many = judge(table_of(((9, 1), (2, 8)), ((170, 2), (3, 170))))
    exact, told = (many.to_json(floor)["classes"][1]["measures"]["calibration_slope"] for floor in (None, 5))
    assert told["value"] == round(exact["value"] * 20) / 20 != exact["value"]
    tied = judge(table_of(((5, 5), (5, 5)), ((21, 9), (13, 14))))
    assert tied.classes[0].measures["auc"].records == 57


def test_that_nothing_went_wrong_is_a_small_count_too() -> None:
    """Perfect answers of few records are withheld, of more records told as coarsely as one with two errors."""
    small = judge(table_of(((9, 0), (0, 9)), ((20, 0), (0, 20)))).to_json(5)
    assert small["overall"]["kappa"]["value"] is None
    assert small["overall"]["brier"]["value"] is None
    assert small["classes"][0]["measures"]["auc"]["value"] is None
    assert small["classes"][0]["measures"]["average_precision"]["value"] is None
    perfect = judge(table_of(((90, 0), (0, 90)), ((99, 0), (0, 99)))).to_json(5)
    flawed = judge(table_of(((90, 0), (0, 90)), ((98, 1), (1, 98)))).to_json(5)
    assert perfect["overall"]["kappa"]["value"] == flawed["overall"]["kappa"]["value"] == 1
    assert perfect["overall"]["accuracy"] == flawed["overall"]["accuracy"]
