"""What is said of columns that were perhaps meant as numbers."""

from __future__ import annotations

import pytest

from hospital_agent.records.remarks import MANY_VALUES, remarks
from shared.tree.numbers import FixedPoint
from shared.tree.schema import Attribute, Schema

_MANY = tuple(str(number) for number in range(MANY_VALUES + 1))


def _remarks(
    values: tuple[str, ...], *, numbers: bool, classes: tuple[str, ...] = ("no", "yes")
) -> list[str]:
    schema = Schema.create([Attribute("lab", values)], "ill", classes)
    return remarks(schema, numbers=numbers)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("1", "2", "missing"), "1 of its 3 different values is no number (a gap counts as one)"),
        (("1.5", "2", "3", "?", "high"), "2 of its 5 different values are no numbers"),
        (("35,5", "36,0", "37"), "decimal commas"),
    ],
)
def test_an_almost_numeric_column_says_why_it_is_compared_by_categories(
    values: tuple[str, ...], said: str
) -> None:
    (remark,) = _remarks(values, numbers=True)
    assert remark.startswith("column 'lab' is compared by categories")
    assert said in remark


def test_many_numbers_as_categories_point_to_cut_points() -> None:
    (remark,) = _remarks(_MANY, numbers=False)
    assert "11 different numbers" in remark
    assert "--cut" in remark


def test_many_numbers_as_classes_point_to_another_class_column() -> None:
    (remark,) = _remarks(("a", "b"), numbers=True, classes=_MANY)
    assert remark.startswith("class column 'ill' holds 11")
    assert "--class" in remark


@pytest.mark.parametrize("numbers", [True, False])
def test_words_and_few_numbers_need_no_remark(numbers: bool) -> None:
    assert _remarks(("a", "b", "3"), numbers=numbers) == []


def test_few_numbers_and_declared_numbers_need_no_remark() -> None:
    assert _remarks(("1", "2", "3"), numbers=False) == []
    exact = Attribute("age", (), fixed_point=FixedPoint.create("age", "0", "99", 0))
    cut = Attribute.numeric("lab", ["3"])
    assert remarks(Schema.create([exact, cut], "ill", ("no", "yes")), numbers=True) == []


def test_one_number_in_two_spellings_names_the_column_and_the_remedy() -> None:
    (remark,) = _remarks(("1", "1.0", "2"), numbers=False)
    assert remark.startswith("column 'lab' writes one number in several ways")
    assert "--spelling lab=number" in remark
    (of_class,) = _remarks(("a", "b"), numbers=True, classes=("0", "0.0", "1"))
    assert of_class.startswith("class column 'ill' writes")
