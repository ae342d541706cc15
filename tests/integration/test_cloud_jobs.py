"""Whole jobs at a real cloud over HTTP, on SQLite and on PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from cloud_service.service.services import Services
from cloud_service.store import jobs, journal, messages
from shared.ids import JobId
from shared.protocol.envelopes import unseal
from shared.protocol.states import CloudState
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import HttpHospital, hospitals_of, run_together
from tests.support.world import MAX_BYTES

NAMES = ("h1", "h2", "h3")


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path, database_url, bits=512) as running:
        running.study(SCHEMA)
        yield running


@pytest.fixture
def hospitals(cloud: CloudUnderTest) -> Iterator[list[HttpHospital]]:
    with hospitals_of(cloud, dealt(*NAMES)) as found:
        yield found


def all_contribute(hospitals: list[HttpHospital]) -> None:
    """Up to the moment when every contribution of round 0 is in."""
    for _ in range(2):
        for hospital in hospitals:
            hospital.fetch(wait=5)
            hospital.send_all()


def raw_contribution(hospital: HttpHospital) -> bytes:
    return next(raw for raw in hospital.sent if b'"type":"contribution"' in raw)


def test_three_hospitals_end_with_one_tree(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job()
    run_together(hospitals)
    trees = {hospital.host.tree for hospital in hospitals}
    result = cloud.people.get(f"/v1/jobs/{job}/result").json()
    assert len(trees) == 1
    assert {result["tree_sha256"]} == trees
    assert result["missing"] == []
    seen = cloud.people.get(f"/v1/jobs/{job}").json()
    assert (seen["state"], seen["failure"], seen["waiting_for"]) == ("DONE", None, [])
    kinds = [event["kind"] for event in cloud.people.get(f"/v1/jobs/{job}/events").json()["events"]]
    assert kinds.count("attested") == 3
    assert kinds.index("roster") < kinds.index("aggregate") < kinds.index("done")


def test_profile_paper_where_it_is_switched_on(tmp_path: Path, database_url: str) -> None:
    changes = {"allow_paper_profile": True}
    with (
        running_cloud(tmp_path, database_url, bits=2048, **changes) as cloud,
        hospitals_of(cloud, dealt(*NAMES)) as hospitals,
    ):
        cloud.study(SCHEMA)
        cloud.study(SCHEMA, name="real", synthetic=False)
        refused = cloud.people.post("/v1/studies/real/jobs", json={"profile": "paper"})
        assert (refused.status_code, refused.json()["code"]) == (403, "policy_profile")
        job = cloud.job(profile="paper", max_depth=2)
        run_together(hospitals)
        assert cloud.people.get(f"/v1/jobs/{job}").json()["state"] == "DONE"
        assert len({hospital.host.tree for hospital in hospitals}) == 1


def test_every_aggregate_is_one_of_its_round(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job()
    run_together(hospitals)
    rounds = cloud.people.get(f"/v1/jobs/{job}").json()["round"]
    with cloud.services.database.read() as session:
        assert sorted(journal.aggregates(session, job)) == list(range(rounds + 1))


def test_log_is_one_chain_and_its_head_was_sent(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job()
    run_together(hospitals)
    with cloud.services.database.read() as session:
        entries = journal.audit(session, job)
    head = "0" * 64
    heads = {head}
    for number, entry in enumerate(entries):
        assert entry.number == number
        head = hashlib.sha256(bytes.fromhex(head) + entry.record).hexdigest()
        assert entry.hash == head
        heads.add(head)
    assert cloud.people.get(f"/v1/jobs/{job}").json()["log_head"] == head
    receipts = [unseal(raw, max_bytes=MAX_BYTES).envelope for h in hospitals for raw in h.replies]
    assert {receipt.body["head"] for receipt in receipts} <= heads


def test_restart_between_any_two_messages(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    cloud.job()
    while not all(hospital.is_over for hospital in hospitals):
        cloud.restart()
        for hospital in hospitals:
            hospital.reconnect()
            hospital.fetch(wait=0.2)
            hospital.send_all()
    assert len({hospital.host.tree for hospital in hospitals}) == 1


def test_contributions_are_gone_once_summed(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    job = cloud.job()
    all_contribute(hospitals)
    for hospital in hospitals:
        hospital.fetch(wait=10)  # the aggregate
    with cloud.services.database.read() as session:
        assert messages.contributions(session, job) == {}
        stored = jobs.load(session, job)
    assert stored is not None
    assert stored.job.state is CloudState.DECIDING


def test_sqlite_file_holds_no_summed_ciphertext(tmp_path: Path) -> None:
    with running_cloud(tmp_path, bits=512) as cloud, hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        cloud.study(SCHEMA)
        cloud.job()
        for hospital in hospitals[:2]:
            hospital.fetch(wait=5)
            hospital.send_all()
        hospitals[2].fetch(wait=5)
        hospitals[2].send_all()
        for hospital in hospitals[:2]:
            hospital.fetch(wait=5)
            hospital.send_all()
        wanted = json.loads(raw_contribution(hospitals[0]))["envelope"]["body"]["ciphertexts"][0].encode()
        files = [path for path in tmp_path.iterdir() if path.name.startswith("cloud.db")]
        assert any(wanted in path.read_bytes() for path in files), "the scan finds nothing while it is there"
        hospitals[2].fetch(wait=5)
        hospitals[2].send_all()
        hospitals[0].fetch(wait=10)
        cloud.services.database.forget_deleted()
        assert not any(wanted in path.read_bytes() for path in files)


def test_two_workers_commit_one_aggregate(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    cloud.services.workers[0].stop()
    job = JobId(cloud.job())
    all_contribute(hospitals)
    other = cloud.second()
    start = threading.Barrier(2)

    def work(services: Services) -> bool:
        start.wait(10)
        return services.summer.sum_round(job)

    with ThreadPoolExecutor(2) as pool:
        committed = list(pool.map(work, (cloud.services, other)))
    with cloud.services.database.read() as session:
        assert list(journal.aggregates(session, job)) == [0]
    other.database.dispose()
    assert sorted(committed) == [False, True]


def test_tables_take_a_second_aggregate_of_a_round_for_an_error(
    cloud: CloudUnderTest, hospitals: list[HttpHospital]
) -> None:
    job = cloud.job()
    all_contribute(hospitals)
    hospitals[0].fetch(wait=10)
    with pytest.raises(Exception, match=r"(?i)unique"), cloud.services.database.write() as session:
        session.execute(
            text(
                "INSERT INTO aggregates (job, round, attempt, roster_hash, sha256, created) "
                "SELECT job, round, attempt, roster_hash, sha256, created FROM aggregates WHERE job = :job"
            ),
            {"job": job},
        )
