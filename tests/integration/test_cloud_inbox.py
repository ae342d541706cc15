"""The inbox: signed polls, long polls, cursors, and only one's own messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud_service.service.services import unix_time
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import HttpHospital, hospitals_of

NAMES = ("h1", "h2", "h3")


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, bits=512, hospitals=(*NAMES, "h4")) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def hospitals(cloud: CloudUnderTest) -> Iterator[list[HttpHospital]]:
    with hospitals_of(cloud, dealt(*NAMES, "h4")) as found:
        yield found


def poll(hospital: HttpHospital, header: str, **params: object) -> tuple[int, str]:
    answer = hospital.http.get("/v1/inbox", headers={"privet-poll": header}, params=params)  # type: ignore[arg-type]
    return answer.status_code, answer.json().get("code", "")


def test_poll_is_signed_by_its_agent_for_its_place_and_time(hospitals: list[HttpHospital]) -> None:
    first, second = hospitals[:2]
    good = first.poll_header()
    assert poll(first, good, after=first.after) == (200, "")
    assert poll(first, good, after=first.after + 1) == (401, "bad_signature")
    claim, _, _ = good.rpartition(".")
    _, _, other = second.poll_header().rpartition(".")
    assert poll(first, f"{claim}.{other}", after=first.after) == (401, "bad_signature")
    assert poll(first, first.poll_header(at=unix_time() - 3600), after=first.after) == (401, "bad_signature")
    assert poll(first, "nonsense", after=0) == (400, "malformed")
    assert poll(first, good.replace('"h1"', '"h7"'), after=first.after) == (401, "unknown_agent")
    missing = first.http.get("/v1/inbox")
    assert (missing.status_code, missing.json()["code"]) == (422, "invalid_input")


def test_long_poll_ends_when_something_comes(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    found: list[bytes] = []
    waiting = threading.Thread(target=lambda: found.extend(hospitals[0].fetch(wait=20)))
    waiting.start()
    time.sleep(0.3)
    assert waiting.is_alive()
    cloud.job()
    waiting.join(10)
    assert not waiting.is_alive()
    assert len(found) == 1


def test_long_poll_hears_of_what_another_replica_wrote(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    from cloud_service.service.planning import JobPlan

    other = cloud.second()
    found: list[bytes] = []
    waiting = threading.Thread(target=lambda: found.extend(hospitals[0].fetch(wait=20)))
    waiting.start()
    other.jobs.start(other.studies.get("study"), JobPlan())
    waiting.join(15)
    other.database.dispose()
    assert len(found) == 1


def test_long_poll_without_news_is_empty(hospitals: list[HttpHospital]) -> None:
    assert hospitals[0].fetch(wait=0.2) == []


def test_only_the_invited_get_an_offer(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    cloud.job(invited=list(NAMES))
    assert [len(hospital.fetch()) for hospital in hospitals] == [1, 1, 1, 0]


def test_cursor_moves_past_what_was_dealt_with(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    cloud.job()
    cloud.people.post(f"/v1/jobs/{cloud.job()}/cancel")
    first = hospitals[0]
    start = first.after
    assert len(first.fetch()) == 3
    assert first.fetch() == []
    first.after = start
    first.host.cursor = 10**6
    assert len(first.fetch()) == 3


def test_server_stops_at_once_with_polls_open(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    waiting = [threading.Thread(target=lambda h=h: h.fetch(wait=25)) for h in hospitals]
    for thread in waiting:
        thread.start()
    time.sleep(0.3)
    began = time.monotonic()
    cloud.restart()
    assert time.monotonic() - began < 15
    for thread in waiting:
        thread.join(10)
        assert not thread.is_alive()
