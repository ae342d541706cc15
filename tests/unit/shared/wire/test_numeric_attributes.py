"""Attributes of the manifest: numbers in fixed point, how values are treated, and bytes that stay as they were."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from shared.protocol.participation import schema_of
from shared.wire.manifest import AttributeSpec, Manifest
from tests.support.clinic import SCHEMA
from tests.support.models import parties

MEMBERS = parties()
NUMERIC = {"minimum": "10", "maximum": "80.5", "decimals": 1}
BMI = {"name": "bmi", "values": [], "numeric": NUMERIC}
SEX = {"name": "sex", "values": ["f", "m"], "treat_as": "equality"}
AGE = {"name": "age", "values": ["<= 40", "> 40"], "cuts": ["40"]}
ILL = {"name": "ill", "labels": ["no", "yes"]}
MODE_G = {
    "profile": "secret-gainratio",
    "criterion": "gain-ratio",
    "secret": {"compute_parties": ["h1", "h2", "h3"]},
    "skip_known": False,
    "max_shrinks": 0,
    "disclosure": "class",
    "max_depth": 3,
}


def manifest(*attributes: dict[str, Any], **changes: Any) -> Manifest:
    return MEMBERS.manifest({"attributes": list(attributes), "class": ILL}, **changes)


def test_bytes_of_listed_values_are_as_before() -> None:
    spec = AttributeSpec.model_validate({"name": "sex", "values": ["f", "m"]})
    assert spec.canonical() == b'{"cuts":null,"name":"sex","values":["f","m"]}'


def test_new_members_are_there_where_they_are_set() -> None:
    assert AttributeSpec.model_validate(BMI).canonical() == (
        b'{"cuts":null,"name":"bmi","numeric":{"decimals":1,"maximum":"80.5","minimum":"10"},"values":[]}'
    )
    assert b'"treat_as":"equality"' in AttributeSpec.model_validate(SEX).canonical()


def test_the_schema_of_a_manifest_has_them() -> None:
    wired = manifest(BMI | {"numeric": NUMERIC | {"missing": "25"}}, SEX, AGE, **MODE_G)
    bmi, sex, age = schema_of(wired).attributes
    assert bmi.fixed_point is not None
    assert (bmi.fixed_point.greatest_code, bmi.missing_code) == (705, 150)
    assert (sex.treat_as, age.treat_as) == ("equality", None)
    assert schema_of(Manifest.model_validate_json(wired.canonical())) == schema_of(wired)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"name": "a", "values": []}, "either values or numeric"),
        (BMI | {"values": ["x"]}, "either values or numeric"),
        (BMI | {"cuts": ["1"]}, "no cuts and no treat_as"),
        (BMI | {"treat_as": "ordered"}, "no cuts and no treat_as"),
        (SEX | {"treat_as": "sorted"}, "treat_as"),
        (BMI | {"numeric": NUMERIC | {"decimals": 18}}, "decimals"),
        (BMI | {"numeric": NUMERIC | {"minimum": "1e3"}}, "minimum"),
        (BMI | {"numeric": {"minimum": "1", "maximum": "2"}}, "decimals"),
    ],
)
def test_attributes_that_no_manifest_has(attribute: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        AttributeSpec.model_validate(attribute)


def test_numbers_are_for_mode_gain_ratio() -> None:
    with pytest.raises(ValidationError, match="secret-gainratio"):
        manifest(BMI)
    assert MEMBERS.manifest(SCHEMA).profile == "hardened"


def test_mode_gain_ratio_must_know_how_values_are_treated() -> None:
    with pytest.raises(ValidationError, match="treat_as"):
        manifest(BMI, {"name": "sex", "values": ["f", "m"]}, **MODE_G)
    anything = {"name": "a", "values": ["any"], "cuts": []}
    assert schema_of(manifest(anything, **MODE_G)).attributes[0].cuts == ()
