"""Prediction: the walk, what ends it early, and what each disclosure gives away."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InputError
from shared.tree.model import Leaf, Split, Tree
from shared.tree.prediction import predict, wilson_interval
from shared.tree.schema import Attribute, Schema

SCHEMA = Schema.create(
    [
        Attribute("pain", ("no", "yes")),
        Attribute.numeric("temperature", ["37.5"], missing="not measured"),
        Attribute("grade", ("1", "2.0", "missing")),
        Attribute.numeric("age", [50]),
    ],
    "state",
    ["well", "sick"],
)
TREE = Tree(
    Split(
        0,
        (
            Split(2, (Leaf(0, (8, 0)), Leaf(1, (1, 3)), Leaf(0, (0, 0))), 0, (9, 3)),
            Split(
                1,
                (Leaf(0, (2, 1)), Split(3, (Leaf(1, (0, 5)), Leaf(1, (0, 1))), 1, (0, 6)), Leaf(1, (0, 9))),
                1,
            ),
        ),
        1,
        (11, 19),
    )
)


@pytest.mark.parametrize(
    ("record", "label", "path"),
    [
        ({"pain": "no", "grade": "1"}, "well", "pain = no and grade = 1"),
        ({"pain": "no", "grade": 1}, "well", "pain = no and grade = 1"),
        ({"pain": False, "grade": 1.0}, "well", "pain = no and grade = 1"),
        ({"pain": "no", "grade": 2}, "sick", "pain = no and grade = 2.0"),
        ({"pain": "no", "grade": 2.0}, "sick", "pain = no and grade = 2.0"),
        ({"pain": "no", "grade": None}, "well", "pain = no and grade = missing"),
        ({"pain": "no", "grade": " "}, "well", "pain = no and grade = missing"),
        ({"pain": "no"}, "well", "pain = no and grade = missing"),
        ({"pain": True, "temperature": 37.5}, "well", "pain = yes and temperature <= 37.5"),
        ({"pain": True, "temperature": "37.5"}, "well", "pain = yes and temperature <= 37.5"),
        ({"pain": True}, "sick", "pain = yes and temperature = not measured"),
        ({"pain": True, "temperature": ""}, "sick", "pain = yes and temperature = not measured"),
        ({"pain": True, "temperature": 40, "age": 51}, "sick", "pain = yes and temperature > 37.5 and age > 50"),
    ],
)  # fmt: skip
def test_a_walk_to_a_leaf(record: dict[str, Any], label: str, path: str) -> None:
    answer = predict(TREE, SCHEMA, record)
    assert (answer.label, answer.path) == (label, path)
    assert (answer.stopped_at, answer.stop_reason, answer.note) == (None, None, None)


@pytest.mark.parametrize(
    ("record", "label", "path", "stopped_at", "reason"),
    [
        ({}, "sick", "any record", "pain", "missing"),
        ({"pain": None}, "sick", "any record", "pain", "missing"),
        ({"pain": "perhaps"}, "sick", "any record", "pain", "unseen"),
        ({"pain": 7}, "sick", "any record", "pain", "unseen"),
        ({"pain": "no", "grade": 3}, "well", "pain = no", "grade", "unseen"),
        ({"pain": "no", "grade": True}, "well", "pain = no and grade = 1", None, None),
        ({"pain": "no", "grade": False}, "well", "pain = no", "grade", "unseen"),
        ({"pain": "yes", "temperature": 39}, "sick", "pain = yes and temperature > 37.5", "age", "missing"),
    ],
)
def test_a_walk_that_ends_early(
    record: dict[str, Any], label: str, path: str, stopped_at: str | None, reason: str | None
) -> None:
    answer = predict(TREE, SCHEMA, record, "counts")
    assert (answer.label, answer.path) == (label, path)
    assert (answer.stopped_at, answer.stop_reason) == (stopped_at, reason)
    assert (answer.note is None) == (stopped_at is None)
    assert stopped_at is None or stopped_at in (answer.note or "")


@pytest.mark.parametrize(
    ("record", "where"),
    [
        ({"pain": "yes", "temperature": float("nan")}, "temperature"),
        ({"pain": "yes", "temperature": float("inf")}, "temperature"),
        ({"pain": "yes", "temperature": "hot"}, "temperature"),
        ({"pain": "yes", "temperature": "NaN"}, "temperature"),
        ({"pain": "yes", "temperature": True}, "temperature"),
        ({"pain": float("nan")}, "pain"),
    ],
)
def test_garbage_is_an_error_that_names_the_attribute(record: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        predict(TREE, SCHEMA, record)


def test_what_each_disclosure_gives() -> None:
    record = {"pain": "no", "grade": 2}
    bare = predict(TREE, SCHEMA, record, "class")
    assert (bare.label, bare.probability, bare.interval, bare.counts) == ("sick", None, None, None)
    some = predict(TREE, SCHEMA, record, "probability")
    assert (some.probability, some.counts) == (0.75, None)
    assert some.interval == wilson_interval(3, 4)
    full = predict(TREE, SCHEMA, record, "counts")
    assert (full.probability, full.interval, full.counts) == (0.75, some.interval, {"well": 1, "sick": 3})
    assert "counts" not in repr(full)


def test_a_place_without_records_has_no_probability() -> None:
    answer = predict(TREE, SCHEMA, {"pain": "no"}, "counts")
    assert (answer.label, answer.probability, answer.interval) == ("well", None, None)
    assert answer.counts == {"well": 0, "sick": 0}


def test_an_early_end_answers_from_the_records_of_that_node() -> None:
    answer = predict(TREE, SCHEMA, {}, "counts")
    assert answer.counts == {"well": 11, "sick": 19}
    assert answer.probability == pytest.approx(19 / 30)


def test_a_tree_without_counts_or_majorities() -> None:
    published = Tree.from_json({"attr": 0, "kids": [{"leaf": 0}, {"leaf": 1}]})
    answer = predict(published, SCHEMA, {"pain": "yes"}, "counts")
    assert (answer.label, answer.probability, answer.counts) == ("sick", None, None)
    with pytest.raises(InputError, match="pain"):
        predict(published, SCHEMA, {})
    assert predict(TREE.without_counts(), SCHEMA, {}, "counts").label == "sick"


@given(st.integers(1, 5000), st.data())
def test_wilson_ends_solve_its_equation(total: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, total))
    low, high = wilson_interval(hits, total)
    assert 0 <= low <= hits / total <= high <= 1
    with localcontext() as context:
        context.prec = 40
        share, z = Decimal(hits) / total, Decimal("1.959963984540054")
        for end in (Decimal(low), Decimal(high)):
            assert abs(abs(end - share) - z * (end * (1 - end) / total).sqrt()) < Decimal("1e-12")


def test_wilson_as_printed_in_tables() -> None:
    # Nine of ten: 0.596 to 0.982 (Brown, Cai and DasGupta 2001 give the formula that tables use).
    assert wilson_interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=1e-4)
    assert wilson_interval(0, 3)[0] == 0.0
    assert wilson_interval(3, 3)[1] == 1.0
