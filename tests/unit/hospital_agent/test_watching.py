"""The population stability index of drift: by hand, by chance, and under a shift; and what becomes of questions."""

from __future__ import annotations

import json
import math
import random
from decimal import Decimal
from pathlib import Path

import pytest

from hospital_agent.models.gauges import Gauge
from hospital_agent.models.questions import Questions
from hospital_agent.models.watching import FIRST_WINDOW, TOLD_EVERY, Watch
from hospital_agent.models.windows import KEPT_WEEKS, begin_of, week_of
from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Split, Tree
from shared.tree.numbers import FixedPoint
from shared.tree.schema import Attribute, Schema

WEEK = 7 * 86_400
MONDAY = begin_of(week_of(1_796_000_000))
SCHEMA = Schema.create(
    [
        Attribute("sex", ("f", "m"), treat_as="equality"),
        Attribute("bmi", (), fixed_point=FixedPoint.create("bmi", "10", "80", 1)),
        Attribute("height", (), fixed_point=FixedPoint.create("height", "50", "250", 0)),
    ],
    "ill",
    ["no", "yes"],
)
TREE = Tree(
    Split(1, (Leaf(0), Split(1, (Leaf(1), Leaf(0)), test=AtMost(Decimal(30)))), test=AtMost(Decimal("17.5")))
)


def gauge(counts: list[int], baseline: list[float]) -> Gauge:
    return Gauge("a", tuple("xyz"[: len(counts)]), counts, baseline, "training")


def test_the_index_is_that_of_the_books() -> None:
    index, chance = gauge([80, 120], [100, 100]).index
    p, q = [80.5 / 201, 120.5 / 201], [0.5, 0.5]
    expected = sum((a - b) * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert index == pytest.approx(expected)
    assert chance == pytest.approx(1 / 200 + 1 / 200)


def test_chance_alone_is_no_news_and_a_shift_is() -> None:
    draw, shares = random.Random(7), [0.5, 0.2, 0.15, 0.1, 0.05]
    words = []
    for _ in range(300):
        drawn = [0] * 5
        for value in draw.choices(range(5), shares, k=100):
            drawn[value] += 1
        words.append(Gauge("a", tuple("abcde"), drawn, [1000 * share for share in shares]).state)
    assert words.count("stable") >= 285
    assert "shifted" not in words
    assert gauge([10, 90], [90, 10]).state == "shifted"
    assert gauge([5, 5], [90, 10]).state == "too few records"


def test_numbers_are_counted_between_the_thresholds_of_the_tree() -> None:
    watch = Watch.of(SCHEMA, TREE, 0, {}, with_counts=False)
    assert [entry.name for entry in watch.attributes] == ["sex", "bmi"]
    for value in ("17.5", Decimal("17.6"), 30, 31, 900, "", None, "garbage", float("nan"), True):
        watch.count({"sex": "f", "bmi": value}, 0)
    bmi = watch.attributes[1].gauge
    assert dict(zip(bmi.cells, bmi.counts, strict=True)) == {
        "<= 17.5": 1,
        "> 17.5 to 30": 2,
        "> 30": 2,
        "(empty)": 2,
        "(another value)": 3,
    }


def test_the_first_records_become_the_yardstick_where_there_is_none() -> None:
    watch = Watch.of(SCHEMA, TREE, 0, {"sex": [30, 70]}, with_counts=False)
    for number in range(FIRST_WINDOW):
        watch.count({"sex": "fm"[number % 2], "bmi": 20}, number % 2)
    assert watch.attributes[0].gauge.source == "histogram"
    assert watch.attributes[0].gauge.counts[:2] == [250, 250]
    assert (watch.classes.baseline, watch.classes.counts) == ([250.0, 250.0], [0, 0])
    for _ in range(200):
        watch.count({"sex": "f", "bmi": 40}, 1)
    watch.advance(MONDAY)
    assert [g.state for g in watch.gauges] == ["shifted", "shifted", "shifted"]
    again = Watch.of(SCHEMA, TREE, 0, {"sex": [30, 70]}, with_counts=False)
    again.restore(watch.kept())
    assert again.told() == watch.told()
    assert again.told()["classes"]["records"] == 200


def test_own_records_that_became_the_yardstick_have_small_cells_too() -> None:
    watch = Watch.of(SCHEMA, TREE, 0, {}, with_counts=False)
    for number in range(FIRST_WINDOW):
        watch.count({"sex": "m" if number else "f", "bmi": 20 if number % 2 else 40}, number % 2)
    for _ in range(TOLD_EVERY):
        watch.count({"sex": "m", "bmi": 20}, 0)
    watch.advance(MONDAY)
    sex, bmi = watch.told()["attributes"]
    assert [cell["share_at_baseline"] for cell in sex["cells"]] == [None, 0.998, None, None]
    assert [cell["share_at_baseline"] for cell in bmi["cells"]][1:3] == [0.5, 0.5]


def counted(watch: Watch, records: int, moment: int, *, sex: str = "f") -> None:
    """So many requests of one record each, at one moment."""
    for _ in range(records):
        watch.count({"sex": sex, "bmi": 20}, 0)
        watch.advance(moment)


def test_neither_looks_nor_a_new_start_choose_the_step_that_is_told() -> None:
    watch = Watch.of(SCHEMA, TREE, 0, {}, with_counts=True)
    counted(watch, 19, MONDAY)
    assert {cell["records"] for cell in watch.told()["classes"]["cells"]} == {None}
    counted(watch, 14, MONDAY)
    told = watch.told()
    assert told["records"] == 20
    again = Watch.of(SCHEMA, TREE, 0, {}, with_counts=True)
    again.restore(json.loads(json.dumps(watch.kept())))
    assert again.told() == told
    counted(again, 6, MONDAY)
    assert again.told() == told
    counted(again, 1, MONDAY)
    assert again.told()["records"] == 40


def test_weeks_are_told_apart_from_steps_that_were_told() -> None:
    watch = Watch.of(SCHEMA, TREE, 5, {"sex": [50, 50]}, with_counts=False)
    counted(watch, 110, MONDAY - 3, sex="f")
    counted(watch, 9, MONDAY, sex="m")
    counted(watch, 3, MONDAY + WEEK, sex="m")
    counted(watch, 120, MONDAY + 2 * WEEK, sex="m")
    told = watch.told()
    weeks = [(week["since"], week["until"], week["records"]) for week in told["over_time"]]
    assert weeks == [
        (5, MONDAY, 100),
        (MONDAY, MONDAY + 2 * WEEK, 20),
        (MONDAY + 2 * WEEK, MONDAY + 2 * WEEK, 120),
    ]
    assert told["records"] == 240
    assert [week["state"] for week in told["over_time"]][:2] == ["shifted", "too few records"]
    since = watch.told(MONDAY + 2 * WEEK + 9)
    assert (since["since"], since["records"]) == (MONDAY + 2 * WEEK, 120)
    assert since["over_time"] == told["over_time"]
    assert watch.told(3)["records"] == 240


def test_half_a_year_of_weeks_is_kept_and_a_clock_that_goes_back_makes_none() -> None:
    watch = Watch.of(SCHEMA, TREE, 0, {}, with_counts=False)
    for week in range(60):
        counted(watch, 20, MONDAY + week * WEEK)
    assert [mark.moment for mark in watch.weeks] == [
        MONDAY + week * WEEK for week in range(60 - KEPT_WEEKS, 60)
    ]
    before = len(watch.weeks)
    counted(watch, 20, MONDAY)
    assert len(watch.weeks) == before


def test_the_index_tells_no_more_than_the_cells() -> None:
    few, none = gauge([90, 3, 0], [90, 5, 5]), gauge([90, 1, 2], [90, 5, 5])
    assert [cell["records"] for cell in few.document()["cells"]] == [90, None, None]
    assert few.document()["psi"] == none.document()["psi"]
    assert gauge([100, 0], [50, 50]).document()["psi"] is None
    assert gauge([100, 0], [50, 50]).document()["state"] == "shifted"


def test_a_question_whose_job_was_never_learned_is_given_up_and_old_answers_go(tmp_path: Path) -> None:
    now = 1000.0
    questions = Questions(tmp_path, lambda: now)
    asked = questions.new("s", "ab" * 16, "ward", ["sex"], [["f"]])
    assert questions.give_up(asked).state == "starting"
    now += 31
    given_up = questions.give_up(asked)
    assert (given_up.state, given_up.rows) == ("failed", ())
    now += 3601
    questions.new("s", "ab" * 16, "ward", ["sex"], [["f"]])
    assert questions.get(asked.id) is None
    assert questions.get("../" + "0" * 29) is None


def test_the_index_tells_no_small_cell_of_own_records_that_are_the_yardstick() -> None:
    def told(*baseline: float) -> float:
        own = Gauge("a", tuple("wxyz"), [30, 30, 30, 40], list(baseline), "first window")
        return float(own.document()["psi"])

    assert told(490, 6, 1, 3) == told(490, 6, 3, 1) == told(490, 6, 4, 0)
    assert told(490, 6, 1, 3) != told(480, 16, 1, 3)
