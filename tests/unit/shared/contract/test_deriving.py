"""Derived values, exactly: rounding, division, dates, empty fields, and records that a finished tree is asked about."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contract.asking import Value, record_reader
from shared.contract.deriving import date_in, maker_of
from shared.contract.fhir_checking import check_mapping, draft_mapping
from shared.contract.files import contract_of
from shared.contract.reading import BrokenRuleError
from shared.contract.schema import schema_of_contract
from shared.contract.statements import drafts_of, statements_of
from shared.errors import InputError
from shared.protocol.contract_words import contract_words
from shared.wire.contract import DataContract, Derivations
from shared.wire.contract_derived import Product
from shared.wire.fhir_mapping import FhirMapping, MappedAttribute
from tests.support.derived import COLUMNS, CONTRACT, DOCUMENT, MADE, ROWS, SCHEMA

NUMBERS = st.decimals(min_value=-1000, max_value=1000, places=3)


def product(**changes: Any) -> Any:
    said = {"name": "bmi", "columns": ["weight", "height"], "powers": [1, -1], "decimals": 2} | changes
    inputs = [one.model_copy(update={"minimum": None, "maximum": None}) for one in CONTRACT.inputs]
    return maker_of(CONTRACT.model_copy(update={"inputs": inputs}), Product.model_validate(said))


@given(NUMBERS, NUMBERS.filter(bool), st.sampled_from(["half-up", "half-even"]))
def test_a_ratio_is_rounded_once_and_exactly(above: Decimal, below: Decimal, rounding: str) -> None:
    """Against decimal arithmetic of 200 digits, which no ratio of these is too long for to be rounded twice."""
    made = product(rounding=rounding)([str(above), str(below)]) if above != -9 else None
    if made is None:
        return
    with localcontext(prec=200):
        how = ROUND_HALF_UP if rounding == "half-up" else ROUND_HALF_EVEN
        assert Decimal(made) == (above / below).quantize(Decimal("0.01"), rounding=how)


@pytest.mark.parametrize(
    ("changes", "fields", "made"),
    [
        ({"powers": [1, 1], "decimals": 1}, ["0.5", "0.5"], "0.3"),
        ({"powers": [1, 1], "decimals": 1, "rounding": "half-even"}, ["0.5", "0.5"], "0.2"),
        ({"powers": [1, 1], "decimals": 0}, ["-0.5", "1"], "-1"),
        ({"powers": [1, 1], "decimals": 0, "rounding": "half-even"}, ["-0.5", "1"], "0"),
        ({"powers": [1, 1], "times": "100", "decimals": 0}, ["0.335", "1"], "34"),
        ({"powers": [4, -4], "decimals": 3}, ["3", "1e2"], "0"),
        ({"powers": [1, 1]}, ["", "1"], ""),
    ],
)
def test_products(changes: dict[str, Any], fields: list[str], made: str) -> None:
    assert product(**changes)(fields) == made


@pytest.mark.parametrize("fields", [["1", "0"], ["1e999", "1e-999"], ["1", "x"], ["1"], ["1", "2", "3"]])
def test_what_no_product_is_made_of(fields: list[str]) -> None:
    with pytest.raises(BrokenRuleError, match="derived 'bmi'"):
        product(powers=[4, -4])(fields)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29 23:59:59.5", "2024-02-29"),
        ("2024-02-29T00:00:00Z", "2024-02-29"),
        (" 29.2.2024 ", "2024-02-29"),
        ("2023-02-29", None),
        ("2024-2-9", None),
        ("29.02.24", None),
        ("0000-01-01", None),
        ("02/03/2024", "2024-03-02"),
        ("20240229", None),
    ],
)
def test_dates(text: str, found: str | None) -> None:
    made = date_in(text, ["YYYY-MM-DD", "DD.MM.YYYY", "DD/MM/YYYY"])
    assert (None if made is None else made.isoformat()) == found


def test_records_that_a_tree_is_asked_about() -> None:
    read = record_reader(CONTRACT)
    for fields, made in ROWS_AND_MADE:
        asked = read(dict(zip(COLUMNS, fields, strict=True)))
        assert [asked[name] for name in ("bmi", "stay", "ill")] == made[:3]
        assert set(asked) == {"bmi", "stay", "ill", "sex"}
    plain: dict[str, Value] = {"weight": 70, "Groesse": 1.75, "sex": "male", "fever": True, "cough": None}
    assert read(plain) == {"bmi": "22.9", "ill": "yes", "sex": "m"}
    assert read({"bmi": 22.9, "weight": 70}) == {"bmi": "22.9"}
    assert record_reader(CONTRACT, {"weight": "[lb_av]"})({"weight": "154.3", "height": "1.75"}) == {
        "bmi": "22.9"
    }
    with pytest.raises(InputError, match="division by 0"):
        read({"weight": 70, "height": 0})
    with pytest.raises(InputError, match="given twice"):
        read({"weight": 70, "height": 1, "Groesse": 1})


ROWS_AND_MADE = [(fields, made) for (fields, _), made in zip(ROWS, MADE, strict=True)]


def test_an_attribute_may_be_made_of_attributes_whose_gaps_are_no_fault_then() -> None:
    document = {
        "name": "heart",
        "attributes": [
            {"name": "weight", "kind": "number", "cuts": ["70"]},
            {"name": "height", "kind": "number", "cuts": ["1.7"]},
            {"name": "bmi", "kind": "number", "cuts": ["25"]},
        ],
        "class": {"name": "ill", "values": [{"value": "no"}, {"value": "yes"}]},
        "derived": [DOCUMENT["derived"][0]],
    }
    read = record_reader(contract_of(document, "heart"))
    assert read({"weight": "80", "height": "1.6"}) == {"weight": "80", "height": "1.6", "bmi": "31.3"}
    assert read({"weight": "", "height": "1.6"}) == {"weight": "", "height": "1.6", "bmi": ""}


def test_a_mapping_of_resources_may_name_what_attributes_are_made_of() -> None:
    drafted = draft_mapping("derived", SCHEMA, CONTRACT)
    assert [one.name for one in drafted.attributes] == [
        "sex", "weight", "height", "admitted", "discharged", "cough", "fever"
    ]  # fmt: skip
    filled = [one.model_copy(update={"codes": ["http://loinc.org|1"]}) for one in drafted.attributes[1:3]]
    mapping = FhirMapping(name="derived", attributes=filled)
    notes = check_mapping(mapping, SCHEMA, CONTRACT)
    assert not any("bmi" in note for note in notes)
    assert any(note.startswith("stay is not mapped") for note in notes)
    with pytest.raises(InputError, match="no such attribute"):
        check_mapping(mapping, SCHEMA)
    fever = MappedAttribute(
        name="fever", resource="Condition", take="present", codes=["http://x.org|1"], present="perhaps"
    )
    with pytest.raises(InputError, match="no value of that column, which has no, yes"):
        check_mapping(FhirMapping(name="derived", attributes=[fever]), SCHEMA, CONTRACT)
    derive = record_reader(CONTRACT, {"weight": "[lb_av]"}).derive
    mapped: dict[str, Value] = {
        "weight": Decimal("70.0"),
        "height": Decimal("1.75"),
        "fever": "yes",
        "sex": "f",
    }
    assert derive(mapped) == {"sex": "f", "bmi": "22.9"}


def test_what_a_steward_reads_of_it() -> None:
    (text,) = contract_words(CONTRACT)
    assert "bmi is weight x height^-2, rounded to 1 decimals, halves away from 0." in text
    assert "stay is the number of days from admitted to discharged." in text
    assert "ill is yes where one of cough, fever is Yes, yes, else no" in text
    assert "yes + anything is bladder" in text


def test_a_draft_survives_the_mix() -> None:
    drafts = [CONTRACT, one_more(CONTRACT), CONTRACT]
    statements = [statement for draft in drafts for statement in statements_of(draft)]
    found = drafts_of(statements, 3)
    assert sorted(draft.sha256 for draft in found) == sorted(draft.sha256 for draft in drafts)


def one_more(contract: DataContract) -> DataContract:
    """Another hospital's: its height column has another name."""
    inputs = [
        one.model_copy(update={"columns": ["size"]}) if one.name == "height" else one
        for one in contract.inputs
    ]
    return contract.model_copy(update={"inputs": inputs})


def test_the_schema_says_nothing_of_how_values_are_made() -> None:
    assert "weight" not in str(schema_of_contract(CONTRACT).to_json())


def test_the_guide_shows_an_agreement_that_holds() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "guides" / "data-contract.md").read_text(encoding="utf-8")
    agreed = Derivations.model_validate_json(guide.split("```json\n")[1].split("```")[0])
    assert [one.kind for one in agreed.derived] == ["combination", "any", "days", "product"]
    read = {one.name for one in agreed.inputs}
    assert all(read >= {*one.columns} for one in agreed.derived)
