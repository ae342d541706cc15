"""CDS Hooks by the OpenAPI document that its community publishes: what is answered and what is taken."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]

from hospital_agent import clinical
from tests.integration.test_cds_hooks import SELECT, VIEW, Ward, opened
from tests.support import ward

PUBLISHED: Final = json.loads((Path(__file__).parents[1] / "vectors" / "cds_hooks_openapi.json").read_text())
AUTHORIZATION: Final = {
    "access_token": "some-opaque-fhir-access-token",
    "token_type": "Bearer",
    "expires_in": 300,
    "scope": "patient/Observation.read",
    "subject": "cds-service4",
}


def faults(name: str, document: Any) -> list[str]:
    """Where a document is not what the published description says of it."""
    schema = {"$ref": f"#/$defs/{name}", "$defs": PUBLISHED["$defs"]}
    checker = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{each.json_path}: {each.message}" for each in checker.iter_errors(document)]


@pytest.fixture(scope="module")
def open_ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    one = opened(tmp_path_factory.mktemp("published"))
    yield one
    one.client.close()


def question(hook: str) -> dict[str, Any]:
    """As full as the description knows it. It knows no null: where nothing is, an empty Bundle says so."""
    asked = copy.deepcopy(ward.question(hook))
    asked["prefetch"] = {key: value or ward.bundle() for key, value in asked["prefetch"].items()}
    return asked | {"fhirServer": "https://fhir.hospital.example/r4", "fhirAuthorization": AUTHORIZATION}


def test_services_and_cards_are_as_published(open_ward: Ward) -> None:
    assert faults("Discovery", open_ward.client.get("/cds-services").json()) == []
    for path, hook in ((VIEW, "patient-view"), (SELECT, "order-select")):
        asked = question(hook)
        assert faults("Request", asked) == []
        answer = open_ward.client.post(path, json=asked)
        assert (answer.status_code, len(answer.json()["cards"])) == (200, 1), answer.text
        assert faults("Response", answer.json()) == []


def test_feedback_as_published_is_taken_and_counted(open_ward: Ward) -> None:
    before = _judged(open_ward)
    cards = [open_ward.client.post(VIEW, json=question("patient-view")).json()["cards"][0] for _ in range(2)]
    reason = {key: cards[1]["overrideReasons"][0][key] for key in ("code", "system")}
    moment = "2026-11-30T10:00:00Z"
    told = {
        "feedback": [
            {
                "card": cards[0]["uuid"],
                "outcome": "accepted",
                "acceptedSuggestions": [{"id": str(uuid.uuid4())}],
                "outcomeTimestamp": moment,
            },
            {
                "card": cards[1]["uuid"],
                "outcome": "overridden",
                "overrideReason": {"reason": reason, "userComment": "seen already"},
                "outcomeTimestamp": moment,
            },
        ]
    }
    assert faults("Feedback", told) == []
    assert open_ward.client.post(f"{VIEW}/feedback", json=told).status_code == 200
    assert _judged(open_ward) == (before[0] + 1, before[1] + 1)


def _judged(one: Ward) -> tuple[int, int]:
    lines = clinical.Ledger.open(one.folder).summary()
    return sum(line["accepted"] for line in lines), sum(line["overridden"] for line in lines)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda card: card.pop("source"),
        lambda card: card["source"].pop("label"),
        lambda card: card.update(indicator="hard-stop"),
        lambda card: card.update(uuid="7"),
        lambda card: card["overrideReasons"][0].pop("code"),
        lambda card: card["links"][0].update(type="relative"),
        lambda card: card.update(suggestions=[{"actions": [{"type": "alert"}]}]),
    ],
)
def test_the_description_can_be_broken(open_ward: Ward, spoil: Callable[[dict[str, Any]], None]) -> None:
    answer = open_ward.client.post(VIEW, json=question("patient-view")).json()
    spoil(answer["cards"][0])
    assert faults("Response", answer)
