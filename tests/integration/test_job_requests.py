"""A request to start a job that is sent twice starts one job (real HTTP, both databases)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import hospitals_of

NAMES = ("h1", "h2", "h3")
LOOSE = {"min_node": 1, "min_child": 1, "max_depth": None}


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    """A cloud with three registered hospitals and a study."""
    with running_cloud(tmp_path, database_url, hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA)
        with hospitals_of(running, dealt(*NAMES)):
            yield running


def start(cloud: CloudUnderTest, key: str | None, **changes: Any) -> Any:
    """Ask for a job."""
    headers = {} if key is None else {"idempotency-key": key}
    return cloud.people.post("/v1/studies/study/jobs", json=LOOSE | changes, headers=headers)


def test_the_same_request_again_or_at_once_is_the_same_job(cloud: CloudUnderTest) -> None:
    first, again, other = start(cloud, "k1"), start(cloud, "k1"), start(cloud, "k2")
    assert [one.status_code for one in (first, again, other)] == [201] * 3
    assert first.json()["id"] == again.json()["id"] != other.json()["id"]
    refused = start(cloud, "k1", min_node=7)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert first.json()["id"] in refused.json()["detail"]
    without = [start(cloud, None).json()["id"] for _ in range(2)]
    assert len({*without, first.json()["id"], other.json()["id"]}) == 4
    assert start(cloud, "two words").status_code == 422
    assert started_at_once(cloud) == 1


def started_at_once(cloud: CloudUnderTest) -> int:
    """Jobs that four equal requests begin that come together."""
    before = len(cloud.people.get("/v1/jobs").json()["jobs"])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: start(cloud, "at-once"), range(4)))
    assert {answer.status_code for answer in answers} == {201}, [answer.text for answer in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    return len(cloud.people.get("/v1/jobs").json()["jobs"]) - before
