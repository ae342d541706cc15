"""Records for a finished tree through the contract: names, texts, and what is left as it is."""

from __future__ import annotations

from decimal import Decimal

import pytest

from shared.contract.asking import Value, record_reader
from shared.errors import InputError
from tests.unit.shared.contract.test_contract import GRADE, PULSE, SEX, contract

READ = record_reader(contract(SEX, PULSE, GRADE))


@pytest.mark.parametrize(
    ("record", "read"),
    [
        ({"Geschlecht": "W"}, {"sex": "female"}),
        ({"grade": 3}, {"grade": "2"}),
        ({"grade": Decimal("1.0")}, {"grade": "1"}),
        ({"grade": "-9"}, {"grade": ""}),
        ({"pulse": 0}, {"pulse": ""}),
        ({"pulse": 61.5}, {"pulse": "61.5"}),
        ({"pulse": 999, "grade": 9}, {"pulse": 999, "grade": 9}),
        ({"pulse": None, "sex": True, "age": "70"}, {"pulse": None, "sex": True, "age": "70"}),
    ],
)
def test_a_record_is_read(record: dict[str, Value], read: dict[str, Value]) -> None:
    assert READ(record) == read
    assert READ(READ(record)) == read


def test_numbers_are_asked_in_the_hospitals_unit() -> None:
    bpm = contract({**PULSE, "conversions": [{"unit": "/s", "factor": "60"}]})
    read = record_reader(bpm, {"pulse": "/s"})
    assert [read({"pulse": value})["pulse"] for value in ("1.5", Decimal("2"), 0, None)] == [
        "90",
        "120",
        "",
        None,
    ]


def test_one_attribute_under_two_names_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        READ({"Geschlecht": "w", "sex": "male"})
