"""The prediction server: answers without a cloud, problems that name the attribute, and doors that stay shut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hospital_agent.local_api import Library, create_app, say_no_services, serving
from hospital_agent.models import Shelf
from hospital_agent.settings import LocalSection
from shared.errors import InputError
from shared.tree.binary_tests import AtMost
from shared.tree.model import Leaf, Split, Tree
from tests.support.models import model_of, parties

MEMBERS = parties()
MODEL = model_of(MEMBERS)
NEWER = model_of(MEMBERS, job="cd" * 16, disclosure="class", saved=2)
TOKEN = "t" * 32


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path, MEMBERS.identities["h1"].public, MEMBERS.root)
    tmp_path.chmod(0o700)
    shelf.put(MODEL, MEMBERS.identities["h1"])
    shelf.put(NEWER, MEMBERS.identities["h1"])
    return shelf


@pytest.fixture
def local(shelf: Shelf) -> Iterator[TestClient]:
    app = create_app(Library(shelf), lambda: {"agent": "h1"}, None)
    with TestClient(app, base_url="http://127.0.0.1:8711") as client:
        yield client


def test_models_are_listed_and_described(local: TestClient) -> None:
    assert [model["id"] for model in local.get("/models").json()["models"]] == [MODEL.id, NEWER.id]
    described = local.get(f"/models/{MODEL.id}").json()
    assert described["tree_sha256"] == MODEL.tree.sha256
    assert described["hospitals"] == ["h1", "h2", "h3"]
    assert "urine pushing?" in described["drawing"]
    assert "count" in str(described["tree"])


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/cds-services"), ("POST", "/cds-services/bladder-patient-view")]
)
def test_an_agent_without_clinical_services_says_so(shelf: Shelf, method: str, path: str) -> None:
    app = create_app(Library(shelf), dict, None)
    say_no_services(app)
    answer = TestClient(app, base_url="http://127.0.0.1:8711").request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "No clinical services are configured" in answer.json()["detail"]
    assert "clinical.services" in answer.json()["remedy"]


def test_counts_stay_hidden_where_the_study_says_so(local: TestClient) -> None:
    described = local.get(f"/models/{NEWER.id}").json()
    assert "count" not in str(described["tree"])
    assert "record" not in described["drawing"]


def test_one_record_is_answered_by_the_newest_model(local: TestClient) -> None:
    answer = local.post("/predict", json={"record": {"urine pushing": "1"}}).json()
    assert answer["model"] == NEWER.id
    assert answer["predictions"][0]["probability"] is None
    assert "research" in answer["notice"]


def test_a_batch_is_answered_in_order(local: TestClient) -> None:
    records = [{"urine pushing": 0, "lumbar pain": value, "nausea": value} for value in (0, 1)] * 100
    answer = local.post("/predict", json={"model": MODEL.id[:6], "records": records}).json()
    assert [p["class"] for p in answer["predictions"]] == ["none", "nephritis"] * 100


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"record": {"temperature": 38}}, 422, "record 1, attribute 'temperature'"),
        ({"record": {}, "records": [{}]}, 422, "give either record or records"),
        ({}, 422, "give either record or records"),
        ({"records": []}, 422, "body.records"),
        ({"record": {"nausea": [1]}}, 422, "body.record.nausea"),
        ({"record": {}, "model": "ff"}, 422, "no model has that id"),
        ({"record": {}, "extra": 1}, 422, "body.extra"),
    ],
)
def test_a_wrong_question_is_a_problem_document(
    local: TestClient, body: object, status: int, text: str
) -> None:
    answer = local.post("/predict", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert text in answer.json()["detail"]


def test_a_bare_record_is_answered_with_the_shape_of_a_question(local: TestClient) -> None:
    answer = local.post("/predict", json={"nausea": "1"}).json()
    assert answer["remedy"].startswith('Send {"record": {"attribute": "value"}}')


def test_what_was_sent_is_not_sent_back(local: TestClient) -> None:
    answer = local.post("/predict", json={"record": {"nausea": ["secret of a patient"]}})
    assert "secret" not in answer.text


def test_an_unknown_path_is_a_problem_too(local: TestClient) -> None:
    answer = local.get("/nothing")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_body_without_end_is_refused(local: TestClient) -> None:
    answer = local.post("/predict", content=iter([b"{}"]))
    assert answer.status_code == 413
    answer = local.post("/predict", headers={"content-length": str(2**30)}, content=b"{}")
    assert answer.status_code == 413


def test_a_model_that_was_altered_is_noticed(local: TestClient, shelf: Shelf) -> None:
    assert local.post("/predict", json={"record": {}}).status_code == 200
    path = shelf.path_of(NEWER.id)
    path.write_bytes(path.read_bytes().replace(b'"saved":2', b'"saved":3'))
    answer = local.post("/predict", json={"record": {}})
    assert answer.status_code == 422
    assert "does not verify" in answer.json()["detail"]


def test_a_token_guards_every_door_but_health(shelf: Shelf) -> None:
    with TestClient(create_app(Library(shelf), dict, TOKEN)) as client:
        assert client.get("/healthz").status_code == 200
        for path in ("/models", "/status", "/openapi.json"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert client.get(path, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebound.example:8711"},
        {"host": "127.0.0.1.rebound.example"},
        {"host": "[:1"},
        {"host": ""},
        {"origin": "https://page.example"},
        {"origin": "null"},
        {"origin": "http://[:1"},
    ],
)
def test_a_page_in_a_browser_learns_nothing(local: TestClient, headers: dict[str, str]) -> None:
    for path in ("/models", "/status", "/openapi.json"):
        assert local.get(path, headers=headers).status_code == 403
    assert local.post("/predict", json={"record": {}}, headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8711", "127.0.0.1", "[::1]:8711", "LOCALHOST"])
def test_this_machine_may_be_named_in_every_way(local: TestClient, host: str) -> None:
    headers = {"host": host, "origin": f"http://{host}"}
    assert local.get("/status", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("site", "dest", "status"),
    [
        ("cross-site", "image", 403),
        ("cross-site", "script", 403),
        ("cross-site", "iframe", 403),
        ("cross-site", "document", 200),
        ("none", "document", 200),
        ("same-origin", "empty", 200),
    ],
)
def test_another_site_may_lead_here_but_not_find_out_what_is_here(
    local: TestClient, site: str, dest: str, status: int
) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-dest": dest}
    assert local.get("/v1/models", headers=headers).status_code == status


def test_who_knows_the_token_may_use_any_name(shelf: Shelf) -> None:
    with TestClient(create_app(Library(shelf), dict, TOKEN), base_url="http://agent.example") as client:
        assert client.get("/status", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_taken_port_is_named(shelf: Shelf) -> None:
    app = create_app(Library(shelf), dict, None)
    with serving(app, LocalSection(port=0)) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(InputError, match=f"port {port}"), serving(app, LocalSection(port=port)):
            pass


NUMBERS = {
    "attributes": [
        {"name": "bmi", "values": [], "numeric": {"minimum": "10", "maximum": "80", "decimals": 1}},
        {"name": "sex", "values": ["f", "m"], "treat_as": "equality"},
    ],
    "class": {"name": "ill", "labels": ["no", "yes"]},
}
SECRET = {"compute_parties": ["h1", "h2", "h3"]}


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("17.5", "no"),
        ("1.75e1", "no"),
        ("17.50000000000000000001", "yes"),
        ('"17.50000000000000000001"', "yes"),
        ("17.500000", "no"),
        ("900", "yes"),
    ],
)
def test_a_number_meets_a_threshold_with_all_its_digits(tmp_path: Path, number: str, answer: str) -> None:
    rules = {
        "criterion": "gain-ratio",
        "skip_known": False,
        "max_shrinks": 0,
        "disclosure": "class",
        "max_depth": 3,
    }
    grown = model_of(MEMBERS, schema=NUMBERS, profile="secret-gainratio", secret=SECRET, **rules)
    tree = Tree(Split(0, (Leaf(0), Leaf(1)), test=AtMost(Decimal("17.5"))))
    shelf = Shelf(tmp_path / "models", MEMBERS.identities["h1"].public, MEMBERS.root)
    shelf.put(replace(grown, tree=tree), MEMBERS.identities["h1"])
    with TestClient(create_app(Library(shelf), dict, None), base_url="http://127.0.0.1:8711") as client:
        body = '{"record": {"bmi": ' + number + "}}"
        found = client.post("/predict", content=body, headers={"content-type": "application/json"}).json()
        assert found["predictions"][0]["class"] == answer
        assert client.get(f"/models/{grown.id}").json()["tree"]["threshold"] == "17.5"
        absent = client.post("/predict", json={"record": {"sex": "f"}})
        assert (absent.status_code, "'bmi'" in absent.json()["detail"]) == (422, True)
        garbage = client.post(
            "/predict", content='{"record": {"bmi": NaN}}', headers={"content-type": "application/json"}
        )
        assert garbage.status_code == 422
