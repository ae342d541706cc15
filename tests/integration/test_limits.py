"""What strangers and single hospitals may take of a cloud: each limit is met, and what is within it is not."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from cloud_service.api import body
from cloud_service.api.connections import Door
from cloud_service.limit_settings import LimitSettings
from cloud_service.limits import in_force
from cloud_service.service.governance import MAX_ANSWERS
from cloud_service.service.quotas import Quotas
from cloud_service.service.rates import RateLimitedError, Rates
from cloud_service.service.terms import consents_for
from cloud_service.settings import Settings
from shared.errors import ErrorCode, PeerError
from shared.ids import AgentId
from shared.protocol.consenting import sign_consent
from shared.protocol.governing import sign_answer
from shared.protocol.polling import RelayCall, sign_call, sign_progress
from shared.wire.consent import MAX_CONSENTS, Consent
from shared.wire.secret import Progress
from shared.wire.study import AnswerWord, StudyAnswer, StudyDocument
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of

NAMES = ("h1", "h2", "h3")
FAR = {"X-Forwarded-For": "203.0.113.7"}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudUnderTest]:
    limits = {
        "anonymous_per_second": 1,
        "slowest_bytes_per_second": 1_000_000,
        "running_jobs": 1,
        "messages_per_hour": 60,
    }
    with running_cloud(
        tmp_path, hospitals=NAMES, bits=512, behind_proxy=True, limits=LimitSettings.model_validate(limits)
    ) as running:
        running.study(SCHEMA)
        yield running


def raw_connection(cloud: CloudUnderTest) -> socket.socket:
    port = int(cloud.base_url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def test_strangers_of_one_address_wait(cloud: CloudUnderTest) -> None:
    refused = [cloud.people.get("/v1/nothing", headers=FAR).status_code for _ in range(14)]
    assert refused[:10] == [404] * 10
    assert refused[-1] == 429
    answer = cloud.people.get("/v1/hospitals", headers=FAR)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) >= 1
    other = {"X-Forwarded-For": "203.0.113.8"}
    assert cloud.people.get("/v1/hospitals", headers=other).status_code == 200
    assert cloud.people.get("/healthz", headers=FAR).status_code == 200


def test_who_proves_who_it_is_costs_its_address_nothing(cloud: CloudUnderTest) -> None:
    far = {"X-Forwarded-For": "203.0.113.9"}
    assert {cloud.people.get("/v1/hospitals", headers=far).status_code for _ in range(30)} == {200}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/federation", {"cookie": "a=b"}),
        ("/openapi.json", {"authorization": "Bearer nonsense"}),
        ("/v1/sign-in/oidc/callback", {"cookie": "privet-sign-in=nonsense"}),
        ("/v1/jobs/JOB/frames", {"privet-relay": f"h1.{'0' * 32}.1"}),
        ("/v1/jobs/JOB/progress", {}),
        ("/v1/sign-in", {}),
    ],
)
def test_what_only_looks_like_a_proof_is_counted(
    cloud: CloudUnderTest, path: str, headers: dict[str, str]
) -> None:
    job = "0" * 32
    call = RelayCall(agent="h1", job=job, time=1)
    stranger = cloud.parties.identities[AgentId("h2")]
    if "privet-relay" in headers:
        headers = {"privet-relay": sign_call(call, stranger)}
    report = Progress(agent="h1", job=job, time=1, part="compute", phase="load", waiting_for=[])
    bodies = {
        "/v1/sign-in": {"name": 1},
        "/v1/jobs/JOB/progress": sign_progress(report, stranger).model_dump(),
    }
    statuses = []
    with httpx2.Client(base_url=cloud.base_url, trust_env=False, headers={**FAR, **headers}) as anybody:
        for _ in range(14):
            body = bodies.get(path)
            where = path.replace("JOB", job)
            answer = anybody.get(where) if body is None else anybody.post(where, json=body)
            statuses.append(answer.status_code)
    assert 429 not in statuses[:10], statuses
    assert statuses[-1] == 429, statuses


def test_an_address_is_believed_of_a_trusted_proxy_only(tmp_path: Path) -> None:
    limits = LimitSettings(anonymous_per_second=1)
    with running_cloud(tmp_path, hospitals=NAMES, bits=512, limits=limits) as running:
        assert {running.people.get("/v1/nothing", headers=FAR).status_code for _ in range(20)} == {404}


def document_of(cloud: CloudUnderTest) -> StudyDocument:
    document = cloud.services.studies.get("study").document
    assert document is not None
    return document


def test_answers_of_one_hospital_to_one_study_end(cloud: CloudUnderTest) -> None:
    document, identity = document_of(cloud), cloud.parties.identities[AgentId("h1")]

    def say(word: AnswerWord, at: int) -> None:
        answer = StudyAnswer(
            study="study",
            study_sha256=document.sha256,
            hospital="h1",
            answer=word,
            code=None if word == "approve" else "other",
            time=at,
        )
        cloud.services.governance.take_answer("study", sign_answer(answer, identity))

    for at in range(MAX_ANSWERS):
        say("approve" if at % 2 else "decline", at)
    with pytest.raises(PeerError, match="no more are taken") as refusal:
        say("approve", MAX_ANSWERS + 1)
    assert refusal.value.code is ErrorCode.TOO_LARGE
    # Who has approved can leave all the same, once.
    say("withdraw", MAX_ANSWERS + 1)
    with pytest.raises(PeerError, match="no more are taken"):
        say("withdraw", MAX_ANSWERS + 2)
    assert cloud.services.governance.standings(document)[0].state == "withdrawn"


def test_consents_of_one_hospital_leave_room_for_others(cloud: CloudUnderTest) -> None:
    document, parties = document_of(cloud), cloud.parties

    def consent(hospital: str, without: str) -> None:
        given = Consent(hospital=hospital, with_sha256=document.sha256, without_sha256=without, time=1)
        cloud.services.governance.take_consent(
            "study",
            sign_consent(given, parties.identities[AgentId(hospital)], parties.certificates[hospital]),
        )

    consent("h2", document.sha256)
    for number in range(MAX_CONSENTS):
        consent("h1", f"{number:064x}")
    with pytest.raises(PeerError, match="no more are taken"):
        consent("h1", "f" * 64)
    consent("h1", f"{0:064x}")  # a repeat takes no room
    with cloud.services.database.read() as connection:
        found = [signed.consent.hospital for signed in consents_for(connection, document.sha256)]
    assert len(found) == MAX_CONSENTS
    assert "h2" in found


def test_a_slow_body_is_cut_off(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "START_SECONDS", 0.3)
    with raw_connection(cloud) as connection:
        connection.sendall(
            b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
        )
        answer = b""
        while b"more slowly than" not in answer and (piece := connection.recv(65536)):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 429")
    assert b"more slowly than" in answer


def test_slow_headers_are_cut_off(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = cloud._server.config.http_protocol_class
    monkeypatch.setattr(protocol, "header_seconds", 0.3)
    with raw_connection(cloud) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        assert connection.recv(100) == b""
    with raw_connection(cloud) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_long_headers_are_refused(cloud: CloudUnderTest) -> None:
    with raw_connection(cloud) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 2**15)
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


def test_connections_of_an_address() -> None:
    door = Door(2)
    assert [door.enter("203.0.113.7") for _ in range(3)] == [True, True, False]
    assert door.enter("203.0.113.8")
    assert all(door.enter("127.0.0.1") for _ in range(10))
    door.leave("203.0.113.7")
    assert door.enter("203.0.113.7")
    assert door.count == 13


def test_a_hospital_in_as_many_jobs_as_may_run(cloud: CloudUnderTest) -> None:
    first = cloud.job()
    answer = cloud.people.post("/v1/studies/study/jobs", json={"min_node": 1, "min_child": 1})
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert "h1, h2, h3" in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) > 60
    cloud.people.post(f"/v1/jobs/{first}/cancel")
    assert cloud.job()


def test_messages_of_an_hour(cloud: CloudUnderTest) -> None:
    with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        cloud.job()
        hospitals[0].fetch(wait=5)
        own = hospitals[0].host.outbox[0]
        statuses = [hospitals[0].post(own).status_code for _ in range(62)]
    assert statuses[:60] == [200] * 60
    assert statuses[-1] == 429


def test_bytes_that_are_kept(cloud: CloudUnderTest) -> None:
    limits = LimitSettings.model_validate({"stored_bytes": 2**20})
    quotas = Quotas(cloud.services.database, limits)
    quotas.take_message("h1", 2**19)
    with pytest.raises(PeerError, match="bytes are kept of h1"):
        quotas.take_message("h1", 2**19 + 1)
    quotas.take_message("h2", 2**19)


def test_rates_check_and_charge() -> None:
    rates = Rates(1, burst_seconds=2)
    for _ in range(2):
        rates.check("a")
        rates.charge("a")
    with pytest.raises(RateLimitedError):
        rates.check("a")
    rates.check("b")


def test_all_limits_have_a_line(tmp_path: Path) -> None:
    told = {limit.setting for limit in in_force(Settings(folder=tmp_path))}
    assert {f"limits.{name}" for name in LimitSettings.model_fields} <= told


def test_a_steady_body_passes(cloud: CloudUnderTest) -> None:
    with raw_connection(cloud) as connection:
        connection.sendall(
            b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{"
        )
        time.sleep(0.05)
        connection.sendall(b"}")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
