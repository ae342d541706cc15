"""The clock of the cloud or of an agent jumps by a day in the middle of a job: none is lost, nobody is locked out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cloud_service.service.attempts import LONGEST_SECONDS, NAME_FREE, Attempts
from cloud_service.service.leases import Leases
from cloud_service.service.rates import RateLimitedError
from cloud_service.store import schema
from cloud_service.store.database import Database
from hospital_agent.journal import JobStatus
from shared.errors import InputError
from tests.support.clinic import SCHEMA
from tests.support.consistency import check_agent, check_cloud, check_together
from tests.support.federation import LocalFederation, local_federation
from tests.support.lives import Mortal, mortal_agent, mortal_cloud
from tests.support.programs import free_port
from tests.support.weighted_clinic import pooled_tree, write_files

HOSPITALS = ("h1", "h2", "h3")
DAY = 86_400
SHORT = {"invite_seconds": 3600, "round_seconds": 3600, "pause_seconds": 7200}
"""A day is longer than all of these together: a jump passes every deadline that is open."""
MOMENTS = ("invited", "roster", "contributed", "aggregate", "decided")


PLAN: dict[str, Any] = {"min_node": 1, "min_child": 1, "max_depth": None, "max_shrinks": 0}


def statuses(federation: LocalFederation, job: str) -> dict[JobStatus, str | None]:
    """How the job ended at the hospitals, each once, with a reason."""
    federation.until(lambda: federation.is_settled(job, HOSPITALS), timeout_seconds=120)
    entries = [hospital.entry(job) for hospital in federation.hospitals.values()]
    return {entry.status: entry.reason for entry in entries if entry is not None}


def check(federation: LocalFederation, job: str) -> None:
    assert statuses(federation, job).keys() == {JobStatus.COMPLETE}, statuses(federation, job)
    for hospital in federation.hospitals.values():
        assert hospital.model(job).tree_sha256 == pooled_tree(HOSPITALS).sha256
    check_books(federation, job)


def check_end(federation: LocalFederation, job: str) -> bool:
    """Whether it ended with the tree; then at all hospitals, and otherwise at none."""
    ended = statuses(federation, job)
    if JobStatus.COMPLETE in ended:
        check(federation, job)
        return True
    assert ended.keys() <= {JobStatus.FAILED, JobStatus.DECLINED}, ended
    for hospital in federation.hospitals.values():
        with pytest.raises(InputError):
            hospital.model(job)
    check_books(federation, job)
    return False


def check_books(federation: LocalFederation, job: str) -> None:
    for hospital in federation.hospitals.values():
        check_agent(hospital.folder)
    url = federation.cloud.settings.database
    check_cloud(url)
    check_together(url, {name: h.folder for name, h in federation.hospitals.items()}, job)


def events(federation: LocalFederation, job: str) -> list[str]:
    database = Database(federation.cloud.settings.database)
    with database.read() as connection:
        found = connection.exec_driver_sql(f"SELECT kind FROM job_events WHERE job = '{job}' ORDER BY id")
        kinds = [row[0] for row in found]
    database.dispose()
    return kinds


@contextmanager
def with_cloud(folder: Path) -> Iterator[tuple[LocalFederation, Mortal, str]]:
    """A cloud as a process with a clock of its own, and a job whose agents have not begun."""
    with local_federation(folder, HOSPITALS, start=False, port=free_port()) as federation:
        (folder / "records").mkdir()
        files = write_files(folder / "records", HOSPITALS)
        job = federation.start_job(SCHEMA, files, max_shrinks=0, deadlines=SHORT)
        with mortal_cloud(federation) as cloud:
            cloud.start()
            yield federation, cloud, job


def people(federation: LocalFederation) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {federation.cloud.token}"}
    return httpx2.Client(base_url=federation.cloud.base_url, headers=headers, timeout=30, trust_env=False)


def jump_cloud(folder: Path, moment: str, *, forward: bool) -> None:
    with with_cloud(folder) as (federation, cloud, job):
        for hospital in federation.hospitals.values():
            hospital.start()
        federation.until(lambda: moment in events(federation, job))
        cloud.jump(forward=forward)
        go_on(federation, job, moment, cloud, forward=forward)


def jump_agent(folder: Path, moment: str, *, forward: bool) -> None:
    with local_federation(folder, HOSPITALS, start=False) as federation:
        (folder / "records").mkdir()
        job = federation.start_job(SCHEMA, write_files(folder / "records", HOSPITALS), max_shrinks=0)
        victim, *others = federation.hospitals.values()
        with mortal_agent(victim) as agent:
            agent.start()
            for hospital in others:
                hospital.start()
            federation.until(lambda: moment in events(federation, job))
            agent.jump(forward=forward)
            go_on(federation, job, moment, agent, forward=forward)
            assert agent.is_alive


def go_on(federation: LocalFederation, job: str, moment: str, jumped: Mortal, *, forward: bool) -> None:
    """From the roster on a job reaches its tree. An invitation ends by the cloud's clock, and an offer counts in its
    time by the agent's, so before that it may end without one; once the clock is right, the next job has its tree."""
    if moment != "invited":
        check(federation, job)
    elif not check_end(federation, job):
        jumped.jump(forward=not forward)
        with people(federation) as client:
            study = client.get(f"/v1/jobs/{job}").json()["study"]
            answer = client.post(f"/v1/studies/{study}/jobs", json={**PLAN, "invited": list(HOSPITALS)})
        assert answer.status_code == 201, answer.text
        check(federation, answer.json()["id"])


@pytest.mark.long
@pytest.mark.parametrize("forward", [True, False], ids=["forward", "back"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_clocks_jump_at_every_stage(tmp_path: Path, moment: str, forward: bool) -> None:
    jump_cloud(tmp_path / "cloud", moment, forward=forward)
    jump_agent(tmp_path / "agent", moment, forward=forward)


@pytest.mark.long
def test_a_job_that_nobody_has_answered_ends_when_its_deadline_is_jumped_over(tmp_path: Path) -> None:
    with with_cloud(tmp_path) as (federation, cloud, job), people(federation) as client:
        federation.until(lambda: _answers(client))
        cloud.jump(forward=True)
        federation.until(lambda: client.get(f"/v1/jobs/{job}").json()["state"] == "FAILED")
        assert client.get(f"/v1/jobs/{job}").json()["failure"] == "deadline"


def _answers(client: httpx2.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


def test_a_wait_noted_in_the_future_locks_nobody_out(database_url: str) -> None:
    database = Database(database_url)
    schema.upgrade(database)
    now = [10 * DAY]
    attempts = Attempts(database, b"k" * 32, lambda: now[0])
    for _ in range(NAME_FREE):
        attempts.begin("ada", "192.0.2.1")
    with pytest.raises(RateLimitedError):
        attempts.begin("ada", "192.0.2.1")
    now[0] -= DAY
    attempts.begin("ada", "192.0.2.1")
    with pytest.raises(RateLimitedError) as waits:
        attempts.begin("ada", "192.0.2.1")
    assert (waits.value.retry_after_seconds or 0) <= LONGEST_SECONDS
    database.dispose()


def test_a_lease_of_before_the_clock_was_put_back_is_nobodys(postgres_url: str) -> None:
    database = Database(postgres_url)
    schema.upgrade(database)
    dead, other = Leases(database, ""), Leases(database, "")
    assert dead.take("relay", "ab" * 16) == dead.me
    assert other.take("relay", "ab" * 16) == dead.me
    with database.write() as connection:
        connection.exec_driver_sql(f"UPDATE leases SET until = until + {DAY * 1000}")
    assert other.find("relay", "ab" * 16) is None
    assert other.take("relay", "ab" * 16) == other.me
    database.dispose()
