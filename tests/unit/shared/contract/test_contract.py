"""A data contract at work: texts to values, the schema it stands for, several drafts to one."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contract.files import contract_of
from shared.contract.merging import merge
from shared.contract.reading import BrokenRuleError, Rule, attribute_reader, class_reader
from shared.contract.schema import check_contract, schema_of_contract
from shared.errors import InputError
from shared.wire.contract import ContractAttribute, DataContract

ICD: dict[str, Any] = {
    "name": "diagnosis",
    "kind": "category",
    "values": [
        {"value": "infarct", "prefixes": ["I21", "I22"]},
        {"value": "heart", "prefixes": ["I2", "I5"]},
        {"value": "fracture", "texts": ["S72.0"]},
        {"value": "other", "other": True},
    ],
    "missing_codes": ["ZZZ"],
    "missing_policy": "category",
}
GRADE: dict[str, Any] = {
    "name": "grade",
    "kind": "category",
    "values": [{"value": "1"}, {"value": "2", "texts": ["3"]}],
    "spelling": "number",
    "missing_codes": ["-9"],
}
SEX: dict[str, Any] = {
    "name": "sex",
    "columns": ["Geschlecht"],
    "kind": "category",
    "values": [{"value": "female", "texts": ["w"]}, {"value": "male"}],
    "spelling": "folded",
}
PULSE: dict[str, Any] = {
    "name": "pulse",
    "unit": "/min",
    "kind": "number",
    "cuts": ["60", "100"],
    "minimum": "20",
    "maximum": "300",
    "missing_codes": ["0"],
    "missing_policy": "category",
}
LACTATE: dict[str, Any] = {
    "name": "lactate",
    "kind": "number",
    "minimum": "0",
    "maximum": "30",
    "decimals": 1,
}
ILL: dict[str, Any] = {"name": "ill", "values": [{"value": "no"}, {"value": "yes", "texts": ["1", "2"]}]}


def contract(*attributes: dict[str, Any], target: dict[str, Any] | None = None) -> DataContract:
    document = {"name": "ward", "attributes": list(attributes), "class": target or ILL}
    return contract_of(json.loads(json.dumps(document)), "contract.json")


def attribute(**members: Any) -> ContractAttribute:
    return contract(members).attributes[0]


READ = [
    (ICD, "I21.4", "infarct"),
    (ICD, "I50.1", "heart"),
    (ICD, "S72.0", "fracture"),
    (ICD, "Z00", "other"),
    (ICD, "ZZZ", ""),
    (ICD, "", ""),
    (GRADE, "1.0", "1"),
    (GRADE, "3.00", "2"),
    (GRADE, "2", "2"),
    (SEX, " FEMALE ", "female"),
    (SEX, "W", "female"),
    (SEX, "Malé", "male"),
    (PULSE, "61", "61"),
    (PULSE, "0.0", ""),
    (PULSE, " 1e2 ", "1e2"),
    (LACTATE, "2.5", "2.5"),
]
BROKEN = [
    (GRADE, "4", Rule.UNKNOWN),
    (GRADE, "-9.0", Rule.EMPTY),
    (GRADE, "", Rule.EMPTY),
    (GRADE, "one", Rule.UNKNOWN),
    (SEX, "x!", Rule.UNKNOWN),
    (PULSE, "fast", Rule.NO_NUMBER),
    (PULSE, "301", Rule.RANGE),
    (PULSE, "19.9", Rule.RANGE),
    (LACTATE, "2.55", Rule.DECIMALS),
    (LACTATE, "", Rule.EMPTY),
]


@pytest.mark.parametrize(("members", "text", "value"), READ)
def test_a_text_becomes_the_studys_value(members: dict[str, Any], text: str, value: str) -> None:
    assert attribute_reader(attribute(**members))(text) == value


@pytest.mark.parametrize(("members", "text", "rule"), BROKEN)
def test_a_text_that_breaks_a_rule_is_not_told(members: dict[str, Any], text: str, rule: Rule) -> None:
    with pytest.raises(BrokenRuleError) as caught:
        attribute_reader(attribute(**members))(text)
    assert caught.value.rule is rule
    assert members["name"] in str(caught.value)
    assert not text.strip() or text not in str(caught.value).replace("37.5", "")


CHOLESTEROL: dict[str, Any] = {
    "name": "chol",
    "unit": "mg/dL",
    "conversions": [{"unit": "mmol/L", "factor": "38.67"}, {"unit": "odd", "factor": "2", "offset": "-1"}],
    "kind": "number",
    "minimum": "50",
    "maximum": "600",
    "decimals": 0,
    "missing_codes": ["0"],
    "missing_as": "200",
}


@pytest.mark.parametrize(
    ("unit", "text", "value"),
    [
        ("mmol/L", "5.2", "201"),
        ("mmol/L", "0", ""),
        ("odd", "100", "199"),
        ("mg/dL", "201", "201"),
        ("", "201", "201"),
    ],
)
def test_numbers_in_a_hospitals_unit_are_converted_exactly_and_rounded(
    unit: str, text: str, value: str
) -> None:
    assert attribute_reader(attribute(**CHOLESTEROL), unit)(text) == value


def test_a_unit_that_the_contract_does_not_know_is_refused() -> None:
    with pytest.raises(InputError, match="from mmol/L, odd, not from g/L"):
        attribute_reader(attribute(**CHOLESTEROL), "g/L")
    with pytest.raises(BrokenRuleError) as caught:
        attribute_reader(attribute(**CHOLESTEROL), "mmol/L")("200")  # a number of the other unit
    assert caught.value.rule is Rule.RANGE


def test_the_class_is_read_too_and_is_never_empty() -> None:
    read = class_reader(contract(SEX).class_)
    assert [read("no"), read("yes"), read("2")] == ["no", "yes", "yes"]
    for text in ("", "3", "No"):
        with pytest.raises(BrokenRuleError):
            read(text)


def test_the_schema_is_in_the_contracts_order_with_a_value_for_missing_last() -> None:
    schema = schema_of_contract(contract(ICD, GRADE, SEX, PULSE, LACTATE))
    assert [one.values for one in schema.attributes[:4]] == [
        ("infarct", "heart", "fracture", "other", "missing"),
        ("1", "2"),
        ("female", "male"),
        ("<= 60", "> 60 to 100", "> 100", "missing"),
    ]
    assert schema.attributes[4].fixed_point is not None
    assert schema.classes == ("no", "yes")


def test_fractional_is_marked_in_the_schema() -> None:
    schema = schema_of_contract(contract({**ICD, "missing_policy": "fractional"}, PULSE))
    assert (schema.attributes[0].is_fractional, schema.attributes[1].is_fractional) == (True, False)
    assert schema.attributes[0].values[-1] == "missing"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({**SEX, "values": [{"value": "Male"}, {"value": "male"}]}, "means"),
    ({**SEX, "values": [{"value": "f", "texts": ["x"]}, {"value": "m", "texts": ["X"]}]}, "means"),
    ({**GRADE, "missing_codes": ["1.0"]}, "stands for missing"),
    ({**GRADE, "values": [{"value": "1"}, {"value": "missing"}]}, "refused"),
    ({**ICD, "values": [{"value": "a", "other": True}, {"value": "b", "other": True}]}, "two values"),
    ({**SEX, "columns": ["ill"]}, "is named for"),
    ({**LACTATE, "missing_policy": "category"}, "missing_policy"),
    ({**LACTATE, "decimals": None}, "a number has cuts"),
    ({**PULSE, "cuts": ["100", "60"]}, "rise"),
    ({**PULSE, "minimum": "300", "maximum": "20"}, "minimum 300 is above the maximum 20"),
    ({**LACTATE, "minimum": "31"}, "minimum 31 is above the maximum 30"),
    ({**PULSE, "values": [{"value": "1"}]}, "a number has no values"),
    ({**SEX, "cuts": ["1"]}, "a category has values"),
    ({**SEX, "description": "two\nlines"}, "one line"),
]


@pytest.mark.parametrize(("members", "says"), WRONG)
def test_a_contract_that_contradicts_itself_is_refused(members: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        schema_of_contract(contract(members))


def test_nothing_that_says_nothing_is_written() -> None:
    text = contract(SEX).canonical().decode()
    assert "description" not in text
    assert "prefixes" not in text
    assert contract_of(json.loads(text), "again") == contract(SEX)


VALUES = st.sets(st.sampled_from(["1", "2", "3", "10", "a", "b"]), min_size=0, max_size=5)


@given(st.lists(st.tuples(VALUES, VALUES, st.booleans()), min_size=1, max_size=4))
def test_merging_is_the_same_in_every_order(drafts: list[tuple[set[str], set[str], bool]]) -> None:
    made = [
        contract(
            {**GRADE, "spelling": "exact", "values": [{"value": v} for v in sorted(values)]},
            {**ICD, "missing_codes": sorted(codes), "missing_policy": "category" if gaps else "refuse"},
        )
        for values, codes, gaps in drafts
        if values
    ]
    if not made:
        return
    results = {merge(list(order)).canonical() for order in itertools.permutations(made)}
    assert len(results) == 1
    merged = merge(made)
    listed = [entry.value for entry in merged.attributes[0].values]
    assert sorted(listed) == sorted(set().union(*(values for values, _, _ in drafts)))
    assert merge([merged, merged]) == merged


def test_attributes_keep_the_order_that_all_drafts_have_and_no_other() -> None:
    """It decides between tied attributes, so it is the file's where all hospitals have the same file."""
    assert [one.name for one in merge([contract(SEX, GRADE)] * 3).attributes] == ["sex", "grade"]
    drafts = [contract(SEX, GRADE), contract(SEX, GRADE), contract(GRADE, SEX)]
    assert [one.name for one in merge(drafts).attributes] == ["grade", "sex"]


def test_values_keep_the_order_that_all_drafts_have_and_no_other() -> None:
    """Low, high; and of classes the first is the label where two are as frequent."""
    low, high = (
        {**SEX, "values": [{"value": "low"}, {"value": "high"}]},
        {**SEX, "values": [{"value": "high"}]},
    )
    target = {"name": "ill", "values": [{"value": "yes"}, {"value": "no"}]}
    kept = merge([contract(low, target=target)] * 2)
    assert [entry.value for entry in kept.attributes[0].values] == ["low", "high"]
    assert [entry.value for entry in kept.class_.values] == ["yes", "no"]
    mixed = merge([contract(low), contract(high)])
    assert [entry.value for entry in mixed.attributes[0].values] == ["high", "low"]


def test_a_value_that_is_a_spelling_elsewhere_becomes_that_spelling() -> None:
    plain = contract({**SEX, "values": [{"value": "w"}, {"value": "male"}]})
    merged = merge([plain, contract(SEX)])
    assert [entry.value for entry in merged.attributes[0].values] == ["female", "male"]
    assert attribute_reader(merged.attributes[0])("W") == "female"


def test_a_value_in_another_case_is_no_new_name_for_it() -> None:
    loud = contract({**SEX, "values": [{"value": "W"}, {"value": "male", "texts": ["male", "MALE"]}]})
    for drafts in ([loud, contract(SEX)], [contract(SEX), loud]):
        assert [entry.value for entry in merge(drafts).attributes[0].values] == ["female", "male"]


def test_one_number_written_in_two_ways_is_one_bound() -> None:
    bounds = ({"minimum": "20", "maximum": "300.0"}, {"minimum": "20.0", "maximum": "300"})
    drafts = [contract({**PULSE, **each}) for each in bounds]
    assert merge(drafts).sha256 == merge(drafts[::-1]).sha256


def test_merged_ranges_spellings_and_names_are_the_widest() -> None:
    here = contract({**PULSE, "columns": ["HR"]}, {**GRADE, "spelling": "exact"})
    there = contract({**PULSE, "minimum": "10.5", "maximum": "250", "columns": ["Puls"]}, GRADE)
    merged = {one.name: one for one in merge([here, there]).attributes}
    assert (merged["pulse"].minimum, merged["pulse"].maximum) == ("10.5", "300")
    assert merged["pulse"].columns == ["HR", "Puls"]
    assert merged["grade"].spelling == "number"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"unit": "bpm"}, "differ in unit"),
        ({"cuts": ["70"]}, "differ in cuts"),
        ({"name": "heart rate"}, "does not have it"),
        ({"missing_policy": "fractional"}, "differ in missing_policy"),
    ],
)
def test_drafts_that_contradict_each_other_name_the_column(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        merge([contract(PULSE), contract({**PULSE, **change})])


def test_drafts_that_read_one_text_differently_are_refused() -> None:
    other = {**SEX, "values": [{"value": "female"}, {"value": "male", "texts": ["w"]}]}
    with pytest.raises(InputError, match="different values"):
        merge([contract(SEX), contract(other)])


UNSAFE = ("\x1b[2J", "two\nlines", "\u202eback")


@pytest.mark.parametrize("text", UNSAFE)
@pytest.mark.parametrize(
    "changes",
    [
        lambda text: {"values": [{"value": "a", "texts": [text]}]},
        lambda text: {"values": [{"value": "a", "prefixes": [text]}]},
        lambda text: {"missing_codes": [text]},
        lambda text: {"columns": [text]},
        lambda text: {"code_list": {"url": text, "file_sha256": "0" * 64}},
        lambda text: {"code_list": {"systems": [text], "file_sha256": "0" * 64}},
        lambda text: {
            "kind": "number",
            "values": [],
            "cuts": ["1"],
            "conversions": [{"unit": text, "factor": "2"}],
        },
    ],
)
def test_no_text_of_a_contract_can_steer_the_terminal_of_who_approves_it(changes: Any, text: str) -> None:
    with pytest.raises(InputError, match="one line without control characters"):
        check_contract(_with_column(changes(text)))


@pytest.mark.parametrize("factor", ["0", "0.00", "-0"])
def test_no_unit_makes_all_numbers_one(factor: str) -> None:
    number = {"kind": "number", "values": [], "cuts": ["1"], "conversions": [{"unit": "g", "factor": factor}]}
    with pytest.raises(ValueError, match="would make all numbers one"):
        _with_column(number)


def test_a_prefix_means_one_value_and_the_longest_wins_among_many() -> None:
    twice = [{"value": "a", "prefixes": ["I2"]}, {"value": "b", "prefixes": ["I2"]}]
    with pytest.raises(InputError, match="means 'a' and 'b'"):
        check_contract(_with_column({"values": twice}))
    many = [
        {"value": f"v{value}", "prefixes": [f"{value:03d}{code:05d}" for code in range(4096)]}
        for value in range(100)
    ]
    whole = {"value": "whole", "prefixes": ["042"]}
    read = attribute_reader(_with_column({"values": [*many, whole]}).attributes[0])
    assert (read("04204095.9"), read("0429"), read(" 042")) == ("v42", "whole", "whole")
    with pytest.raises(BrokenRuleError):
        read("none")


def test_a_prefix_is_compared_as_its_values_are_spelled() -> None:
    values = [{"value": "infarct", "prefixes": ["I21"]}, {"value": "other", "other": True}]
    exact, folded = (
        attribute_reader(_with_column({"values": values, "spelling": spelling}).attributes[0])
        for spelling in ("exact", "folded")
    )
    assert (exact("i21.9"), folded("i21.9"), folded(" I21.9")) == ("other", "infarct", "infarct")
    twice = [{"value": "a", "prefixes": ["I2"]}, {"value": "b", "prefixes": ["i2"]}]
    check_contract(_with_column({"values": twice}))
    with pytest.raises(InputError, match="means 'a' and 'b'"):
        check_contract(_with_column({"values": twice, "spelling": "folded"}))


def _with_column(changes: dict[str, Any]) -> DataContract:
    column = {"name": "d", "kind": "category", "values": [{"value": "a"}]} | changes
    target = {"name": "y", "values": [{"value": "0"}, {"value": "1"}]}
    return DataContract.model_validate({"name": "c", "attributes": [column], "class": target})
