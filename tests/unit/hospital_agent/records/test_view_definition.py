"""SQL-on-FHIR view definitions: which rows a resource becomes, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.records.flattening import flatten
from hospital_agent.records.time_limit import at_most
from hospital_agent.records.view_definition import ViewDefinition
from shared.errors import InputError

PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "active": True,
    "multipleBirthInteger": 2,
    "name": [{"use": "official", "family": "A", "given": ["x", "y"]}, {"use": "nickname", "given": ["z"]}],
    "contact": [{"telecom": [{"value": "1"}, {"value": "2"}]}, {"telecom": [{"value": "3"}]}, {}],
    "extension": [{"url": "http://example.org/race", "valueString": "other"}],
    "managingOrganization": {"reference": "https://example.org/fhir/Organization/o9/_history/2"},
}
PRESSURE = {
    "resourceType": "Observation",
    "id": "b1",
    "subject": {"reference": "Patient/p1"},
    "component": [
        {"code": {"coding": [{"code": "8480-6"}]}, "valueQuantity": {"value": Decimal("121.5")}},
        {"code": {"coding": [{"code": "8462-4"}]}, "valueQuantity": {"value": 80}},
        {"code": {"coding": [{"code": "x"}]}, "valueString": "no cuff"},
    ],
}


def column(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "path": path, **more}


def rows(select: list[Any], resource: dict[str, Any] = PATIENT, **more: Any) -> list[tuple[Any, ...]]:
    document = {"resource": resource["resourceType"], "select": select, **more}
    return [tuple(row.values()) for row in ViewDefinition.parse(document, "view.json").rows(resource)]


def test_columns_of_all_kinds() -> None:
    found = [
        column("id", "getResourceKey()"),
        column("active", "active"),
        column("birth", "multipleBirth.ofType(integer)"),
        column("family", "name.where(use = 'official').family"),
        column("race", "extension('http://example.org/race').value.ofType(string)"),
        column("at", "managingOrganization.getReferenceKey(Organization)"),
        column("other", "managingOrganization.getReferenceKey(Patient)"),
        column("gone", "birthDate"),
    ]
    assert rows([{"column": found}]) == [("p1", True, 2, "A", "other", "o9", None, None)]


def test_each_element_is_a_row_and_none_is_none_or_a_row_without_values() -> None:
    own = {"column": [column("id", "id")]}
    given = [column("given", "given.first()")]
    assert rows([own, {"forEach": "name", "column": given}]) == [("p1", "x"), ("p1", "z")]
    assert rows([own, {"forEach": "photo", "column": given}]) == []
    assert rows([own, {"forEachOrNull": "photo", "column": given}]) == [("p1", None)]


def test_elements_within_elements_and_products() -> None:
    phones = {"forEach": "contact", "select": [{"forEach": "telecom", "column": [column("value", "value")]}]}
    assert rows([phones]) == [("1",), ("2",), ("3",)]
    names = {"forEach": "name", "column": [column("use", "use")]}
    assert rows([names, phones])[:4] == [
        ("official", "1"),
        ("official", "2"),
        ("official", "3"),
        ("nickname", "1"),
    ]


def test_unions_and_constants_and_conditions() -> None:
    union = {
        "column": [column("id", "id")],
        "unionAll": [
            {"forEach": "name.given", "column": [column("text", "$this")]},
            {"forEach": "contact.telecom", "column": [column("text", "value")]},
        ],
    }
    assert rows([union]) == [("p1", "x"), ("p1", "y"), ("p1", "z"), ("p1", "1"), ("p1", "2"), ("p1", "3")]
    named = [{"column": [column("given", "name.where(use = %use).given.first()")]}]
    assert rows(named, constant=[{"name": "use", "valueCode": "nickname"}]) == [("z",)]
    assert rows(named, constant=[{"name": "use", "valueCode": "x"}], where=[{"path": "active = false"}]) == []


def test_choices_of_type_within_an_element() -> None:
    parts = {
        "forEach": "component.where(value.ofType(Quantity).exists())",
        "column": [column("code", "code.coding.code"), column("value", "value.ofType(Quantity).value")],
    }
    assert rows([parts], PRESSURE) == [("8480-6", Decimal("121.5")), ("8462-4", 80)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "a view needs a resource and a select"),
        (
            {"resource": "Patient", "select": [{"column": [column("a", "id"), column("a", "id")]}]},
            "both named 'a'",
        ),
        ({"resource": "Patient", "select": [{"column": [{"name": "a"}]}]}, "column 'a' needs a path"),
        (
            {"resource": "Patient", "select": [{"column": [column("a", "name§")]}]},
            "a path that is no FHIRPath",
        ),
        (
            {"resource": "Patient", "select": [{"column": [column("a", "name..given")]}]},
            "a path that is no FHIRPath",
        ),
        (
            {"resource": "Patient", "select": [{"column": [column("a", "name given")]}]},
            "a path that is no FHIRPath",
        ),
        (
            {"resource": "Patient", "select": [{"column": [column("a", "id", collection=True)]}]},
            "is a collection",
        ),
        ({"resource": "Patient", "select": [{"repeat": ["item"]}]}, "a select has repeat"),
        (
            {
                "resource": "Patient",
                "select": [{"unionAll": [{"column": [column("a", "id")]}, {"column": [column("b", "id")]}]}],
            },
            "different columns",
        ),
    ],
)
def test_views_that_cannot_be_used(document: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ViewDefinition.parse(document, "view.json")


def test_faults_of_resources_name_file_and_line_and_no_value(tmp_path: Path) -> None:
    view, resources = tmp_path / "view.json", tmp_path / "Patient.ndjson"
    view.write_text(
        json.dumps({"resource": "Patient", "select": [{"column": [column("given", "name.given")]}]})
    )
    resources.write_text("\n" + json.dumps(PATIENT | {"name": [{"given": ["Ottilie", "Anna"]}]}))
    with pytest.raises(
        InputError, match=r"^Patient\.ndjson, line 2, column 'given': the path gives more than"
    ) as caught:
        flatten(view, [resources], tmp_path / "out.csv")
    assert "Ottilie" not in str(caught.value)
    resources.write_text('{"resourceType": "Patient"}\n[]\n')
    with pytest.raises(InputError, match=r"^Patient\.ndjson, line 2: expected one FHIR resource"):
        flatten(view, [resources], tmp_path / "out.csv")
    with pytest.raises(InputError, match=r"expected a name that ends in \.parquet or \.csv"):
        flatten(view, [resources], tmp_path / "out.txt")


def flattened(tmp_path: Path, view: object, resources: str) -> str:
    (tmp_path / "view.json").write_text(view if isinstance(view, str) else json.dumps(view))
    (tmp_path / "in.ndjson").write_text(resources)
    out = tmp_path / "out.csv"
    flatten(tmp_path / "view.json", [tmp_path / "in.ndjson"], out)
    return out.read_text()


@pytest.mark.parametrize(
    "path", ["name.trace('x').family", "trace('x').id", "name.trace('x', family).family"]
)
def test_no_path_prints_a_record(tmp_path: Path, capfd: pytest.CaptureFixture[str], path: str) -> None:
    view = {"resource": "Patient", "select": [{"column": [column("a", path)]}]}
    patient = {"resourceType": "Patient", "id": "told", "name": [{"family": "told"}]}
    assert flattened(tmp_path, view, json.dumps(patient)).split() == ["a", "told"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"select": 5},
        {"select": [5]},
        {"select": [{"column": {"name": "a"}}]},
        {"select": [{"column": [5]}]},
        {"constant": [5]},
        {"constant": 5},
        {"where": 5},
        {"where": [5]},
    ],
)
def test_a_view_of_another_shape_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    view = {"resource": "Patient", "select": [{"column": [column("a", "id")]}]} | changes
    with pytest.raises(InputError, match=r"view\.json: an element of the view"):
        flattened(tmp_path, view, json.dumps(PATIENT))


def test_deep_documents_and_halves_of_characters_are_refused(tmp_path: Path) -> None:
    view = {"resource": "Patient", "select": [{"column": [column("a", "id")]}]}
    deep = "[" * 100_000 + "]" * 100_000
    with pytest.raises(InputError, match="the view is not JSON"):
        flattened(tmp_path, deep, json.dumps(PATIENT))
    with pytest.raises(InputError, match="line 1: expected one FHIR resource"):
        flattened(tmp_path, view, f'{{"resourceType": "Patient", "x": {deep}}}')
    with pytest.raises(InputError, match="line 1: a text holds half of a character"):
        flattened(tmp_path, view, '{"resourceType": "Patient", "id": "\\ud800"}')


def _for_ever() -> None:
    while True:
        pass


def test_what_does_not_end_is_stopped_and_what_fails_by_itself_says_so() -> None:
    with (
        pytest.raises(InputError, match=r"line 1: took longer than 0\.05 seconds\. Look at it"),
        at_most(0.05, "line 1", "Look at it."),
    ):
        _for_ever()
    with pytest.raises(ZeroDivisionError), at_most(60, "line 1", "Look at it."):
        _ = 1 // 0
