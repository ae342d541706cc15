"""The door for progress of secret jobs: who may tell, what is refused, and what people see of it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from shared.protocol.polling import sign_progress
from shared.wire.secret import Progress, SignedProgress
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.relays import SCHEMA, set_state

HOSPITALS = ("h1", "h2", "h3", "h4")
ROSTER = HOSPITALS[:3]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CloudUnderTest]:
    folder = tmp_path_factory.mktemp("progress")
    with running_cloud(folder, hospitals=HOSPITALS, requests_per_second=1000) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def job(cloud: CloudUnderTest) -> str:
    """A secret job whose roster computes."""
    made = cloud.job("study", mode="id3", secret={"compute_parties": list(ROSTER)}, invited=list(HOSPITALS))
    set_state(cloud, made, "COMPUTING", ROSTER)
    return made


def report(job: str, agent: str = "h1", **changes: Any) -> Progress:
    fields = {"agent": agent, "job": job, "time": int(time.time()), "part": "compute", "phase": "split"}
    return Progress.model_validate({**fields, **changes})


def signed(cloud: CloudUnderTest, progress: Progress, by: str | None = None) -> bytes:
    return sign_progress(progress, cloud.parties.identities[by or progress.agent]).canonical()


def post(cloud: CloudUnderTest, job: str, body: bytes) -> httpx2.Response:
    headers = {"content-type": "application/json"}
    return httpx2.post(f"{cloud.base_url}/v1/jobs/{job}/progress", content=body, headers=headers)


def page(cloud: CloudUnderTest, job: str) -> Any:
    return cloud.people.get(f"/v1/jobs/{job}").json()


def test_a_report_is_seen_by_people_and_replaces_the_one_before(cloud: CloudUnderTest, job: str) -> None:
    assert page(cloud, job)["longest_silent"] == "h1"
    for layer in (1, 2):
        told = report(job, layer=layer, layers=5, rounds=100 * layer, sent_bytes=7, remaining_seconds=9)
        assert post(cloud, job, signed(cloud, told)).status_code == 204
    shown = {member["id"]: member["progress"] for member in page(cloud, job)["members"]}
    assert (shown["h1"]["layer"], shown["h1"]["rounds"], shown["h1"]["remaining_seconds"]) == (2, 200, 9)
    assert shown["h2"] is None
    assert page(cloud, job)["longest_silent"] == "h2"
    events = cloud.people.get(f"/v1/jobs/{job}/events").json()["events"]
    layers = [event["data"]["layer"] for event in events if event["kind"] == "progress"]
    assert layers == [1, 2]
    again = report(job, layer=2, layers=5, rounds=250)
    post(cloud, job, signed(cloud, again))
    assert len(cloud.people.get(f"/v1/jobs/{job}/events").json()["events"]) == len(events)


def test_progress_survives_a_restart(cloud: CloudUnderTest, job: str) -> None:
    post(cloud, job, signed(cloud, report(job, agent="h2", rounds=3)))
    cloud.restart()
    shown = {member["id"]: member["progress"] for member in page(cloud, job)["members"]}
    assert shown["h2"]["rounds"] == 3


@pytest.mark.parametrize(
    ("changes", "by", "status", "code"),
    [
        ({"agent": "h4"}, None, 409, "roster_mismatch"),
        ({"agent": "h9"}, "h1", 409, "roster_mismatch"),
        ({}, "h2", 401, "bad_signature"),
        ({"time": int(time.time()) - 4000}, None, 401, "bad_signature"),
        ({"job": "ab" * 16}, None, 400, "malformed"),
    ],
)
def test_strangers_and_old_reports_are_refused(
    cloud: CloudUnderTest, job: str, changes: dict[str, Any], by: str | None, status: int, code: str
) -> None:
    answer = post(cloud, job, signed(cloud, report(**{"job": job, **changes}), by))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert {member["progress"] is None for member in page(cloud, job)["members"]} == {True}


def test_a_report_changed_on_the_way_is_refused(cloud: CloudUnderTest, job: str) -> None:
    sealed = SignedProgress.parse(signed(cloud, report(job)), what="progress", max_bytes=2**16)
    changed = sealed.model_copy(update={"progress": report(job, waiting_seconds=9999)})
    assert post(cloud, job, changed.canonical()).json()["code"] == "bad_signature"


def test_after_its_end_a_job_takes_no_report(cloud: CloudUnderTest, job: str) -> None:
    cloud.people.post(f"/v1/jobs/{job}/cancel")
    assert post(cloud, job, signed(cloud, report(job))).json()["code"] == "late"
    missing = report("cd" * 16)
    assert post(cloud, "cd" * 16, signed(cloud, missing)).json()["code"] == "roster_mismatch"


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "a secret: 42"},
        {"phase": ""},
        {"rounds": -1},
        {"rounds": 1.5},
        {"waiting_for": ["h1"] * 1025},
        {"part": "cloud"},
        {"value": 1},
    ],
)
def test_what_is_no_report_is_refused_without_repeating_it(
    cloud: CloudUnderTest, job: str, change: dict[str, Any]
) -> None:
    document = json.loads(signed(cloud, report(job)))
    document["progress"] |= change
    answer = post(cloud, job, json.dumps(document).encode())
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert "42" not in answer.text
    assert post(cloud, job, b"x" * 2**18).status_code == 413
