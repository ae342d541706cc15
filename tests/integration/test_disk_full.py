"""A full disk at the cloud or at an agent: it is told, nothing is lost, and with room the job goes on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.consistency import check_agent, check_cloud, check_together
from tests.support.federation import LocalFederation, local_federation
from tests.support.small_disks import SmallDisk, small_disk
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
EVENTS = ("invited", "accepted", "roster", "contributed", "aggregate", "decided")


def start(federation: LocalFederation, folder: Path) -> str:
    folder.mkdir()
    return federation.start_job(SCHEMA, write_files(folder, HOSPITALS), max_shrinks=0)


def events(federation: LocalFederation, job: str) -> list[str]:
    with federation.cloud.services.database.read() as connection:
        return [
            row[0]
            for row in connection.exec_driver_sql(
                f"SELECT kind FROM job_events WHERE job = '{job}' ORDER BY id"
            )
        ]


def check(federation: LocalFederation, job: str) -> None:
    federation.until(lambda: federation.is_settled(job, HOSPITALS), timeout_seconds=120)
    expected = pooled_tree(HOSPITALS)
    for hospital in federation.hospitals.values():
        entry = hospital.entry(job)
        assert entry is not None
        assert entry.status is JobStatus.COMPLETE, entry.reason
        assert hospital.model(job).tree_sha256 == expected.sha256
        check_agent(hospital.folder)
    url = federation.cloud.settings.database
    check_cloud(url)
    check_together(url, {name: h.folder for name, h in federation.hospitals.items()}, job)


def fill_at(federation: LocalFederation, disk: SmallDisk, job: str, event: str) -> None:
    federation.until(lambda: event in events(federation, job))
    disk.fill()


@pytest.mark.parametrize(
    "event", ["roster", *(pytest.param(e, marks=pytest.mark.long) for e in EVENTS if e != "roster")]
)
def test_an_agent_waits_for_room(tmp_path: Path, event: str) -> None:
    with (
        small_disk(tmp_path / "h1") as disk,
        local_federation(tmp_path, HOSPITALS, start=False) as federation,
    ):
        job = start(federation, tmp_path / "records")
        victim = federation.hospitals["h1"]
        for hospital in federation.hospitals.values():
            hospital.start()
        fill_at(federation, disk, job, event)
        federation.until(lambda: "privet explain A019" in victim.output.getvalue(), timeout_seconds=90)
        assert not federation.is_settled(job, ["h1"])
        check_agent(victim.folder)
        disk.make_room()
        check(federation, job)
        assert "works with the cloud again" in victim.output.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("event", EVENTS)
def test_a_cloud_answers_503_until_there_is_room(tmp_path: Path, event: str) -> None:
    with (
        small_disk(tmp_path / "cloud") as disk,
        local_federation(tmp_path, HOSPITALS, start=False) as federation,
    ):
        job = start(federation, tmp_path / "records")
        for hospital in federation.hospitals.values():
            hospital.start()
        fill_at(federation, disk, job, event)
        answer = federation.cloud.people.post(f"/v1/jobs/{job}/cancel", json={})
        assert answer.status_code == 503, answer.text
        assert answer.json()["code"] == "audit_unavailable"
        assert federation.cloud.people.get(f"/v1/jobs/{job}").status_code == 200, "what is there can be read"
        time.sleep(1.0)
        check_cloud(federation.cloud.settings.database)
        disk.make_room()
        check(federation, job)
