"""FHIR R4, 4.0.1: what our tests and guides take for it, and what agents write, held against two judges of it.

The library in the environment has models of 4.3 only, so these are elsewhere: `make judges`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.test_cds_hooks import VIEW, opened
from tests.support import registry, ward
from tests.support.fhir_r4 import faults_of, needs_judges

pytestmark = needs_judges
VALID: dict[str, Any] = {
    "lumbar pain": ward.LUMBAR,
    "urine pushing": ward.PUSHING,
    "nausea": ward.NAUSEA,
    "answers": ward.ANSWERS,
    "draft": ward.DRAFT,
    "drafts": ward.question("order-select")["context"]["draftOrders"],
    **{f"prefetch {name}": one for name, one in ward.prefetch().items() if one is not None},
}


def exported() -> Iterator[tuple[str, Any]]:
    """The resources of the registry, as a bulk export writes them."""
    for name, text in registry.fhir_files().items():
        for number, line in enumerate(text.splitlines(), start=1):
            yield f"{name} line {number}", json.loads(line)


def test_resources_of_the_tests_are_of_this_version() -> None:
    resources = VALID | dict(exported())
    assert len(resources) > 30
    assert faults_of(resources) == {}


def test_what_an_agent_writes_is_of_this_version(tmp_path: Path) -> None:
    place = opened(tmp_path, clients=True)
    bare = opened(tmp_path / "bare")
    without = ward.prefetch()
    del without["observations"]
    answers = {
        "no token": place.client.post(VIEW, json=ward.question()),
        "no such service": bare.client.post("/cds-services/none", json=ward.question()),
        "no JSON": bare.client.post(VIEW, content=b"{"),
        "no observations": bare.ask(prefetch=without),
        "another hook": bare.ask(hook="order-select"),
    }
    outcomes = {name: answer.json() for name, answer in answers.items()}
    assert {one["resourceType"] for one in outcomes.values()} == {"OperationOutcome"}
    assert faults_of(outcomes) == {}


@pytest.mark.parametrize(
    ("resource", "told"),
    [
        (ward.LUMBAR | {"valueCodeableReference": {}}, ("fhirclient", "fhir.resources")),
        ({name: one for name, one in ward.LUMBAR.items() if name != "status"}, ("fhirclient", "fhir.resources")),
        (ward.LUMBAR | {"effectiveDateTime": "yesterday"}, ("fhirclient", "fhir.resources")),
        (ward.LUMBAR | {"status": 5}, ("fhirclient",)),
        (ward.ANSWERS | {"status": "done"}, ("fhir.resources",)),
        (ward.LUMBAR | {"id": "a b"}, ("fhir.resources",)),
        (ward.LUMBAR | {"valueInteger": 3}, ("fhir.resources",)),
        (ward.bundle(ward.DRAFT | {"intent": "wish"}), ("fhir.resources",)),
        # As release 5 has it; 4.3, of which the library in the environment has models, does not either.
        (
            {name: one for name, one in ward.DRAFT.items() if name != "medicationCodeableConcept"}
            | {"medication": {"concept": ward.DRAFT["medicationCodeableConcept"]}},
            ("fhirclient", "fhir.resources"),
        ),
    ],
)  # fmt: skip
def test_a_control_that_judges_refuse(resource: dict[str, Any], told: tuple[str, ...]) -> None:
    found = faults_of({"one": resource})["one"]
    assert all(any(fault.startswith(judge) for fault in found) for judge in told), found
