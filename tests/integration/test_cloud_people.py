"""The API of people: tokens, studies, jobs, events, results, problems, health and documentation."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from shared.errors import ErrorCode
from shared.wire.predicting import PredictionAnswer
from tests.support.clinic import NAMES as ATTRIBUTES
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON, hospitals_of, run_together
from tests.support.sql_faults import failing_database

NAMES = ("h1", "h2", "h3")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path_factory.mktemp("people"), bits=512, hospitals=(*NAMES, "h4")) as running:
        running.study(SCHEMA)
        running.study(SCHEMA, name="public", publish_tree=True)
        yield running


@pytest.fixture(scope="module")
def done(cloud: CloudUnderTest) -> dict[str, str]:
    """One finished job of each study, with the tree's hash that the hospitals hold."""
    finished = {}
    for study in ("study", "public"):
        with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
            finished[study] = cloud.job(study, invited=list(NAMES))
            run_together(hospitals)
            finished["tree"] = str(hospitals[0].host.tree)
    return finished


def problem(answer: httpx2.Response, status: int, code: str) -> str:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body.keys() == {"type", "title", "status", "detail", "code"}
    assert (body["status"], body["type"]) == (status, f"urn:privet:problem:{code}")
    return str(body["detail"])


def wait_for_line(lines: list[Any], route: str) -> Any:
    """A request's line is written once its answer is out, so it may come a little later."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for line in list(lines):
            if line["event"] == "request" and line["route"] == route:
                return line
        time.sleep(0.01)
    pytest.fail(f"no line of {route}")


PEOPLE = [
    ("GET", "/v1/hospitals"),
    ("GET", "/v1/studies"),
    ("POST", "/v1/studies"),
    ("GET", "/v1/studies/study"),
    ("POST", "/v1/studies/study/jobs"),
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/x"),
    ("POST", "/v1/jobs/x/cancel"),
    ("GET", "/v1/jobs/x/events"),
    ("GET", "/v1/jobs/x/result"),
    ("GET", "/v1/jobs/x/tree"),
    ("POST", "/v1/jobs/x/predict"),
]


@pytest.mark.parametrize(("method", "path"), PEOPLE)
def test_people_need_a_living_token(cloud: CloudUnderTest, method: str, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic YTpi"}):
        answer = httpx2.request(method, cloud.base_url + path, headers=headers, json={}, trust_env=False)
        problem(answer, 401, "not_signed_in")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_revoked_token_opens_nothing(cloud: CloudUnderTest) -> None:
    token = cloud.services.tokens.create("short-lived")
    headers = {"authorization": f"Bearer {token}"}
    url = cloud.base_url + "/v1/studies"
    assert httpx2.get(url, headers=headers, trust_env=False).status_code == 200
    cloud.services.tokens.revoke("short-lived")
    problem(httpx2.get(url, headers=headers, trust_env=False), 401, "not_signed_in")


def test_open_without_token(cloud: CloudUnderTest) -> None:
    for path in ("/healthz", "/readyz", "/v1/federation", "/openapi.json", "/docs"):
        answer = httpx2.get(cloud.base_url + path, trust_env=False)
        assert answer.status_code == 200, path


def test_documentation_asks_no_other_host(cloud: CloudUnderTest) -> None:
    page = httpx2.get(cloud.base_url + "/docs", trust_env=False).text
    assert "//" not in page.replace("<!doctype html>", "")
    assert "/v1/messages" in page


def test_every_route_is_described(cloud: CloudUnderTest) -> None:
    document = httpx2.get(cloud.base_url + "/openapi.json", trust_env=False).json()
    operations = [op for path in document["paths"].values() for op in path.values()]
    assert len(operations) >= 18
    assert all(op.get("summary") and op.get("responses") for op in operations)


def test_hospitals_are_listed(cloud: CloudUnderTest) -> None:
    hospitals = cloud.people.get("/v1/hospitals").json()["hospitals"]
    assert [hospital["id"] for hospital in hospitals] == [*NAMES, "h4"]
    assert all(hospital["is_member"] for hospital in hospitals)


def test_registration_is_checked(cloud: CloudUnderTest) -> None:
    good = cloud.registration("h1")
    other = cloud.registration("h2")
    swapped = good.model_copy(update={"signature": other.signature})
    post = lambda raw: cloud.people.post("/v1/hospitals", content=raw, headers=JSON)  # noqa: E731
    problem(post(swapped.canonical()), 401, "bad_signature")
    problem(post(cloud.registration("h1", time=1).canonical()), 401, "bad_signature")
    problem(post(b"{}"), 400, "malformed")
    problem(post(b"x" * 20_000), 413, "too_large")


def test_study_is_created_once_and_never_changed(cloud: CloudUnderTest) -> None:
    body: dict[str, Any] = {"id": "once", "question": "q?", "schema": SCHEMA}
    first = cloud.people.post("/v1/studies", json=body)
    again = cloud.people.post("/v1/studies", json=body)
    assert (first.status_code, again.json()) == (201, first.json())
    other = cloud.people.post("/v1/studies", json={**body, "question": "another?"})
    problem(other, 409, "conflict")
    assert cloud.people.get("/v1/studies/once").json()["schema"]["class"] == SCHEMA["class"]
    problem(cloud.people.get("/v1/studies/none"), 404, "not_found")


BAD_STUDIES: list[dict[str, Any]] = [
    {"id": "Bad Id"},
    {"id": "cloud"},
    {"question": ""},
    {"schema": {"attributes": [], "class": SCHEMA["class"]}},
    {"schema": {"attributes": SCHEMA["attributes"] * 2, "class": SCHEMA["class"]}},
    {
        "schema": {
            "attributes": [{"name": "t", "values": ["a"], "cuts": ["2", "1"]}],
            "class": SCHEMA["class"],
        }
    },
    {"disclosure": "everything"},
    {"secret-field": 1},
]


@pytest.mark.parametrize("change", BAD_STUDIES)
def test_study_that_breaks_a_rule(cloud: CloudUnderTest, change: dict[str, Any]) -> None:
    body = {"id": "bad", "question": "q?", "schema": SCHEMA, **change}
    detail = problem(cloud.people.post("/v1/studies", json=body), 422, "invalid_input")
    assert "everything" not in detail
    assert "secret-field" not in detail


def test_problem_does_not_repeat_what_was_sent(cloud: CloudUnderTest) -> None:
    body = {"id": "bad", "question": 12345678, "schema": "planted-secret"}
    answer = cloud.people.post("/v1/studies", json=body)
    assert "planted-secret" not in answer.text
    assert "12345678" not in answer.text


def test_unknown_path_and_method(cloud: CloudUnderTest) -> None:
    problem(cloud.people.get("/v1/nothing"), 404, "not_found")
    problem(cloud.people.delete("/v1/jobs"), 405, "method_not_allowed")
    problem(cloud.people.post("/v1/studies", content=b"{", headers=JSON), 422, "invalid_input")


BAD_JOBS: list[tuple[dict[str, Any], int, str]] = [
    ({"invited": ["h1", "h2"]}, 422, "invalid_input"),
    ({"invited": ["h1", "h2", "h2"]}, 422, "invalid_input"),
    ({"invited": ["h1", "h2", "h9"]}, 422, "invalid_input"),
    ({"min_hospitals": 5}, 403, "policy_min_hospitals"),
    ({"min_hospitals": 2}, 422, "invalid_input"),
    ({"profile": "paper"}, 403, "policy_profile"),
    ({"profile": "secret-id3"}, 422, "invalid_input"),
    ({"secret": {"open_empty": True}}, 422, "invalid_input"),
    ({"mode": "id3", "criterion": "gain-ratio"}, 422, "invalid_input"),
    ({"unknown": 1}, 422, "invalid_input"),
    ({"deadlines": {"round_seconds": 0}}, 422, "invalid_input"),
]


@pytest.mark.parametrize(("plan", "status", "code"), BAD_JOBS)
def test_job_that_breaks_a_rule(cloud: CloudUnderTest, plan: dict[str, Any], status: int, code: str) -> None:
    before = len(cloud.people.get("/v1/jobs").json()["jobs"])
    problem(cloud.people.post("/v1/studies/study/jobs", json=plan), status, code)
    assert len(cloud.people.get("/v1/jobs").json()["jobs"]) == before


def test_job_says_whom_it_waits_for(cloud: CloudUnderTest) -> None:
    job = cloud.job(invited=list(NAMES))
    seen = cloud.people.get(f"/v1/jobs/{job}").json()
    assert (seen["state"], seen["waiting_for"], seen["paused"]) == ("INVITING", list(NAMES), False)
    assert seen["waiting_until"] > seen["waiting_since"] > 0
    assert [member["answer"] for member in seen["members"]] == ["pending"] * 3
    cancelled = cloud.people.post(f"/v1/jobs/{job}/cancel").json()
    assert (cancelled["state"], cancelled["failure"], cancelled["waiting_for"]) == (
        "CANCELLED",
        "cancelled",
        [],
    )
    problem(cloud.people.post(f"/v1/jobs/{job}/cancel"), 409, "conflict")
    problem(cloud.people.post("/v1/jobs/unknown/cancel"), 404, "not_found")
    problem(cloud.people.get(f"/v1/jobs/{job}/result"), 404, "not_found")


def test_jobs_in_pages(cloud: CloudUnderTest) -> None:
    made = [cloud.job(invited=list(NAMES)) for _ in range(3)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = cloud.people.get("/v1/jobs", params={"study": "study", "limit": 2, **cursor}).json()
        seen += [job["id"] for job in page["jobs"]]
        if page["next"] is None:
            break
        cursor = {"before": page["next"]}
    assert len(seen) == len(set(seen))
    assert set(made) <= set(seen)
    for job in made:
        cloud.people.post(f"/v1/jobs/{job}/cancel")
    states = cloud.people.get("/v1/jobs", params={"state": "CANCELLED"}).json()["jobs"]
    assert {job["state"] for job in states} == {"CANCELLED"}


def test_events_as_pages(cloud: CloudUnderTest, done: dict[str, str]) -> None:
    path = f"/v1/jobs/{done['study']}/events"
    events = cloud.people.get(path).json()["events"]
    assert events[0]["kind"] == "invited"
    assert [event["id"] for event in events] == sorted(event["id"] for event in events)
    rest = cloud.people.get(path, params={"after": events[2]["id"]}).json()["events"]
    assert rest == events[3:]
    assert cloud.people.get(path, params={"after": events[-1]["id"]}).json() == {"events": []}
    problem(cloud.people.get("/v1/jobs/unknown/events"), 404, "not_found")


def _stream(
    cloud: CloudUnderTest, job: str, until: str, headers: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    found = []
    accept = {"accept": "text/event-stream", **(headers or {})}
    with cloud.people.stream("GET", f"/v1/jobs/{job}/events", headers=accept) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data:"):
                found.append(json.loads(line[5:]))
                if found[-1]["kind"] == until:
                    return found
    raise AssertionError("the stream ended before the event came")


def test_events_as_a_stream_from_where_one_left(cloud: CloudUnderTest, done: dict[str, str]) -> None:
    events = cloud.people.get(f"/v1/jobs/{done['study']}/events").json()["events"]
    assert _stream(cloud, done["study"], "done") == events[: [e["kind"] for e in events].index("done") + 1]
    again = _stream(cloud, done["study"], "done", {"last-event-id": str(events[1]["id"])})
    assert again[0] == events[2]


def test_stream_shows_what_happens_now(cloud: CloudUnderTest) -> None:
    job = cloud.job(invited=list(NAMES))
    found: list[dict[str, Any]] = []
    watcher = threading.Thread(target=lambda: found.extend(_stream(cloud, job, "ended")))
    watcher.start()
    cloud.people.post(f"/v1/jobs/{job}/cancel")
    watcher.join(15)
    assert [event["kind"] for event in found] == ["invited", "ended"]


def test_result_names_what_all_attested(cloud: CloudUnderTest, done: dict[str, str]) -> None:
    result = cloud.people.get(f"/v1/jobs/{done['study']}/result").json()
    assert result["tree_sha256"] == done["tree"]
    assert result["attested"] == dict.fromkeys(NAMES, done["tree"])
    assert (result["missing"], result["is_published"]) == ([], False)


def test_tree_only_where_the_study_publishes_it(cloud: CloudUnderTest, done: dict[str, str]) -> None:
    record = {"record": dict(zip(ATTRIBUTES, "11111", strict=True))}
    for path, send in (("tree", cloud.people.get), ("predict", cloud.people.post)):
        kwargs = {"json": record} if path == "predict" else {}
        detail = problem(send(f"/v1/jobs/{done['study']}/{path}", **kwargs), 403, "not_published")
        assert "does not publish" in detail
    tree = cloud.people.get(f"/v1/jobs/{done['public']}/tree").json()
    assert tree["tree_sha256"] == done["tree"]
    answer = cloud.people.post(f"/v1/jobs/{done['public']}/predict", json=record).json()
    assert (answer["label"], answer["note"]) == ("both", None)
    model = f"/v1/models/{done['public']}"
    asked = cloud.people.post(f"{model}/predict", json={"records": [record["record"]] * 2}).json()
    found = PredictionAnswer.model_validate(asked)
    assert [one.label for one in found.predictions] == ["both", "both"]
    assert (found.tree_sha256, found.predictions[0].probability) == (done["tree"], None)
    foreign = problem(cloud.people.post(f"{model}/predict", json={"record": {"x": 1}}), 422, "invalid_input")
    assert "record 1, attribute 'x'" in foreign
    card = cloud.people.get(f"{model}/card").json()
    assert (card["hospitals"], card["records"], card["tree_sha256"]) == (list(NAMES), None, done["tree"])
    problem(cloud.people.get(f"/v1/models/{done['study']}/card"), 403, "not_published")
    assert "counts" not in json.dumps(tree)


def test_a_published_tree_answers_tables_as_it_answers_records(
    cloud: CloudUnderTest, done: dict[str, str]
) -> None:
    address = f"/v1/models/{done['public']}/predict"
    header, lines = [*ATTRIBUTES, "ward"], ["1", "1", "1", "1", "1", "7"]
    told = cloud.people.post(address, json={"record": dict(zip(ATTRIBUTES, "11111", strict=True))}).json()[
        "predictions"
    ]
    for delimiter in ",;\t":
        table = "\ufeff" + "\r\n".join(delimiter.join(cells) for cells in (header, lines))
        answer = cloud.people.post(address, content=table, headers={"content-type": "text/csv"}).json()
        assert (answer["predictions"], answer["ignored_columns"]) == (told, ["ward"])
    answer = cloud.people.post(
        address, content=table, headers={"content-type": "text/csv; charset=utf-8", "accept": "text/csv"}
    )
    (line,) = csv.DictReader(io.StringIO(answer.text))
    assert (line["class"], line["tree_sha256"], line["probability"]) == ("both", done["tree"], "")
    assert (line["path"], answer.headers["cache-control"]) == (told[0]["path"], "no-store")


@pytest.mark.parametrize(
    ("table", "kind", "said"),
    [
        (b"", "", "a column without a name"),
        (b"nausea,wrong\n1,planted", "", "column 'wrong'"),
        (b"nausea\n1\n1,planted", "", "record 2"),
        ("nausea\nplant\u00e9".encode("latin-1"), "", "not UTF-8"),
        (b"nausea\nplanted", "; charset=utf-16", "not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_without_a_value(
    cloud: CloudUnderTest, done: dict[str, str], table: bytes, kind: str, said: str
) -> None:
    answer = cloud.people.post(
        f"/v1/models/{done['public']}/predict", content=table, headers={"content-type": f"text/csv{kind}"}
    )
    detail = problem(answer, 422, "invalid_input")
    assert said in detail
    assert "plant" not in detail


@pytest.mark.usefixtures("every_log_line")
def test_log_names_route_job_and_code_and_nothing_that_was_sent(cloud: CloudUnderTest) -> None:
    job = cloud.job(invited=list(NAMES))
    with capture_logs() as lines:
        cloud.people.get(f"/v1/jobs/{job}", params={"note": "planted-secret"})
        cloud.people.get("/v1/jobs/planted-secret")
        cloud.people.post("/v1/messages", content=b"planted-secret", headers=JSON)
        cloud.people.get("/planted-secret")
        # That of the job's start may come as well.
        wait_for_line(lines, "unknown")
    requests = [line for line in lines if line["event"] == "request"][-4:]
    assert [line.get("code") for line in requests] == [None, "not_found", "malformed", "not_found"]
    assert (requests[0]["route"], requests[0]["job"]) == ("/v1/jobs/{job_id}", job)
    assert "planted-secret" not in str(lines)
    cloud.people.post(f"/v1/jobs/{job}/cancel")


@pytest.mark.usefixtures("every_log_line")
def test_log_says_why_the_database_could_not_be_used(cloud: CloudUnderTest) -> None:
    with capture_logs() as lines:
        with failing_database(cloud.services.database):
            problem(cloud.people.get("/v1/studies/study"), 503, "audit_unavailable")
        line = wait_for_line(lines, "/v1/studies/{study_id}")
    assert (line["status"], line["error"]) == (503, "OperationalError SQLITE_IOERR")


def test_every_code_has_a_status() -> None:
    from cloud_service.api.problems import STATUS, TITLES

    assert STATUS.keys() == set(ErrorCode)
    assert {code.value for code in ErrorCode} <= TITLES.keys()


def test_answers_are_packed_only_when_wanted_and_shorter(cloud: CloudUnderTest) -> None:
    url = cloud.base_url + "/v1/federation"
    plain = httpx2.get(url, headers={"accept-encoding": "identity"}, trust_env=False)
    packed = httpx2.get(url, headers={"accept-encoding": "gzip"}, trust_env=False)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert "server" not in plain.headers
    assert "date" in plain.headers
