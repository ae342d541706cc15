"""CDS Hooks as a clinical system sees it: discovery, cards, what is missing, tokens, feedback, hostile bodies."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import socket
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.operationoutcome import OperationOutcome
from joserfc.jwk import ECKey, OctKey
from starlette.testclient import TestClient

from hospital_agent import clinical, ehr
from hospital_agent.clinical.cards import escaped
from hospital_agent.clinical.ledger import LEDGER_FILE, Ledger
from hospital_agent.clinical.paths import path_compiler
from hospital_agent.clinical_settings import ClinicalSection
from hospital_agent.local_api import Library, create_app, serving
from hospital_agent.models import Shelf
from hospital_agent.settings import LocalSection
from shared.errors import InputError, TemporaryError
from tests.support import ward
from tests.support.models import model_of, parties

MEMBERS = parties()
MODEL = model_of(MEMBERS)
STUDY = MODEL.manifest.study
BASE = "https://privet.hospital.example"
VIEW = "/cds-services/bladder-patient-view"
SELECT = "/cds-services/bladder-order-select"
ORIGIN = "https://ehr.hospital.example"
NOW = 1_796_040_000
ASKED = datetime.fromtimestamp(NOW, UTC)  # 30 November 2026
INVARIANTS = json.loads((Path(__file__).parents[1] / "vectors" / "cds_hooks_invariants.json").read_text())


@dataclass
class Ward:
    client: TestClient
    folder: Path
    library: Library

    def ask(self, path: str = VIEW, headers: dict[str, str] | None = None, **changes: Any) -> httpx2.Response:
        hook = "order-select" if path == SELECT else "patient-view"
        return self.client.post(path, json=ward.question(hook) | changes, headers=headers or {})


def opened(
    folder: Path, settings: dict[str, Any] | None = None, token: str | None = None, **file: Any
) -> Ward:
    shelf = Shelf(folder / "models", MEMBERS.identities["h1"].public, MEMBERS.root)
    if not (folder / "models").exists():
        shelf.put(MODEL, MEMBERS.identities["h1"])
    library = Library(shelf)
    app = create_app(library, dict, token)
    path = ward.services_file(folder, MODEL.id, STUDY, **file)
    section = ClinicalSection(services=path, public_url=BASE, origins=(ORIGIN,), **(settings or {}))
    clinical.install(app, folder, section, pages=True, now=lambda: NOW)
    return Ward(
        TestClient(app, base_url="http://127.0.0.1:8711", raise_server_exceptions=False), folder, library
    )


@pytest.fixture(scope="module")
def open_ward(tmp_path_factory: pytest.TempPathFactory) -> Ward:
    return opened(tmp_path_factory.mktemp("ward"))


@pytest.fixture(scope="module")
def closed_ward(tmp_path_factory: pytest.TempPathFactory) -> Ward:
    return opened(tmp_path_factory.mktemp("closed"), clients=True)


def check_outcome(answer: httpx2.Response, status: int, text: str = "") -> None:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/fhir+json"), (
        answer.text
    )
    OperationOutcome.model_validate(answer.json())
    assert text in answer.json()["issue"][0]["diagnostics"]


def check_cards(document: dict[str, Any]) -> list[dict[str, Any]]:
    """What the specification and HL7's invariants ask of an answer."""
    _check_filled(document)
    check_members(document, INVARIANTS["members"]["response"])
    compile_path = path_compiler("invariants")
    for invariant in INVARIANTS["response"]:
        found: list[Any] = [document]
        for member in invariant["each"].split("."):
            found = [one for each in found for one in (each.get(member) or [])]
        evaluate = compile_path(invariant["expression"])
        assert all(evaluate(one, ASKED) == [True] for one in found), invariant["id"]
    for card in document["cards"]:
        assert len(card["summary"]) < 140
        assert card["indicator"] == "info"
        assert uuid.UUID(card["uuid"])
        assert "<" not in card["detail"]
        assert card["source"]["label"]
        assert all(link["url"].startswith(BASE) and link["type"] == "absolute" for link in card["links"])
        assert "suggestions" not in card
    assert "systemActions" not in document
    return list(document["cards"])


def check_members(document: dict[str, Any], rules: list[list[Any]]) -> None:
    """Whether members are those of HL7's logical model, as often and of the type that it says."""
    known = {path: (least, kind, most) for path, least, most, kind in rules}
    waiting: list[tuple[str, Any]] = [("", document)]
    for path, value in waiting:  # grows while it is walked
        below = [name for name in known if name.rpartition(".")[0] == path]
        assert all(f"{path}.{name}".lstrip(".") in below for name in value), (path, sorted(value))
        for name in below:
            least, kind, most = known[name]
            content = value.get(name.rpartition(".")[2])
            assert content is not None or least == 0, name
            found = [] if content is None else content if most == "*" else [content]
            for one in found:
                assert _is_kind(one, kind), (name, kind)
                waiting += [(name, one)] if kind == "object" else []


def _is_kind(value: Any, kind: str) -> bool:
    if kind == "object":
        return isinstance(value, dict)
    if kind == "coding":
        return isinstance(value, dict) and set(value) <= {
            "system",
            "version",
            "code",
            "display",
            "userSelected",
        }
    if kind == "map":
        return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    if not isinstance(value, str):
        return False
    if kind == "uuid":
        return str(uuid.UUID(value)) == value
    if kind == "url":
        return httpx.URL(value).is_absolute_url
    return kind == "string" or value in kind.split("|")


def _check_filled(value: Any, name: str = "") -> None:
    assert value is not None
    assert value != ""
    assert value != [] or name == "cards"
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, content in members:
        _check_filled(content, str(key))


RELATIVE = [{"label": "a", "url": "/a", "type": "absolute"}]


@pytest.mark.parametrize(
    ("place", "value"),
    [("summary", 5), ("indicator", "hard-stop"), ("uuid", "7"), ("icon", "x"), ("links", RELATIVE)],
)
def test_the_checks_of_cards_can_fail(open_ward: Ward, place: str, value: Any) -> None:
    answer = open_ward.ask().json()
    answer["cards"][0][place] = value
    with pytest.raises((AssertionError, ValueError)):
        check_cards(answer)


def test_discovery_is_for_everybody_and_names_what_is_needed(open_ward: Ward, closed_ward: Ward) -> None:
    for one in (open_ward, closed_ward):
        answer = one.client.get("/cds-services", headers={"origin": ORIGIN})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == ORIGIN
    check_members(answer.json(), INVARIANTS["members"]["services"])
    services = answer.json()["services"]
    _check_filled(services)
    assert [(one["id"], one["hook"]) for one in services] == [
        ("bladder-patient-view", "patient-view"),
        ("bladder-order-select", "order-select"),
    ]
    wanted = services[0]["prefetch"]
    assert wanted["conditions"].startswith("Condition?patient={{context.patientId}}&")
    assert "code=http://snomed.info/sct%7C279039007,http://loinc.org%7C98000-1&" in wanted["observations"]
    assert all(key in ward.prefetch() for key in wanted)


def test_fixtures_are_fhir(open_ward: Ward) -> None:
    for content in ward.prefetch().values():
        if content is not None:
            Bundle.model_validate_json(json.dumps(content))


def test_a_card_shows_class_path_origins_version_and_limits(open_ward: Ward) -> None:
    (card,) = check_cards(open_ward.ask().json())
    assert card["summary"] == "Acute inflammations: diagnosis both (100 %); decision support"
    detail = card["detail"]
    for text in (
        "1. lumbar pain: 1 (Observation, 2026-11-20, true)",
        "Training records there: none 0",
        f"version {MODEL.id[:8]}",
        str(MODEL.tree_sha256),
        "**Missing inputs:** none",
        "Decision support for research",
    ):
        assert text in detail
    assert card["source"]["topic"]["code"] == "urology"
    assert all(reason["display"] for reason in card["overrideReasons"])


def test_the_card_says_what_the_api_says(open_ward: Ward) -> None:
    (card,) = check_cards(open_ward.ask().json())
    plain = open_ward.client.post("/predict", json={"model": MODEL.id, "record": ward.WORDS}).json()
    fhir = open_ward.client.post(
        f"/v1/models/{MODEL.id}/predict",
        content=json.dumps([ward.NAUSEA, ward.LUMBAR, ward.PUSHING, ward.ANSWERS]),
        headers={"content-type": "application/fhir+json; charset=utf-8"},
    ).json()
    assert plain["predictions"][0]["class"] == "both"
    assert fhir["predictions"][0]["class"] == plain["predictions"][0]["class"]
    assert fhir["predictions"][0]["path"] == plain["predictions"][0]["path"]
    assert "diagnosis: both" in card["detail"]
    origins = {one["attribute"]: one for one in fhir["inputs"]}
    assert origins["urine pushing"] == {
        "attribute": "urine pushing",
        "value": "1",
        "resource": "Observation/pushing",
        "date": "2026-11-21",
        "given": "7",
    }
    assert "means this" in origins["burning of urethra"]["note"]


def test_selected_drafts_count_where_the_mapping_says_so(tmp_path: Path) -> None:
    burning = next(one for one in ward.MAPPING["attributes"] if one["name"] == "burning of urethra")
    attributes = [one for one in ward.MAPPING["attributes"] if one["name"] != "nausea"]
    mapping = ward.MAPPING | {"attributes": [*attributes, burning | {"name": "nausea"}]}
    one = opened(tmp_path, mapping=mapping)
    asked = ward.question("order-select")
    (card,) = check_cards(one.client.post(SELECT, json=asked).json())
    assert "3. nausea: 1 (MedicationRequest)" in card["detail"]
    asked["context"]["selections"] = ["MedicationRequest/another"]
    (card,) = check_cards(one.client.post(SELECT, json=asked).json())
    assert "3. nausea: 0 (no MedicationRequest" in card["detail"]
    asked["context"]["selections"] = ["MedicationRequest/draft-1"]
    foreign = ward.bundle(ward.DRAFT | {"subject": ward.subject("other")}, kind="collection")
    asked["context"]["draftOrders"] = foreign
    check_outcome(one.client.post(SELECT, json=asked), 422, "more than one patient")
    nobodys = {name: value for name, value in ward.DRAFT.items() if name != "subject"}
    asked["context"]["draftOrders"] = ward.bundle(nobodys, kind="collection")
    assert one.client.post(SELECT, json=asked).status_code == 200
    del asked["context"]["draftOrders"]
    check_outcome(one.client.post(SELECT, json=asked), 400, "draftOrders")


def test_a_patient_who_is_not_covered_is_told_so(open_ward: Ward, tmp_path: Path) -> None:
    without = ward.prefetch(observations=ward.bundle())
    (card,) = check_cards(open_ward.ask(prefetch=without).json())
    assert "no answer for this patient, lumbar pain is missing" in card["summary"]
    assert "- lumbar pain: no Observation that counts" in card["detail"]
    silent = opened(tmp_path, uncovered="none")
    assert silent.ask(prefetch=without).json() == {"cards": []}


def test_what_the_client_could_not_have_is_missing_and_never_a_no(open_ward: Ward) -> None:
    failed = {
        "resourceType": "OperationOutcome",
        "issue": [{"severity": "error", "code": "exception", "diagnostics": "no"}],
    }
    page = ward.bundle() | {"link": [{"relation": "next", "url": "https://ehr.example/next"}]}
    for conditions in (failed, page):
        (card,) = check_cards(open_ward.ask(prefetch=ward.prefetch(conditions=conditions)).json())
        assert "- nausea: only a part of the resources Condition could be had" in card["detail"]
    (card,) = check_cards(open_ward.ask(prefetch=ward.prefetch(conditions=None)).json())
    assert "3. nausea: 0 (no Condition that counts, which the mapping says means this)" in card["detail"]


def test_data_that_are_needed_and_not_to_be_had_are_a_412(open_ward: Ward) -> None:
    sent = ward.prefetch()
    del sent["observations"]
    check_outcome(open_ward.ask(prefetch=sent), 412, "prefetch observations")
    authorised: dict[str, Any] = {
        "fhirServer": "https://evil.example/fhir",
        "fhirAuthorization": {"access_token": "t", "token_type": "Bearer"},
    }
    check_outcome(open_ward.ask(prefetch=sent, **authorised), 412, "does not fetch")


NOBODYS = ward.bundle({name: value for name, value in ward.LUMBAR.items() if name != "subject"})
FOREIGN = ward.bundle(ward.LUMBAR | {"subject": ward.subject("x")})
WRONG_UNIT = ward.bundle(ward.PUSHING | {"valueQuantity": {"value": 7777, "unit": "mg"}})


@pytest.mark.parametrize(
    ("changes", "status", "text"),
    [
        ({"hook": "order-sign"}, 400, "of hook patient-view"),
        ({"hookInstance": "7"}, 400, "hookInstance"),
        ({"context": {}}, 400, "context"),
        ({"context": {"userId": "P/1", "patientId": "../admin"}}, 400, "patientId"),
        ({"context": {"userId": "P/1", "patientId": ".."}}, 400, "patientId"),
        ({"context": {"userId": "P/1", "patientId": "7" * 65}}, 400, "patientId"),
        ({"fhirAuthorization": {"access_token": "t", "token_type": "Bearer"}}, 400, "fhirServer"),
        ({"prefetch": ward.prefetch(observations={"a": 1})}, 422, "expected FHIR resources"),
        ({"prefetch": ward.prefetch(observations=FOREIGN)}, 422, "more than one patient"),
        ({"prefetch": ward.prefetch(observations=NOBODYS)}, 422, "does not say whose it is"),
        ({"prefetch": ward.prefetch(observations=WRONG_UNIT)}, 422, "unit mg"),
    ],
)  # fmt: skip
def test_a_wrong_question_is_an_operation_outcome_without_what_was_sent(
    open_ward: Ward, changes: dict[str, Any], status: int, text: str
) -> None:
    answer = open_ward.ask(**changes)
    check_outcome(answer, status, text)
    assert "7777" not in answer.text
    assert ward.PATIENT not in answer.text


def test_an_unknown_service_is_not_there(open_ward: Ward) -> None:
    check_outcome(
        open_ward.client.post("/cds-services/nothing", json=ward.question()), 404, "GET /cds-services"
    )


MISSHAPEN = [
    {"resourceType": kind, "code": wrong, "status": wrong, "subject": wrong, "valueQuantity": wrong}
    for kind in ("Observation", "Condition", "Patient", "Bundle")
    for wrong in (None, 5, "x", [], [5], {"coding": 5}, {"reference": 5}, {"value": "x"})
]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"{" * 100,
        b"[" * 5000 + b"]" * 5000,
        b'{"hook": NaN}',
        b'{"hook": "\xff"}',
        b'{"hook": 1, "hookInstance": [], "context": "x", "prefetch": 5}',
        json.dumps(ward.question(prefetch={"observations": [[[{}]]], "conditions": 5})).encode(),
        json.dumps(ward.question(prefetch=ward.prefetch(observations=ward.bundle(*MISSHAPEN)))).encode(),
    ],
    ids=itertools.count(),
)
def test_hostile_bodies_are_refused_or_answered_and_break_nothing(open_ward: Ward, raw: bytes) -> None:
    for path in (VIEW, f"{VIEW}/feedback", f"/v1/models/{MODEL.id}/predict"):
        answer = open_ward.client.post(path, content=raw, headers={"content-type": "application/fhir+json"})
        assert answer.status_code in (200, 400, 412, 413, 422), (path, answer.text)


def test_an_element_named_twice_is_refused(open_ward: Ward) -> None:
    raw = b'{"resourceType": "Patient", "gender": "male", "gender": "female"}'
    headers = {"content-type": "application/fhir+json"}
    answer = open_ward.client.post(f"/v1/models/{MODEL.id}/predict", content=raw, headers=headers)
    assert answer.status_code == 400
    assert "a name stands twice" in answer.text
    assert "gender" not in answer.text


def test_labels_are_shown_letter_by_letter() -> None:
    assert escaped("<script>alert(1)</script> & *x* [a](http://b)\n# c") == (
        r"&lt;script&gt;alert\(1\)&lt;/script&gt; &amp; \*x\* \[a\]\(http\://b\) \# c"
    )
    assert escaped("- 5") == r"\- 5"
    assert escaped("no\u200b\ufeff \u061cyes") == "no   yes"
    assert escaped("1. x") == r"1\. x"
    assert escaped("2026-11-30 www.x.y") == r"2026-11-30 www\.x.y"


def signed(path: str = VIEW, now: int = NOW, **changes: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {ward.token(BASE + path, now, **changes)}"}


def test_a_signed_token_opens_the_service_once(closed_ward: Ward) -> None:
    headers = signed()
    check_cards(closed_ward.ask(headers=headers).json())
    check_outcome(closed_ward.ask(headers=headers), 401, "used before")
    again = opened(closed_ward.folder, clients=True)
    check_outcome(again.ask(headers=headers), 401, "used before")
    check_outcome(closed_ward.ask(), 401, "JWT")


OTHER_KEY = ECKey.generate_key("P-384", parameters={"kid": "k1"})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"path": SELECT}, f"aud must be exactly {BASE}{VIEW}"),
        ({"aud": [BASE + VIEW]}, "aud must be exactly"),
        ({"iss": "https://somebody.example"}, "iss is no client"),
        ({"now": NOW - 1000}, "expired"),
        ({"now": NOW + 1000}, "future"),
        ({"exp": NOW + 90_000}, "longer than an hour"),
        ({"jti": None}, "KeyError"),
        ({"exp": None}, "KeyError"),
        ({"iat": None}, "KeyError"),
        ({"jti": ""}, "jti"),
        ({"key": OTHER_KEY}, "BadSignatureError"),
        ({"header": {"kid": "k2"}}, "InvalidKeyIdError"),
        ({"header": {"jku": "https://evil.example/jwks"}}, "jku"),
        ({"key": OctKey.generate_key(256), "header": {"alg": "HS256"}}, "alg"),
    ],
)
def test_a_token_that_is_not_in_order_is_refused(
    closed_ward: Ward, changes: dict[str, Any], text: str
) -> None:
    check_outcome(closed_ward.ask(headers=signed(**changes)), 401, text)


def test_a_token_without_a_signature_is_refused(closed_ward: Ward) -> None:
    header, claims, _ = ward.token(BASE + VIEW, NOW).split(".")
    unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"
    for text in (f"{unsigned}.{claims}.", f"{header}.{claims}.", "x", "a.b.c", "..", "é.b.c"):
        headers = {b"authorization": f"Bearer {text}".encode()}
        check_outcome(closed_ward.client.post(VIEW, json=ward.question(), headers=headers), 401)


def test_the_body_of_a_stranger_is_not_waited_for(tmp_path: Path) -> None:
    ward = opened(tmp_path, clients=True)
    head = (
        f"POST {VIEW} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.b.c\r\nContent-Length: 10000000\r\n\r\n"
    )
    with serving(ward.client.app, LocalSection(port=0)) as url:  # type: ignore[arg-type]
        host, _, port = url.removeprefix("http://").rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as caller:
            caller.sendall(head.encode())
            assert caller.recv(1000).startswith(b"HTTP/1.1 401")


def test_the_list_of_cards_is_bounded_and_a_full_disk_is_said(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.most = 4
    for number in range(10):
        ledger.issue(f"card {number}", "s", "m", covered=True, now=number)
        ledger.judge("s", f"card {number}", "accepted", "", now=number)
    (told,) = ledger.summary()
    assert told["cards"] <= ledger.most
    assert told["accepted"] == told["cards"]
    assert told["last"] == 9
    ward = opened(tmp_path / "ward")
    full = sqlite3.connect(f"file:{tmp_path}/ward/{LEDGER_FILE}?mode=rw", uri=True)
    full.execute("DROP TABLE cards")
    check_outcome(ward.ask(), 503, "disk")


def test_browsers_of_configured_origins_only(open_ward: Ward, closed_ward: Ward) -> None:
    for one in (open_ward, closed_ward):
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        answer = one.client.options(VIEW, headers={"origin": ORIGIN, **asked})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (204, ORIGIN)
        answer = one.client.options(VIEW, headers={"origin": "https://evil.example", **asked})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    from_page = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
    check_cards(open_ward.ask(headers={"origin": ORIGIN} | from_page).json())
    check_outcome(open_ward.ask(headers={"origin": "https://evil.example"}), 403)
    check_outcome(open_ward.ask(headers={"host": "evil.example"}), 403)
    check_outcome(closed_ward.ask(headers=signed() | {"origin": "https://evil.example"}), 403)


def test_without_clients_the_token_of_the_local_api_is_asked_for(tmp_path: Path) -> None:
    guarded = opened(tmp_path, token="t" * 32)
    check_outcome(guarded.ask(), 401)
    check_cards(guarded.ask(headers={"authorization": f"Bearer {'t' * 32}"}).json())


def test_clients_need_the_address_that_tokens_name(tmp_path: Path) -> None:
    path = ward.services_file(tmp_path, MODEL.id, STUDY, clients=True)
    app = create_app(Library(Shelf(tmp_path, MEMBERS.identities["h1"].public, MEMBERS.root)), dict, None)
    with pytest.raises(InputError, match="public_url"):
        clinical.install(app, tmp_path, ClinicalSection(services=path), pages=True)


def test_the_mapping_of_a_study_answers_where_the_hospital_has_none_of_its_own(tmp_path: Path) -> None:
    path = ward.services_file(tmp_path, MODEL.id, STUDY)
    path.write_text(path.read_text().split("[[services]]", 1)[1].join(["[[services]]", ""]))
    mapping = clinical.parse_mapping(tmp_path / "mapping.json")
    library = Library(Shelf(tmp_path / "models", MEMBERS.identities["h1"].public, MEMBERS.root))
    library.shelf.put(MODEL, MEMBERS.identities["h1"])
    for signed, status in ((None, 503), (mapping, 200)):
        app = create_app(library, dict, None)
        section = ClinicalSection(services=path, public_url=BASE)
        known: dict[str, Any] = {STUDY: signed}
        clinical.install(app, tmp_path, section, pages=True, signed=known.get, now=lambda: NOW)
        client = TestClient(app, base_url="http://127.0.0.1:8711")
        assert client.post(VIEW, json=ward.question()).status_code == status


def test_feedback_is_kept_without_words_and_without_a_patient(tmp_path: Path) -> None:
    one = opened(tmp_path)
    cards = [check_cards(one.ask().json())[0]["uuid"] for _ in range(3)]
    entries = [
        {"card": cards[0], "outcome": "accepted", "acceptedSuggestions": [{"id": "x"}]},
        {
            "card": cards[1],
            "outcome": "overridden",
            "overrideReason": {
                "reason": {"code": "disagree", "system": "urn:privet:override-reason"},
                "userComment": "MARKER-WORDS",
            },
        },
        {"card": cards[2], "outcome": "overridden", "overrideReason": {"reason": {"code": "MARKER of a patient"}}},
        {"card": str(uuid.uuid4()), "outcome": "accepted"},
    ]  # fmt: skip
    answer = one.client.post(f"{VIEW}/feedback", json={"feedback": entries})
    assert (answer.status_code, answer.json()) == (200, {})
    (line,) = clinical.Ledger.open(tmp_path).summary()
    told = (line["cards"], line["covered"], line["accepted"], line["overridden"], line["reasons"])
    assert told == (3, 3, 1, 2, {"disagree": 1})
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("clinical.sqlite3*"))
    assert b"MARKER" not in kept
    assert ward.PATIENT.encode() not in kept
    check_outcome(
        one.client.post(f"{VIEW}/feedback", json={"feedback": [{"card": cards[0]}]}), 400, "outcome"
    )


def test_nothing_of_a_patient_is_logged(open_ward: Ward, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    marker = ward.LUMBAR | {"note": [{"text": "MARKER-NOTE"}], "valueBoolean": "MARKER-VALUE"}
    open_ward.ask(prefetch=ward.prefetch(observations=ward.bundle(marker)))
    open_ward.ask(context={"userId": "MARKER-USER", "patientId": "MARKER-PATIENT"})
    assert "MARKER" not in caplog.text


class FhirServer:
    """A clinical system's own FHIR server, as far as one patient's resources go."""

    def __init__(self, answer: Callable[[str, dict[str, str]], tuple[int, Any]]) -> None:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        self.asked: list[tuple[str, str]] = []

        async def found(request: Request) -> JSONResponse:
            kind = request.path_params["kind"]
            self.asked.append((f"{kind}?{request.url.query}", request.headers.get("authorization", "")))
            status, content = answer(kind, dict(request.query_params))
            return JSONResponse(content, status)

        self.app = Starlette(routes=[Route("/fhir/{kind:path}", found)])


@pytest.fixture
def fhir_server() -> Iterator[tuple[FhirServer, str]]:
    server = FhirServer(
        lambda kind, _: (200, ward.bundle(ward.LUMBAR, ward.PUSHING)) if kind == "Observation" else (403, {})
    )
    with serving(server.app, LocalSection(port=0)) as url:  # type: ignore[arg-type]
        yield server, f"{url}/fhir"


def test_what_was_not_sent_is_fetched_where_that_is_allowed(
    fhir_server: tuple[FhirServer, str], tmp_path: Path
) -> None:
    server, base = fhir_server
    one = opened(tmp_path, {"fhir_servers": (base,)})
    sent = ward.prefetch()
    del sent["observations"]
    token: dict[str, Any] = {
        "fhirServer": base,
        "fhirAuthorization": {"access_token": "granted", "token_type": "Bearer"},
    }
    (card,) = check_cards(one.ask(prefetch=sent, **token).json())
    assert "diagnosis: both" in card["detail"]
    ((query, authorization),) = server.asked
    assert query.startswith(f"Observation?patient={ward.PATIENT}&code=http://snomed.info/sct%7C279039007,")
    assert authorization == "Bearer granted"
    del sent["conditions"]
    check_outcome(one.ask(prefetch=sent, **token), 412, "answered 403")
    assert "granted" not in one.ask(prefetch=sent, **token).text


def test_an_answer_that_drips_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b" "
            await asyncio.sleep(0.02)

    async def found(_request: Request) -> StreamingResponse:
        return StreamingResponse(drip())

    monkeypatch.setattr(ehr, "WHOLE_SECONDS", 0.2)
    app = Starlette(routes=[Route("/fhir/Observation", found)])
    with serving(app, LocalSection(port=0)) as url:  # type: ignore[arg-type]
        began = time.monotonic()
        with pytest.raises(TemporaryError, match="took longer"):
            ehr.ClinicalServers(frozenset({f"{url}/fhir"})).resources(f"{url}/fhir", "Observation", "")
        assert time.monotonic() - began < 5


def test_keys_are_fetched_from_the_address_that_the_client_declared(tmp_path: Path) -> None:
    published: list[Any] = [OTHER_KEY.as_dict(private=False) | {"kid": "old"}]
    server = FhirServer(lambda *_: (200, {"keys": published}))
    with serving(server.app, LocalSection(port=0)) as url:  # type: ignore[arg-type]
        path = ward.services_file(tmp_path, MODEL.id, STUDY)
        path.write_text(f'{path.read_text()}\n[[clients]]\niss = "{ward.ISSUER}"\njku = "{url}/fhir/jwks"\n')
        shelf = Shelf(tmp_path / "models", MEMBERS.identities["h1"].public, MEMBERS.root)
        shelf.put(MODEL, MEMBERS.identities["h1"])
        app, clock = create_app(Library(shelf), dict, None), [NOW]
        section = ClinicalSection(services=path, public_url=BASE)
        clinical.install(app, tmp_path, section, pages=True, now=lambda: clock[0])
        client = TestClient(app, base_url="http://127.0.0.1:8711")

        def ask(jku: str = "jwks") -> httpx2.Response:
            headers = signed(now=clock[0], header={"jku": f"{url}/fhir/{jku}"})
            return client.post(VIEW, json=ward.question(), headers=headers)

        check_outcome(ask(), 401, "InvalidKeyIdError")
        published.append(ward.KEY.as_dict(private=False))
        check_outcome(ask(), 401, "InvalidKeyIdError")  # not asked again at once
        clock[0] += 31
        check_cards(ask().json())
        assert len(server.asked) == 2
        check_outcome(ask("others"), 401, "jku")
        published[:] = [ward.KEY.as_dict(private=True)]
        clock[0] += 601
        check_outcome(ask(), 401)
        asked = len(server.asked)
        check_outcome(ask(), 503)  # a server that gives no good keys is not asked for every question
        assert len(server.asked) == asked
    clock[0] += 601
    check_outcome(ask(), 503, "cannot be fetched")
    path.write_text('[[clients]]\niss = "x"\njku = "http://a.example/jwks"\n')
    with pytest.raises(InputError, match="jku: http://"):
        clinical.load_services(path)


def test_a_hundred_questions_over_a_real_connection_are_answered_in_time(tmp_path: Path) -> None:
    one = opened(tmp_path, clients=True)
    times = []
    with serving(one.client.app, LocalSection(port=0)) as url, httpx.Client(base_url=url) as client:  # type: ignore[arg-type]
        for _ in range(100):
            asked, headers = ward.question(), signed()
            start = time.perf_counter()
            answer = client.post(VIEW, json=asked, headers=headers)
            times.append(time.perf_counter() - start)
            assert answer.status_code == 200, answer.text
    times.sort()
    print(f"p50 {times[50] * 1000:.1f} ms, p99 {times[98] * 1000:.1f} ms, slowest {times[-1] * 1000:.1f} ms")
    assert times[98] < 0.5
