"""Numbers in fixed point: exact codes, and what is refused without a word about the value."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InputError
from shared.tree.numbers import FixedPoint, UnknownValueError, decimal_text, parse_number
from shared.tree.schema import Attribute, Schema

WEIGHT = FixedPoint.create("weight", "-5", "120.5", 2)
SCHEMA = Schema.create(
    [
        Attribute("weight", (), fixed_point=WEIGHT),
        Attribute("age", (), fixed_point=FixedPoint.create("age", "0", "130", 0, "65")),
        Attribute("smoker", ("no", "yes"), treat_as="equality"),
    ],
    "state",
    ("sick", "well"),
)


@pytest.mark.parametrize(
    ("text", "code"),
    [("-5", 0), ("-5.00", 0), ("-4.99", 1), ("0", 500), ("1e1", 1500), ("17.5000", 2250), ("120.50", 12550)],
)
def test_codes_are_exact(text: str, code: int) -> None:
    assert Attribute("weight", (), fixed_point=WEIGHT).code_of(text) == code
    assert WEIGHT.number_of(code) == Decimal(text)


@given(st.integers(0, 2**32 - 1), st.integers(0, 17))
def test_codes_and_numbers_are_inverse(code: int, decimals: int) -> None:
    low = Decimal(-(2**31)).scaleb(-decimals)
    scale = FixedPoint(low, low + Decimal(2**32 - 1).scaleb(-decimals), decimals)
    assert scale.width_bits == 32
    assert scale.code_of("x", scale.number_of(code)) == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-5.01", "outside the study's range, -5 to 120.5"),
        ("121", "outside the study's range"),
        ("1e400", "outside the study's range"),
        ("17.005", "more decimals than the study declares, 2"),
        ("1e-900", "more decimals"),
        ("NaN", "finite decimal number"),
        ("-inf", "finite decimal number"),
        ("17.5 kg", "units"),
        ("17,5", "finite decimal number"),
        ("", "an empty field"),
    ],
)
def test_refusals_name_the_attribute_and_not_the_value(text: str, expected: str) -> None:
    with pytest.raises(UnknownValueError) as caught:
        SCHEMA.attributes[0].code_of(text)
    message = str(caught.value)
    assert expected in message
    assert "attribute 'weight'" in message
    assert text in ("", "NaN") or text not in message


def test_an_empty_field_counts_as_the_declared_number() -> None:
    assert SCHEMA.attributes[1].code_of(" ") == 65


def test_schema_round_trip() -> None:
    document = SCHEMA.to_json()
    assert document["attributes"][0] == {
        "name": "weight",
        "values": [],
        "cuts": None,
        "numeric": {"minimum": "-5", "maximum": "120.5", "decimals": 2},
    }
    assert document["attributes"][1]["numeric"]["missing"] == "65"
    assert document["attributes"][2] == {
        "name": "smoker",
        "values": ["no", "yes"],
        "cuts": None,
        "treat_as": "equality",
    }
    assert Schema.from_json(document) == SCHEMA


@pytest.mark.parametrize(
    ("numeric", "expected"),
    [
        ({"minimum": "0", "maximum": "4294967296", "decimals": 0}, "needs 33 bits"),
        ({"minimum": "0", "maximum": "1", "decimals": 18}, "0 to 17 decimals"),
        ({"minimum": "0", "maximum": "1", "decimals": -1}, "0 to 17 decimals"),
        ({"minimum": "0", "maximum": "1", "decimals": True}, "an integer"),
        ({"minimum": "2", "maximum": "1", "decimals": 0}, "above the maximum"),
        ({"minimum": "0.05", "maximum": "1", "decimals": 1}, "more than 1 decimals"),
        ({"minimum": "0", "maximum": "1", "decimals": 0, "missing": "2"}, "outside 0 to 1"),
        ({"minimum": "1e1", "maximum": "20", "decimals": 0}, "plain decimal"),
        ({"minimum": 0, "maximum": "20", "decimals": 0}, "expected text"),
        ({"minimum": "0", "maximum": "20"}, "expected an object"),
    ],
)
def test_ranges_that_no_study_can_have(numeric: dict[str, Any], expected: str) -> None:
    document = SCHEMA.to_json()
    document["attributes"][0]["numeric"] = numeric
    with pytest.raises(InputError, match=expected):
        Schema.from_json(document)


@pytest.mark.parametrize(
    "change",
    [{"values": ["a"]}, {"cuts": ["1"]}, {"treat_as": "ordered"}],
)
def test_a_number_in_fixed_point_has_nothing_else(change: dict[str, Any]) -> None:
    document = SCHEMA.to_json()
    document["attributes"][0] |= change
    with pytest.raises(InputError, match="no values, no cuts and no treat_as"):
        Schema.from_json(document)


def test_treatment_is_one_of_two() -> None:
    document = SCHEMA.to_json()
    document["attributes"][2]["treat_as"] = "sorted"
    with pytest.raises(InputError, match="ordered or equality"):
        Schema.from_json(document)


def test_one_spelling_of_a_number() -> None:
    texts = ["17.50", "-0.0", "1E+3", "100", "0.10", "-2.500"]
    assert [decimal_text(Decimal(text)) for text in texts] == ["17.5", "0", "1000", "100", "0.1", "-2.5"]


def test_parse_number() -> None:
    assert parse_number("x", "+.5e1") == 5
