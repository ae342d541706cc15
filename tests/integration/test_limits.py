"""What strangers and single hospitals may take of a cloud: each limit is met, and what is within it is not."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud_service.api import body
from cloud_service.api.connections import Door
from cloud_service.limits import in_force
from cloud_service.service.quotas import Quotas
from cloud_service.service.rates import RateLimitedError, Rates
from cloud_service.settings import LimitSettings, Settings
from shared.errors import PeerError
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


def test_an_address_is_believed_of_a_trusted_proxy_only(tmp_path: Path) -> None:
    limits = LimitSettings(anonymous_per_second=1)
    with running_cloud(tmp_path, hospitals=NAMES, bits=512, limits=limits) as running:
        assert {running.people.get("/v1/nothing", headers=FAR).status_code for _ in range(20)} == {404}


def test_a_slow_body_is_cut_off(cloud: CloudUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "START_SECONDS", 0.3)
    with raw_connection(cloud) as connection:
        connection.sendall(
            b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
        )
        answer = connection.recv(65536)
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
