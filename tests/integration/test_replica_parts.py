"""What a replica keeps in memory is a cache: whatever one does, the other knows in a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text

from cloud_service.service import summing
from cloud_service.service.housekeeping import Housekeeper
from cloud_service.service.notifier import inbox_of
from shared.ids import AgentId, JobId
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import HOSPITALS, CloudUnderTest, cloud_bundle
from tests.support.databases import postgres_database
from tests.support.http_hospital import HttpHospital, hospitals_of, run_together
from tests.support.replicas import Twin, twin_clouds
from tests.support.waiting import until

Pair = tuple[CloudUnderTest, Twin]


@pytest.fixture(scope="module")
def clouds(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with (
        postgres_database(postgres_server) as url,
        twin_clouds(tmp_path_factory.mktemp("twins"), url) as both,
    ):
        yield both


def test_hospitals_of_one_job_at_two_replicas(clouds: Pair) -> None:
    first, second = clouds
    first.study(SCHEMA, name="both")
    with hospitals_of(first, dealt(*HOSPITALS)) as hospitals:
        hospitals[1].http.close()
        hospitals[1].http = httpx2.Client(base_url=second.base_url, timeout=60, trust_env=False)
        job = first.job("both")
        run_together(hospitals)
    assert len({hospital.host.tree for hospital in hospitals}) == 1
    for cloud in clouds:
        assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"
        cloud.services.housekeeper.keep()
    rounds = first.people.get(f"/v1/jobs/{job}").json()["round"] + 1
    with first.services.database.read() as connection:
        found = connection.execute(text("SELECT count(*) FROM aggregates WHERE job = :job"), {"job": job})
        assert found.scalar() == rounds


def test_each_replica_hears_the_other(clouds: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scan is off, so that only a hint can wake the long poll."""
    first, second = clouds
    for cloud in clouds:
        until(lambda cloud=cloud: cloud.services.hints.is_hearing, "no echo")  # type: ignore[misc]
    monkeypatch.setattr(Housekeeper, "keep", lambda self: None)
    monkeypatch.setattr(first.services.notifier, "is_closed", False)
    hospital = HttpHospital(second, "h1", [])
    with second.services.database.read() as connection:
        hospital.after = int(
            connection.execute(text("SELECT coalesce(max(id), 0) FROM outbox")).scalar() or 0
        )
    came: list[float] = []

    def ask() -> None:
        hospital.fetch(wait=20)
        came.append(time.monotonic())

    poll = threading.Thread(target=ask)
    began = time.monotonic()
    poll.start()
    waiting = second.services.notifier._waiting
    until(lambda: inbox_of("h1") in waiting, "the poll does not wait")
    first.job(first.study(SCHEMA, name="hinted"))
    poll.join(30)
    hospital.close()
    assert came[0] - began < 19, "only the end of its time woke the poll"


def test_a_lost_connection_for_hints_is_opened_again(clouds: Pair) -> None:
    hints = clouds[0].services.hints
    until(lambda: hints.is_hearing, "no echo")
    echo = hints._echo
    with clouds[0].services.database.write() as connection:
        ears = "FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND pid <> pg_backend_pid()"
        connection.execute(text(f"SELECT pg_terminate_backend(pid) {ears}"))
    until(lambda: hints.is_hearing and hints._echo > echo, "it stays deaf")


def test_one_replica_sums_and_the_other_takes_over(clouds: Pair) -> None:
    job = JobId("ab" * 16)
    leases = [cloud.services.leases for cloud in clouds]
    assert leases[0].take(summing.LEASE, job) == leases[0].me
    assert leases[1].take(summing.LEASE, job) == leases[0].me
    assert not clouds[1].services.summer.sum_round(job)
    leases[0].release(summing.LEASE, job)
    assert leases[1].take(summing.LEASE, job) == leases[1].me
    leases[1].release(summing.LEASE, job)


def test_a_revoked_token_and_a_joined_bundle_count_everywhere(clouds: Pair) -> None:
    first, second = clouds
    token = first.services.tokens.create("short-lived")
    headers = {"Authorization": f"Bearer {token}"}
    assert second.people.get("/v1/studies", headers=headers).status_code in (200, 403)
    first.services.tokens.revoke("short-lived")
    assert second.people.get("/v1/studies", headers=headers).status_code == 401
    first.services.membership.join(cloud_bundle(first.parties, epoch=1, issued=2), None, 2)

    def knows() -> bool:
        return second.services.membership.current().federation.issued == 2

    until(knows, "the other replica does not learn of the newer document")


def test_presence_is_of_all_replicas(clouds: Pair) -> None:
    first, second = clouds
    second.services.housekeeper.presence.saw(AgentId("h2"))
    seen = second.services.housekeeper.presence.last_seen("h2", 0)
    second.services.housekeeper.presence.save(second.services.database)
    found = {hospital["id"]: hospital for hospital in first.people.get("/v1/hospitals").json()["hospitals"]}
    assert found["h2"]["last_seen"] >= seen


@pytest.mark.long
def test_a_stop_takes_less_than_five_seconds_whatever_goes_on(
    postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = threading.Event()

    def endless(*_arguments: object) -> list[str]:
        entered.set()
        time.sleep(30)
        return []

    with postgres_database(postgres_server) as url, twin_clouds(tmp_path / "twins", url) as (first, second):
        first.study(SCHEMA)
        with hospitals_of(second, dealt(*HOSPITALS)) as hospitals:
            job = first.job()
            monkeypatch.setattr(summing, "compute_sum", endless)
            polls = [threading.Thread(target=run_until_cut, args=(hospital,)) for hospital in hospitals]
            for poll in polls:
                poll.start()
            stream = {"accept": "text/event-stream", "Authorization": f"Bearer {first.token}"}
            with httpx2.stream("GET", f"{second.base_url}/v1/jobs/{job}/events", headers=stream, timeout=60):
                assert entered.wait(60)
                monkeypatch.undo()
                began = time.monotonic()
                second.stop()
                assert time.monotonic() - began < 5
            for poll in polls:
                poll.join()
            second.start()
            for hospital in hospitals:
                hospital.cloud = second
                hospital.reconnect()
            second.connect()
            run_together(hospitals)


def run_until_cut(hospital: HttpHospital) -> None:
    """Until the replica is gone."""
    with suppress(httpx2.TransportError, AssertionError):
        hospital.run()
