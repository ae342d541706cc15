"""A new study through the pages, by real HTTP: the happy path, each error beside its field, drafts that survive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

import pytest

from shared.protocol.plain_words import words_of
from tests.support.browsing import Browser, with_session
from tests.support.clinic import SCHEMA as WARD
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.ward import MAPPING

LINES = "nausea: no, yes\nstage (in order): I, II, III\ntemperature: cut at 37.5, 38"
QUESTION = {"question": "Who needs a bed?", "id": "beds", "purpose": "", "legal_basis": ""}
RECORDS = {"document": "", "lines": LINES, "class_name": "outcome", "class_labels": "home, ward"}
HOSPITALS = {"members": ["h1", "h2", "h3"], "records": "5000", "min_hospitals": "3", "start": "approved"}
MODE: dict[str, Any] = {"round_trip_ms": "30", "megabits": "50", "profiles": ["hardened", "secret-id3"]}
RULES = {"min_node": "20", "min_child": "5", "max_depth": "6", "disclosure": "class", "max_jobs": "7"}
RULES |= {"expires": "", "noise_sigma": "", "noise_untrusted": "1"}
STEPS: Mapping[str, Mapping[str, Any]] = {
    "question": QUESTION,
    "records": RECORDS,
    "hospitals": HOSPITALS,
    "mode": MODE,
    "rules": RULES,
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    """A cloud of a federation with four hospitals."""
    with running_cloud(
        tmp_path_factory.mktemp("cloud"), hospitals=("h1", "h2", "h3", "h4"), bits=512
    ) as running:
        yield running


@pytest.fixture(scope="module")
def browser(cloud: CloudUnderTest) -> Browser:
    """A coordinator's."""
    return with_session(cloud, "coordinator-all", ["coordinator"], None)


def begun(browser: Browser, **question: str) -> str:
    """A draft with its first step; its address."""
    browser.get("/studies/new")
    answer = browser.post("/studies/new", {**QUESTION, **question})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"].rsplit("/", 1)[0])


def filled(browser: Browser, **changes: Mapping[str, Any]) -> str:
    """A draft with all its steps, each with these changes; its address."""
    draft = begun(browser, **changes.get("question", {}))
    for step, fields in STEPS.items():
        if step != "question":
            browser.post(f"{draft}/{step}", {**fields, **changes.get(step, {})})
    return draft


def text_of(page: str) -> str:
    """What a page says, without tags."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def fault_of(page: str, field: str) -> str:
    """The fault that stands beside a field."""
    found = re.search(rf'id="{field}-fault">([^<]+)<', page)
    assert found is not None, text_of(page)
    assert 'aria-invalid="true"' in page
    return unescape(found[1])


def test_a_study_from_question_to_summary(cloud: CloudUnderTest, browser: Browser) -> None:
    draft = filled(browser)
    compared = text_of(browser.get(f"{draft}/mode").text)
    for told in ("For these records and wishes we advise: Encrypted counts", "Time up to", "Rounds up to 3"):
        assert told in compared
    summary = browser.get(f"{draft}/summary").text
    assert cloud.people.get("/v1/studies/beds").status_code == 404
    answer = browser.post(f"{draft}/create")
    assert (answer.status_code, answer.headers["location"]) == (303, "/studies/beds")
    document = cloud.services.studies.get("beds").document
    assert document is not None
    said = text_of(summary)
    assert [words for words in words_of(document) if words not in said] == []
    assert document.profiles == ["hardened", "secret-id3"]
    assert (document.min_node, document.max_depth, document.max_jobs, document.start) == (
        20,
        6,
        7,
        "approved",
    )
    assert document.members == ["h1", "h2", "h3"]
    schema = document.schema_.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert [one["values"] for one in schema["attributes"]] == [
        ["no", "yes"],
        ["I", "II", "III"],
        ["<= 37.5", "> 37.5 to 38", "> 38"],
    ]
    again = browser.post(f"{draft}/create")
    assert (again.status_code, again.headers["location"]) == (303, "/studies/beds")
    assert browser.get(f"{draft}/rules").headers["location"] == "/studies/beds"
    acts = cloud.people.get("/v1/studies/beds/dossier").json()["acts"]
    assert [(act["act"], act["actor"]) for act in acts] == [("study_created", "coordinator-all")]


def test_a_study_may_publish_figures(cloud: CloudUnderTest, browser: Browser) -> None:
    ticked = {"quality": ["evaluation", "importance"], "quality_floor": "20"}
    draft = filled(browser, question={"id": "judged"}, rules=ticked)
    assert "how much each of them told" in text_of(browser.get(f"{draft}/mode").text)  # on the advisor's card
    assert "No number of records below 20 is told" in text_of(browser.get(f"{draft}/summary").text)
    assert browser.post(f"{draft}/create").headers["location"] == "/studies/judged"
    document = cloud.services.studies.get("judged").document
    assert document is not None
    assert document.quality is not None
    assert document.quality.model_dump() == {"figures": ["evaluation", "importance"], "floor": 20}
    assert document.tallies == ["evaluation"]
    assert 'id="quality-evaluation"' in browser.get(f"{filled(browser)}/rules").text
    wrong = filled(browser, question={"id": "wrong"}, rules={**ticked, "quality_floor": "1"})
    assert "from 2 to 1000" in fault_of(
        browser.post(f"{wrong}/rules", {**RULES, **ticked, "quality_floor": "1"}).text, "quality_floor"
    )


ASKED = {
    "profiles": ["secret-gainratio"],
    "asking": "yes",
    "ask_questions_per_day": "3",
    "ask_questions": "40",
    "ask_records_per_day": "50",
    "ask_records": "600",
}
MEASURED = {"lines": "age: numbers 0 to 120", "class_name": "ill", "class_labels": "no, yes"}


def test_a_study_may_let_hospitals_ask_a_shared_tree(cloud: CloudUnderTest, browser: Browser) -> None:
    draft = filled(browser, question={"id": "asked"}, records=MEASURED, mode=ASKED)
    assert "3 within 24 hours and 40 altogether" in text_of(browser.get(f"{draft}/summary").text)
    assert browser.post(f"{draft}/create").headers["location"] == "/studies/asked"
    document = cloud.services.studies.get("asked").document
    assert document is not None
    assert document.shared_result
    assert document.asking is not None
    assert document.asking.model_dump() == {
        "questions_per_day": 3, "questions": 40, "records_per_day": 50, "records": 600,
    }  # fmt: skip
    silent = filled(browser, question={"id": "silent"}, records=MEASURED, mode={**ASKED, "asking": []})
    assert browser.post(f"{silent}/create").headers["location"] == "/studies/silent"
    document = cloud.services.studies.get("silent").document
    assert document is not None
    assert document.asking is None


@pytest.mark.parametrize(
    ("step", "changes", "field", "says"),
    [
        ("question", {"id": "No Blanks"}, "id", "small letters"),
        pytest.param("question", {"question": ""}, "question", "2000", marks=pytest.mark.long),
        pytest.param("question", {"purpose": "x" * 501}, "purpose", "500", marks=pytest.mark.long),
        ("records", {"lines": "nausea no yes"}, "lines", "line 1"),
        pytest.param("records", {"lines": "a: x, y\nb: 1, 1"}, "lines", "repeat", marks=pytest.mark.long),
        pytest.param("records", {"lines": "t: cut at 38, 37"}, "lines", "rise", marks=pytest.mark.long),
        pytest.param("records", {"lines": "t: numbers 9 to 1"}, "lines", "line 1", marks=pytest.mark.long),
        pytest.param("records", {"lines": ""}, "lines", "at least one", marks=pytest.mark.long),
        ("records", {"document": "{"}, "document", "JSON"),
        pytest.param(
            "records",
            {"document": '{"attributes": 3}'},
            "document",
            "privet data draft",
            marks=pytest.mark.long,
        ),
        pytest.param("records", {"class_labels": ""}, "class_labels", "class", marks=pytest.mark.long),
        ("hospitals", {"min_hospitals": "2"}, "min_hospitals", "from 3 on"),
        pytest.param("hospitals", {"members": ["h1", "h9"]}, "members", "h9", marks=pytest.mark.long),
        ("mode", {"compute_0": "h1", "compute_1": "h1", "compute_2": "h2"}, "compute_0", "different"),
        ("mode", {**ASKED, "ask_records": "many"}, "ask_records", "whole number"),
        pytest.param("mode", {**ASKED, "ask_records": "9"}, "asking", "no more", marks=pytest.mark.long),
        ("rules", {"min_node": "many"}, "min_node", "whole number"),
        pytest.param("rules", {"max_jobs": "0"}, "max_jobs", "100000", marks=pytest.mark.long),
        pytest.param("rules", {"expires": "soon"}, "expires", "2027-11-30", marks=pytest.mark.long),
        ("rules", {"expires": "2020-01-01"}, "expires", "after created"),
        pytest.param("rules", {"expires": "2090-01-01"}, "expires", "ten years", marks=pytest.mark.long),
        ("rules", {"noise_sigma": "loud"}, "noise_sigma", "above 0"),
    ],
)
def test_an_error_stands_beside_its_field_and_nothing_is_lost(
    browser: Browser, step: str, changes: dict[str, Any], field: str, says: str
) -> None:
    draft = filled(browser, question={"id": "errors"})
    answer = browser.post(f"{draft}/{step}", {**STEPS[step], "id": "errors", **changes})
    assert answer.status_code == 422
    assert says in fault_of(answer.text, field)
    kept = browser.get(f"{draft}/{step}").text
    for name, value in changes.items():
        if isinstance(value, str) and value and not name.startswith("compute"):
            assert value.splitlines()[0] in unescape(kept)
    summary = browser.get(f"{draft}/summary").text
    assert says in text_of(summary)
    assert f"{draft}/{step}#{field}" in summary
    assert browser.post(f"{draft}/create").status_code == 422
    browser.post(f"{draft}/delete")


def test_a_file_with_a_schema_a_study_or_a_contract(browser: Browser) -> None:
    schema = {
        "attributes": [{"name": "pain", "values": ["no", "yes"]}],
        "class": {"name": "outcome", "labels": ["home", "ward"]},
    }
    contract = {
        "v": 1,
        "name": "pains",
        "attributes": [
            {
                "name": "pain",
                "description": "Pain at rest",
                "columns": ["ache"],
                "kind": "category",
                "values": [{"value": "no"}, {"value": "yes", "texts": ["y"]}],
            }
        ],
        "class": {"name": "outcome", "values": [{"value": "home"}, {"value": "ward"}]},
    }
    for number, document in enumerate((schema, {"schema": schema}, contract)):
        draft = begun(browser, id=f"file-{number}")
        answer = browser.post(f"{draft}/records", {**RECORDS, "document": json.dumps(document)})
        assert answer.status_code == 303, text_of(answer.text)
        told = text_of(browser.get(f"{draft}/records").text)
        assert "pain values, one by one no; yes" in told
        assert ("Pain at rest ache" in told) == (document is contract)
        browser.post(f"{draft}/delete")


def test_a_mapping_for_clinical_systems_is_uploaded(browser: Browser) -> None:
    records = {**RECORDS, "document": json.dumps(WARD), "lines": ""}
    draft = begun(browser, id="mapped")
    answer = browser.post(f"{draft}/records", {**records, "fhir": "{"})
    assert answer.status_code == 422
    assert "not JSON" in fault_of(answer.text, "fhir")
    foreign = {**MAPPING, "attributes": [{**MAPPING["attributes"][0], "name": "fever"}]}
    answer = browser.post(f"{draft}/records", {**records, "fhir": json.dumps(foreign)})
    assert answer.status_code == 422
    assert "fever" in fault_of(answer.text, "fhir")
    answer = browser.post(f"{draft}/records", {**records, "fhir": json.dumps(MAPPING)})
    assert answer.status_code == 303, text_of(answer.text)
    assert "FHIR mapping inflammations" in text_of(browser.get(f"{draft}/summary").text)
    browser.post(f"{draft}/delete")


def test_a_draft_is_its_owners_alone(cloud: CloudUnderTest, browser: Browser) -> None:
    draft = begun(browser, id="mine")
    assert f"{draft}/question" in browser.get("/studies/new").text
    other = with_session(cloud, "somebody", ["coordinator"], None)
    assert draft not in other.get("/studies/new").text
    assert other.get(f"{draft}/question").status_code == 404
    assert other.post(f"{draft}/question", QUESTION).status_code == 404
    assert other.post(f"{draft}/create").status_code == 404
    assert with_session(cloud, "analyst", ["analyst"], None).get("/studies/new").status_code == 403
    assert browser.post(f"{draft}/delete").status_code == 303
    assert browser.get(f"{draft}/question").status_code == 404


def test_an_id_that_is_taken_is_told_at_the_first_step(cloud: CloudUnderTest, browser: Browser) -> None:
    cloud.study(
        {"attributes": [{"name": "a", "values": ["0", "1"]}], "class": {"name": "c", "labels": ["x", "y"]}},
        name="taken",
    )
    draft = filled(browser, question={"id": "other"})
    answer = browser.post(f"{draft}/question", {**QUESTION, "id": "taken"})
    assert "taken already" in fault_of(answer.text, "id")


def test_wishes_change_the_advice(browser: Browser) -> None:
    draft = filled(browser, question={"id": "wishes"})
    part = browser.post(f"{draft}/compare", {**MODE, "hide_sums": "yes"}).text
    assert "we advise: Secret shares, listed values (mode id3)" in text_of(part)
    assert "<html" not in part
    part = browser.post(f"{draft}/compare", {**MODE, "hide_sums": "yes", "distrust": "yes"}).text
    assert "No way of computing fits all of your wishes" in text_of(part)


def test_every_mode_says_what_it_costs_and_who_learns_what(browser: Browser) -> None:
    draft = filled(browser, question={"id": "costs"})
    cards = browser.post(f"{draft}/compare", MODE).text.split("<article")[1:]
    assert len(cards) == 3
    for card in map(text_of, cards):
        for figure in ("Time up to", "Sent in all up to", "Rounds up to"):
            assert re.search(rf"{figure} [0-9]", card), (figure, card)
        told = card.partition("Who learns what")[2]
        assert all(who in told for who in ("The cloud", "ospital")), card
