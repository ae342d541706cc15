"""Schemas: limits, duplicates, cut points, and the code of every field a record may hold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InputError
from shared.tree.numbers import UnknownValueError
from shared.tree.schema import Attribute, Schema, interval_names

FEVER = Attribute.numeric("temperature", ["37.5", "38"], missing="not measured")
PAIN = Attribute("pain", ("no", "yes"))


def schema(*attributes: Attribute, classes: Any = ("sick", "well"), name: str = "state") -> Schema:
    return Schema.create(attributes or (PAIN, FEVER), name, classes)


def many_values(attributes: int) -> list[Attribute]:
    return [Attribute(f"a{i}", tuple(map(str, range(256)))) for i in range(attributes)]


def test_intervals_are_named() -> None:
    assert interval_names([Decimal("37.5"), Decimal(38)]) == ("<= 37.5", "> 37.5 to 38", "> 38")
    assert interval_names([Decimal(1)]) == ("<= 1", "> 1")
    assert interval_names([]) == ("any",)
    assert FEVER.values == ("<= 37.5", "> 37.5 to 38", "> 38", "not measured")


@pytest.mark.parametrize(
    ("text", "code"),
    [("37.5", 0), ("37.50001", 1), ("38", 1), ("38.0", 1), (" 38.01 ", 2), ("-1e2", 0), ("+.5", 0), ("1E3", 2),
     ("5.", 0), ("", 3), ("  ", 3)],
)  # fmt: skip
def test_a_number_equal_to_a_cut_goes_left(text: str, code: int) -> None:
    assert FEVER.code_of(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "nan",
        "inf",
        "-Infinity",
        "sNaN",
        "37,5",
        "1_000",
        "0x10",
        "37.5 C",
        "1e9999",
        "٣٧",
        "--1",
        "e5",
    ],
)
def test_what_is_not_a_finite_number_is_refused(text: str) -> None:
    with pytest.raises(UnknownValueError, match="temperature") as caught:
        FEVER.code_of(text)
    assert text not in str(caught.value).replace("NaN, infinity", "")


def test_an_empty_field_without_a_value_for_it() -> None:
    for attribute in (Attribute.numeric("age", [50]), PAIN):
        assert attribute.missing_code is None
        with pytest.raises(UnknownValueError, match="empty field"):
            attribute.code_of("")


def test_an_empty_field_with_a_value_for_it() -> None:
    assert FEVER.missing_code == 3
    assert Attribute("pain", ("no", "missing", "yes")).code_of(" ") == 1
    assert Attribute("pain", ("missing", "")).code_of("") == 1


def test_an_unlisted_category_is_refused_without_showing_it() -> None:
    with pytest.raises(UnknownValueError, match="pain") as caught:
        PAIN.code_of("very secret")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, InputError)
    with pytest.raises(UnknownValueError, match="state"):
        schema().class_code("dead")
    assert schema().class_code("well") == 1


@given(
    st.lists(st.decimals(-1000, 1000, places=2), min_size=1, max_size=8, unique=True),
    st.decimals(-1100, 1100, places=3),
)
def test_the_interval_holds_the_number(cuts: list[Decimal], number: Decimal) -> None:
    cuts = sorted(abs(cut) if cut == 0 else cut for cut in cuts)
    attribute = Attribute.numeric("x", [format(cut, "f") for cut in cuts])
    code = attribute.code_of(format(number, "f"))
    assert code == sum(1 for cut in cuts if number > cut)


@pytest.mark.parametrize(
    ("attributes", "classes", "name", "words"),
    [
        ([], ["a"], "c", "1 to 1024 attributes"),
        ([Attribute(f"a{i}", ("0",)) for i in range(1025)], ["a"], "c", "1 to 1024 attributes"),
        ([Attribute("a", ())], ["a"], "c", "1 to 256 values"),
        ([Attribute("a", tuple(map(str, range(257))))], ["a"], "c", "1 to 256 values"),
        ([PAIN], [], "c", "1 to 64 class labels"),
        ([PAIN], [str(i) for i in range(65)], "c", "1 to 64 class labels"),
        ([PAIN, PAIN], ["a"], "c", "column names repeat"),
        ([PAIN], ["a"], "pain", "column names repeat"),
        ([Attribute("a", ("0", "0"))], ["a"], "c", "values repeat"),
        ([PAIN], ["a", "a"], "c", "class labels repeat"),
        ([Attribute(" ", ("0",))], ["a"], "c", "name is empty"),
        ([PAIN], ["a"], "", "name is empty"),
        ([Attribute("a\x1b[2J", ("0",))], ["a"], "c", "control character"),
        ([Attribute("a", ("line\nline",))], ["a"], "c", "control character"),
        ([Attribute("a", ("\u202eabc",))], ["a"], "c", "control character"),
        ([Attribute("a", ("no", "no\u200b"))], ["a"], "c", "an invisible one"),
        ([Attribute("a\u061c", ("no",))], ["a"], "c", "an invisible one"),
        ([Attribute("a", ("\ud800",))], ["a"], "c", "control character"),
        ([Attribute("a", ("x" * 201,))], ["a"], "c", "more than 200"),
        ([Attribute("a", ("1", "2", "3"), (Decimal(2), Decimal(1)))], ["a"], "c", "rise strictly"),
        ([Attribute("a", ("1", "2", "3"), (Decimal(1), Decimal(1)))], ["a"], "c", "rise strictly"),
        ([Attribute("a", ("1", "2"), (Decimal("NaN"),))], ["a"], "c", "rise strictly"),
        ([Attribute("a", ("1",), (Decimal(1),))], ["a"], "c", "k\\+1"),
        ([Attribute("a", ("1", "2", "3", "4"), (Decimal(1),))], ["a"], "c", "k\\+1"),
        (many_values(65), [str(i) for i in range(64)], "c", "root alone"),
    ],
)  # fmt: skip
def test_limits(attributes: list[Attribute], classes: list[str], name: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Schema.create(attributes, name, classes)
    assert caught.value.where
    assert caught.value.remedy


def test_the_greatest_schema_fits() -> None:
    assert Schema.create(many_values(64), "c", [str(i) for i in range(64)]).cell_count == 2**20


def test_json_there_and_back() -> None:
    data = schema().to_json()
    assert data["attributes"][1] == {
        "name": "temperature",
        "values": list(FEVER.values),
        "cuts": ["37.5", "38"],
    }
    assert data["attributes"][0]["cuts"] is None
    assert Schema.from_json(data) == schema()
    assert hash(Schema.from_json(data)) == hash(schema())
    del data["attributes"][0]["cuts"]
    assert Schema.from_json(data) == schema()


GOOD = {"attributes": [{"name": "a", "values": ["0"], "cuts": None}], "class": {"name": "c", "labels": ["x"]}}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        GOOD | {"more": 1},
        GOOD | {"attributes": {}},
        GOOD | {"attributes": [{"name": "a"}]},
        GOOD | {"attributes": [{"name": 1, "values": ["0"]}]},
        GOOD | {"attributes": [{"name": "a", "values": [0]}]},
        GOOD | {"attributes": [{"name": "a", "values": ["0", "1"], "cuts": [1]}]},
        GOOD | {"attributes": [{"name": "a", "values": ["0", "1"], "cuts": ["1e5"]}]},
        GOOD | {"attributes": [{"name": "a", "values": ["0", "1"], "cuts": ["NaN"]}]},
        GOOD | {"attributes": [{"name": "a", "values": ["0", "1"], "cuts": ["01"]}]},
        GOOD | {"class": {"name": "c"}},
        GOOD | {"class": {"name": "c", "labels": "x"}},
    ],
)
def test_json_of_another_form(data: Any) -> None:
    assert Schema.from_json(GOOD).classes == ("x",)
    with pytest.raises(InputError):
        Schema.from_json(data)
