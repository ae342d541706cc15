"""A patient's resources through a mapping: the latest that counts, exact numbers, nothing guessed."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hospital_agent.clinical.paths import path_compiler
from hospital_agent.clinical.services import ServicesFile
from hospital_agent.clinical_settings import ClinicalSection
from shared.contract.fhir import MappedRecord, MappingReader, Origin
from shared.contract.fhir_checking import check_mapping, draft_mapping
from shared.contract.fhir_resources import Gathered, moment_of, of_one_patient, resources_in
from shared.contract.fhir_values import age_in_years
from shared.errors import InputError, PeerError
from shared.tree.schema import Schema
from shared.wire.fhir_mapping import FhirMapping
from tests.support.ward import LOINC, SCT, UCUM, bundle, observation, subject

ASKED = datetime(2026, 11, 30, 12, tzinfo=UTC)
HBA1C = (LOINC, "4548-4")
NUMBER: dict[str, Any] = {
    "name": "hba1c",
    "resource": "Observation",
    "take": "value",
    "codes": [f"{LOINC}|4548-4"],
    "unit": "%",
    "conversions": [{"unit": "mmol/mol", "factor": "0.0915", "offset": "2.15"}],
    "decimals": 1,
}


def mapping(*attributes: dict[str, Any]) -> FhirMapping:
    raw = json.dumps({"v": 1, "name": "m", "attributes": list(attributes)}).encode()
    return FhirMapping.parse(raw, what="mapping", max_bytes=2**20)


def read(attribute: dict[str, Any], *resources: dict[str, Any], partial: tuple[str, ...] = ()) -> Origin:
    reader = MappingReader.of(mapping(attribute), path_compiler("mapping"))
    record: MappedRecord = reader.read(Gathered(tuple(resources), frozenset(partial)), ASKED)
    return record.origins[0]


def quantity(value: str, unit: str = "%", **more: Any) -> dict[str, Any]:
    return {"valueQuantity": {"value": Decimal(value), "unit": unit, "system": UCUM, "code": unit} | more}


def measured(date: str, value: str, unit: str = "%", **more: Any) -> dict[str, Any]:
    return observation(HBA1C, date, **quantity(value, unit), **more)


def test_the_latest_by_date_counts_whatever_its_place_and_its_time_zone() -> None:
    later = measured("2026-11-02T01:30:00+02:00", "7.1")  # 23:30 on the first, in UTC
    latest = measured("2026-11-01T23:45:00Z", "7.2")
    assert read(NUMBER, latest, measured("2025-01-01", "9.9"), later).value == Decimal("7.2")


@pytest.mark.parametrize("status", ["registered", "preliminary", "cancelled", "entered-in-error", "unknown"])
def test_what_is_not_final_amended_or_corrected_does_not_count(status: str) -> None:
    resources = [
        measured("2026-11-02", "7.1", status=status),
        measured("2026-01-01", "6.0", status="amended"),
    ]
    assert read(NUMBER, *resources).value == Decimal("6.0")


def test_numbers_are_converted_exactly_and_only_as_declared() -> None:
    origin = read(NUMBER, measured("2026-11-02", "53", "mmol/mol"))
    assert (origin.value, origin.given) == (Decimal("7.0"), "53 mmol/mol")
    with pytest.raises(
        InputError, match=r"attribute 'hba1c': a number in unit g/L; the mapping knows %, mmol/mol"
    ):
        read(NUMBER, measured("2026-11-02", "7777", "g/L"))
    with pytest.raises(InputError) as caught:
        read(NUMBER, measured("2026-11-02", "7777", "Mrs Smith said"))
    assert "Smith" not in str(caught.value)
    assert "7777" not in str(caught.value)


@pytest.mark.parametrize(
    ("resource", "note"),
    [
        (measured("2026-11-02", "4", comparator="<") | quantity("4", comparator="<"), "a bound"),
        (observation(HBA1C, "2026-11-02", valueRatio={}), "a Ratio"),
        (observation(HBA1C, "2026-11-02", **quantity("1E+99")), "too many digits"),
        (observation(HBA1C, "2026-11-02", dataAbsentReason={}), "carries a value"),
        (observation((LOINC, "1234-5"), "2026-11-02"), "no Observation that counts"),
        (
            observation(HBA1C, "2026-11-02", **quantity("7"), modifierExtension=[{}]),
            "no Observation that counts",
        ),
    ],
)
def test_what_is_no_number_gives_none_and_says_why(resource: dict[str, Any], note: str) -> None:
    origin = read(NUMBER, resource)
    assert origin.value is None
    assert note in origin.note


def test_two_values_of_one_moment_are_no_value_unless_one_was_told_later() -> None:
    first, second = measured("2026-11-02", "7.1"), measured("2026-11-02", "8.1")
    assert read(NUMBER, first, second).note == "two values of the same moment differ"
    assert read(NUMBER, first, first).value == Decimal("7.1")
    told_later = second | {"issued": "2026-11-03T00:00:00Z"}
    assert read(NUMBER, told_later, first).value == Decimal("8.1")


def test_how_far_back_counts() -> None:
    near = NUMBER | {"within_days": 90}
    assert read(near, measured("2026-09-02", "7.1")).value == Decimal("7.1")
    assert read(near, measured("2026-08-31", "7.1")).value is None
    assert read(near, measured("", "7.1")).value is None
    assert read(NUMBER, measured("2026-12-02", "7.1")).value is None, "a date that has not come"


def test_no_resource_is_missing_unless_it_is_declared_and_never_where_only_a_part_came() -> None:
    condition: dict[str, Any] = {
        "name": "ill",
        "resource": "Condition",
        "take": "present",
        "codes": [f"{SCT}|1"],
        "present": "yes",
    }
    assert read(condition).value is None
    declared = condition | {"absent": "no"}
    assert read(declared).value == "no"
    assert read(declared, partial=("Condition",)).value is None
    found = {
        "resourceType": "Condition",
        "code": {"coding": [{"system": SCT, "code": "1"}]},
        "subject": subject(),
    }
    assert read(declared, found).value == "yes"
    refuted = {"verificationStatus": {"coding": [{"code": "refuted"}]}}
    assert read(declared, found | refuted).value == "no"
    no_system = {"code": {"coding": [{"code": "1"}]}}
    assert read(declared, found | no_system).value == "no"
    active = declared | {"statuses": ["active"]}
    assert read(active, found).value == "no"
    assert read(active, found | {"clinicalStatus": {"coding": [{"code": "active"}]}}).value == "yes"


def test_bins_put_a_number_to_the_left_of_a_cut_that_it_equals() -> None:
    binned = NUMBER | {"bins": {"cuts": ["6.5", "8"], "values": ["low", "middle", "high"]}}
    values = [
        read(binned, measured("2026-11-02", text)).value for text in ("6.5", "6.54", "6.56", "8.0", "8.1")
    ]
    assert values == ["low", "low", "middle", "middle", "high"]


def test_a_part_of_an_observation_is_read_by_its_own_code() -> None:
    systolic: dict[str, Any] = {
        "name": "systolic",
        "resource": "Observation",
        "take": "value",
        "codes": [f"{LOINC}|85354-9"],
        "component": [f"{LOINC}|8480-6"],
        "unit": "mm[Hg]",
    }
    parts = [
        {"code": {"coding": [{"system": LOINC, "code": code}]}} | quantity(value, "mm[Hg]")
        for code, value in (("8462-4", "80"), ("8480-6", "120"))
    ]
    assert read(systolic, observation((LOINC, "85354-9"), "2026-11-02", component=parts)).value == 120


def test_age_is_of_whole_years_and_never_guessed() -> None:
    on = ASKED.date()
    ages = {"1960-11-30": 66, "1960-12-01": 65, "1960-06": 66, "1960": None, "1960-12": 65, "1960-11": 66}
    assert {born: age_in_years(born, on) for born in ages} == ages
    assert age_in_years("1960-11", on.replace(day=29)) is None
    assert [age_in_years(born, on) for born in ("2030-01-01", "x", "1960-13-01", "", "1960-1-1-1")] == [
        None
    ] * 5
    age: dict[str, Any] = {"name": "age", "resource": "Patient", "take": "age"}
    assert read(age, {"resourceType": "Patient", "birthDate": "1960-12-01"}).value == 65
    assert "open" in read(age, {"resourceType": "Patient", "birthDate": "1960"}).note


def test_paths_see_the_moment_of_asking_and_no_clock() -> None:
    path = "%asked.toString().substring(0, 4).toInteger() - birthDate.toString().substring(0, 4).toInteger()"
    born: dict[str, Any] = {"name": "age", "resource": "Patient", "take": "path", "path": path}
    assert read(born, {"resourceType": "Patient", "birthDate": "1960"}).value == 66
    for wrong in ("today()", "birthDate..x", "now () > birthDate"):
        with pytest.raises(InputError):
            read(born | {"path": wrong})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"codes": []}, "codes: name at least one"),
        ({"take": "age"}, "take 'age' is of resource Patient"),
        ({"take": "present"}, "present: name the value"),
        ({"path": "value"}, "path: goes with take 'path'"),
        ({"values": [{"value": "a"}, {"value": "a"}]}, "values: expected each once"),
        ({"bins": {"cuts": ["2", "1"], "values": ["a", "b", "c"]}}, "cuts that rise"),
        ({"codes": ["loinc|x"]}, "codes.0"),
        ({"unit": "", "conversions": NUMBER["conversions"]}, "name the unit"),
        ({"drafts": True}, "drafts: of MedicationRequest"),
        ({"typo": 1}, "typo"),
    ],
)
def test_a_mapping_that_contradicts_itself_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(PeerError, match=text.replace("(", r"\(")):
        mapping(NUMBER | changes)


def test_resources_of_two_patients_are_refused_and_neither_is_named() -> None:
    other = measured("2026-11-01", "7") | {"subject": subject("somebody-else")}
    with pytest.raises(InputError, match="more than one patient") as caught:
        of_one_patient(resources_in(bundle(measured("2026-11-01", "7"), other)))
    assert "somebody" not in str(caught.value)
    with pytest.raises(InputError, match="more than one patient"):
        of_one_patient(resources_in(bundle(other)), "pat-7f3a")
    far = measured("2026-11-01", "7") | {"subject": {"reference": "https://a.example/fhir/Patient/1"}}
    near = measured("2026-11-01", "7") | {"subject": {"reference": "https://b.example/fhir/Patient/1"}}
    with pytest.raises(InputError, match="more than one patient"):
        of_one_patient(resources_in([far, near]))


def test_a_resource_of_nobody_is_mixed_with_no_patients() -> None:
    nobodys = {name: value for name, value in measured("2026-11-01", "7").items() if name != "subject"}
    both = resources_in([measured("2026-11-01", "7"), nobodys])
    with pytest.raises(InputError, match="does not say whose it is"):
        of_one_patient(both)
    for kind in ({}, {"resourceType": "Patient", "id": ""}):
        with pytest.raises(InputError, match="does not say whose it is"):
            of_one_patient(resources_in(nobodys | kind), "pat-7f3a")
    assert len(of_one_patient(resources_in(nobodys | {"resourceType": "Medication"}), "pat-7f3a")) == 1
    assert len(of_one_patient(resources_in(nobodys))) == 1


def test_a_bundle_of_new_resources_names_its_patient_by_its_full_url() -> None:
    patient = {"fullUrl": "urn:uuid:1", "resource": {"resourceType": "Patient", "id": "7"}}
    entries = [patient, {"resource": measured("2026-11-01", "7") | {"subject": {"reference": "urn:uuid:1"}}}]
    found = resources_in({"resourceType": "Bundle", "type": "collection", "entry": entries})
    assert len(of_one_patient(found, "7")) == 2


@pytest.mark.parametrize("text", ["", "2026-1", "2026-13", "yesterday", "2026-11-30T25:00:00Z", None, 5])
def test_what_is_no_date_is_none(text: object) -> None:
    assert moment_of(text) is None


def test_a_draft_is_a_mapping_that_names_what_is_left_to_fill_in() -> None:
    schema = Schema.from_json(
        {
            "attributes": [
                {"name": "age", "values": ["<= 50", "> 50"], "cuts": ["50"]},
                {"name": "sex", "values": ["male", "female"]},
                {"name": "ill", "values": ["yes", "no"]},
            ],
            "class": {"name": "c", "labels": ["a", "b"]},
        }
    )
    draft = draft_mapping("m", schema)
    with pytest.raises(InputError, match="attribute 'ill': a code of the draft is not filled in"):
        check_mapping(draft, schema)
    filled = FhirMapping.parse(draft.canonical().replace(b"FILL-IN", b"1-8"), what="mapping", max_bytes=2**20)
    assert check_mapping(filled, schema) == []
    assert check_mapping(mapping({"name": "age", "resource": "Patient", "take": "age"}), schema) == [
        "sex is not mapped: always missing",
        "ill is not mapped: always missing",
    ]
    measured = {"name": "age", "resource": "Observation", "take": "value", "codes": [f"{LOINC}|1-8"]}
    assert "age has no unit: a number that carries one is refused" in check_mapping(mapping(measured), schema)
    assert not any("unit" in note for note in check_mapping(mapping(measured | {"unit": "a"}), schema))
    with pytest.raises(InputError, match="the study has no such attribute"):
        check_mapping(mapping(NUMBER), schema)


@pytest.mark.parametrize("mark", ["\x1b[2J", "\u202e", "\n"])
@pytest.mark.parametrize(
    "changes",
    [
        {"description": "x"},
        {"resource": "QuestionnaireResponse", "codes": [], "link": "q"},
        {"take": "path", "path": "code.text", "unit": "", "conversions": []},
        {"unit": "", "conversions": [], "decimals": None, "values": [{"value": "1", "texts": ["x"]}]},
    ],
)
def test_what_stewards_read_of_a_mapping_is_plain(changes: dict[str, Any], mark: str) -> None:
    schema = Schema.from_json(
        {
            "attributes": [{"name": "hba1c", "values": ["1", "2"]}],
            "class": {"name": "c", "labels": ["a", "b"]},
        }
    )
    document = {"v": 1, "name": "m", "attributes": [NUMBER | changes]}
    hidden = {name: _marked(value, mark) for name, value in changes.items() if name != "resource"}
    marked = document | {"attributes": [NUMBER | changes | hidden]}
    try:
        fooled = FhirMapping.model_validate(marked)
    except ValueError:
        return  # its very form forbids it
    with pytest.raises(InputError, match="one line"):
        check_mapping(fooled, schema)


def _marked(value: Any, mark: str) -> Any:
    if isinstance(value, list):
        return [_marked(one, mark) for one in value]
    if isinstance(value, dict):
        return {name: one if name == "value" else _marked(one, mark) for name, one in value.items()}
    return f"{value}{mark}" if value and value not in ("path", "Observation") else value


NAMES = [
    "resourceType",
    "entry",
    "resource",
    "code",
    "coding",
    "system",
    "status",
    "subject",
    "reference",
    "component",
]
NAMES += [
    "valueQuantity",
    "value",
    "unit",
    "effectiveDateTime",
    "item",
    "answer",
    "linkId",
    "link",
    "meta",
    "birthDate",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.decimals(allow_nan=False),
    st.sampled_from(
        ["Bundle", "Observation", "Patient", "QuestionnaireResponse", "final", LOINC, "4548-4", "x", "%"]
    ),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
RESOURCE = st.fixed_dictionaries(
    {"resourceType": st.sampled_from(["Observation", "Patient", "QuestionnaireResponse", "Bundle"])},
    optional=dict.fromkeys(NAMES[1:], JSON),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RESOURCE, max_size=3) | JSON)
def test_whatever_json_comes_it_is_read_or_refused_in_words(document: Any) -> None:
    reader = MappingReader.of(mapping(*EVERY_KIND), path_compiler("mapping"))
    try:
        resources = of_one_patient(resources_in(document))
        record = reader.read(Gathered(tuple(resources)), ASKED)
    except InputError:
        return
    assert len(record.origins) == len(EVERY_KIND)


EVERY_KIND: list[dict[str, Any]] = [
    NUMBER,
    {"name": "age", "resource": "Patient", "take": "age"},
    {"name": "sex", "resource": "Patient", "take": "gender"},
    {"name": "part", "resource": "Observation", "take": "value"}
    | {"codes": [f"{LOINC}|4548-4"], "component": [f"{LOINC}|4548-4"]},
    {"name": "pain", "resource": "QuestionnaireResponse", "take": "value", "link": "x"},
    {
        "name": "path",
        "resource": "Observation",
        "take": "path",
        "path": "value",
        "codes": [f"{LOINC}|4548-4"],
    },
]


def test_the_examples_of_the_guide_are_what_the_agent_takes() -> None:
    text = (Path(__file__).parents[4] / "docs/guides/clinical-systems.md").read_text()
    (written,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    FhirMapping.parse(written.encode(), what="mapping", max_bytes=2**20)
    settings_text, services = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    ClinicalSection.model_validate(tomllib.loads(settings_text)["clinical"])
    ServicesFile.model_validate(tomllib.loads(services))
