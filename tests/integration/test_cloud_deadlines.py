"""Time at a real cloud: silent hospitals, who is told what, and what a hospital that is out cannot do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cloud_service.store import jobs
from shared.ids import JobId
from shared.protocol.envelopes import Address, Chain, seal
from shared.wire.envelope import MessageType
from shared.wire.rounds import Abort
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import JSON, HttpHospital, hospitals_of, run_together

NAMES = ("h1", "h2", "h3", "h4")
SHORT = {"invite_seconds": 600, "round_seconds": 600, "pause_seconds": 600}


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, database_url, bits=512, hospitals=NAMES) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def hospitals(cloud: CloudUnderTest) -> Iterator[list[HttpHospital]]:
    with hospitals_of(cloud, dealt(*NAMES)) as found:
        yield found


def let_time_pass(cloud: CloudUnderTest, job: str) -> None:
    """As if the present deadline had come."""
    with cloud.services.database.write() as connection:
        stored = jobs.load(connection, job, lock=True)
        assert stored is not None
        past = {"deadline": 1}
        if stored.job.paused_since is not None:
            past["paused_since"] = 1
        connection.exec_driver_sql(
            f"UPDATE jobs SET {', '.join(f'{name} = {value}' for name, value in past.items())} WHERE id = '{job}'"
        )
    cloud.services.housekeeper.tick(JobId(job))


def kinds(raws: list[bytes]) -> list[str]:
    return [json.loads(raw)["envelope"]["type"] for raw in raws]


def seen(cloud: CloudUnderTest, job: str) -> dict[str, Any]:
    return dict(cloud.people.get(f"/v1/jobs/{job}").json())


def test_who_does_not_answer_is_told_and_the_rest_goes_on(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job(deadlines=SHORT)
    for hospital in hospitals[:3]:
        hospital.fetch(wait=5)
        hospital.send_all()
    let_time_pass(cloud, job)
    run_together(hospitals[:3])
    assert seen(cloud, job)["state"] == "DONE"
    assert [member["in_roster"] for member in seen(cloud, job)["members"]] == [True, True, True, False]
    assert kinds(hospitals[3].fetch()) == ["job_offer", "abort"]


def test_who_is_dropped_in_round_0_is_told_and_gets_no_sum(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job(deadlines=SHORT)
    for hospital in hospitals:
        hospital.fetch(wait=5)
        hospital.send_all()
    for hospital in hospitals[:3]:
        hospital.fetch(wait=5)
        hospital.send_all()
    let_time_pass(cloud, job)
    assert (seen(cloud, job)["attempt"], seen(cloud, job)["waiting_for"]) == (1, ["h1", "h2", "h3"])
    run_together(hospitals[:3])
    assert seen(cloud, job)["state"] == "DONE"
    assert len({hospital.host.tree for hospital in hospitals[:3]}) == 1
    last = hospitals[3]
    assert kinds(last.fetch()) == ["roster", "round_open", "abort"]
    assert last.host.participation is not None
    assert last.host.participation.state == "ABORTED"


def test_silent_member_later_pauses_then_ends_the_job(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job(deadlines=SHORT, max_shrinks=0)
    for hospital in hospitals:
        hospital.fetch(wait=5)
        hospital.send_all()
    let_time_pass(cloud, job)
    paused = seen(cloud, job)
    assert (paused["paused"], paused["state"], paused["waiting_for"]) == (True, "COLLECTING", list(NAMES))
    let_time_pass(cloud, job)
    ended = seen(cloud, job)
    assert (ended["state"], ended["failure"]) == ("FAILED", "deadline")
    assert kinds(hospitals[0].fetch())[-1] == "abort"


def test_too_few_answers_end_the_job(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job(deadlines=SHORT)
    hospitals[0].fetch(wait=5)
    hospitals[0].send_all()
    let_time_pass(cloud, job)
    assert (seen(cloud, job)["state"], seen(cloud, job)["failure"]) == ("FAILED", "deadline")
    assert kinds(hospitals[1].fetch()) == ["job_offer", "abort"]


def test_who_takes_no_part_cannot_end_the_job(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job(deadlines=SHORT)
    outsider = hospitals[3]
    outsider.fetch(wait=5)
    participation = outsider.host.participation
    assert participation is not None
    address = Address(MessageType.ABORT, job, participation.mh, 0, 0, "h4", "cloud")
    abort = seal(cloud.parties.identities["h4"], address, Chain(), Abort(code="tag_mismatch"))
    answer = outsider.http.post("/v1/messages", content=abort.raw, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (409, "roster_mismatch")
    assert seen(cloud, job)["state"] == "INVITING"


def test_a_member_that_aborts_ends_the_job_for_all(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job(deadlines=SHORT)
    for hospital in hospitals:
        hospital.fetch(wait=5)
        hospital.send_all()
    first = hospitals[0]
    participation = first.host.participation
    assert participation is not None
    address = Address(MessageType.ABORT, job, participation.mh, 0, 0, "h1", "cloud")
    abort = seal(cloud.parties.identities["h1"], address, participation.chain, Abort(code="tag_mismatch"))
    assert first.http.post("/v1/messages", content=abort.raw, headers=JSON).status_code == 200
    assert (seen(cloud, job)["state"], seen(cloud, job)["failure"]) == ("FAILED", "tag_mismatch")
    assert kinds(hospitals[1].fetch())[-1] == "abort"
