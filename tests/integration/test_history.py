"""A cloud whose database is older than what its agents saw: noticed by each of three signs, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from cloud_service.service import backups
from cloud_service.service.services import unix_time
from cloud_service.store import backups as store
from cloud_service.store import history, outbox
from cloud_service.store.database import Database
from shared.errors import InputError, JobCode, PeerError
from shared.ids import CLOUD, AgentId
from shared.protocol.envelopes import Address, Chain, body_of, seal, unseal
from shared.protocol.history import FORGOTTEN_HEADER, SEEN_HEADER, JobSeen, Seen, read_seen, sign_seen
from shared.protocol.joining import decline
from shared.wire.base import MAX_INTEGER
from shared.wire.envelope import MessageType
from shared.wire.rounds import JobOffer
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, running_cloud
from tests.support.http_hospital import HttpHospital, hospitals_of, run_together

NAMES = ("h1", "h2", "h3")


@pytest.fixture
def cloud(tmp_path: Path, database_url: str, postgres_programs: None) -> Iterator[CloudUnderTest]:
    with running_cloud(tmp_path / "cloud", database_url, hospitals=NAMES, bits=512) as running:
        running.study(SCHEMA)
        yield running


@contextmanager
def a_round_after_a_backup(cloud: CloudUnderTest, file: Path) -> Iterator[tuple[str, list[HttpHospital]]]:
    """A job that was backed up with its roster fixed, and whose first sums every hospital has fetched since."""
    with hospitals_of(cloud, dealt(*NAMES)) as hospitals:
        job = cloud.job()
        for hospital in hospitals:
            hospital.fetch(wait=5)
            hospital.send_all()
        backups.take(cloud.services.database, file, unix_time())
        for hospital in hospitals:
            hospital.fetch(wait=5)
            hospital.send_all()
        for hospital in hospitals:
            hospital.fetch(wait=5)
            assert hospital.host.participation is not None
            assert hospital.host.participation.aggregated == 0
        yield job, hospitals


def put_back(cloud: CloudUnderTest, file: Path, hospitals: list[HttpHospital], *, marks: bool) -> list[str]:
    """Stop, restore, start. `marks`: as the command does it; else behind the cloud's back, as a disk image."""
    cloud.people.close()
    cloud.stop()
    database, kept, lost = Database(cloud.settings.database), cloud.folder / "kept.db", []
    if marks:
        signer = cloud.parties.identities[AgentId(CLOUD)]
        lost = [str(job) for job in backups.put_back(database, file, kept, signer, unix_time()).lost]
    else:
        with backups.opened(file, cloud.folder) as (_, content):
            database.dispose()
            store.put_back(database, content, kept, lambda _: None)
    database.dispose()
    assert kept.exists()
    cloud.start()
    cloud._connect()
    for hospital in hospitals:
        hospital.reconnect()
    return lost


def poll(hospital: HttpHospital, job: str) -> tuple[list[str], list[str]]:
    """A poll with the claim of a real agent; kinds of messages, and jobs that the cloud says it has forgotten."""
    here = hospital.host.participation
    assert here is not None
    claim = Seen(
        agent=hospital.name,
        time=unix_time(),
        jobs=[
            JobSeen(job=job, heard=here.cloud_seq + 1, answered=here.chain.seq - len(hospital.host.outbox))
        ],
    )
    headers = {
        "privet-poll": hospital.poll_header(),
        SEEN_HEADER: sign_seen(claim, hospital.cloud.parties.identities[AgentId(hospital.name)]),
    }
    answer = hospital.http.get("/v1/inbox", params={"after": hospital.after, "wait": 1}, headers=headers)
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    kinds = [str(item["message"]["envelope"]["type"]) for item in items]
    hospital._take(items)
    return kinds, answer.headers.get(FORGOTTEN_HEADER, "").split()


def failure(cloud: CloudUnderTest, job: str) -> tuple[str, str]:
    document = cloud.people.get(f"/v1/jobs/{job}").json()
    return document["state"], document["failure"]


def rows(cloud: CloudUnderTest, query: str) -> list[str]:
    with cloud.services.database.read() as connection:
        return [str(value) for value in connection.scalars(text(query))]


def check_new_jobs_work(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    with hospitals_of(cloud, dealt(*NAMES)) as fresh:
        for hospital, before in zip(fresh, hospitals, strict=True):
            hospital.after = before.after
        cloud.job()
        run_together(fresh)
        assert {hospital.host.participation.state for hospital in fresh} == {"COMPLETE"}  # type: ignore[union-attr]


def test_restored_by_the_command(cloud: CloudUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with a_round_after_a_backup(cloud, file) as (job, hospitals):
        assert poll(hospitals[0], job) == ([], [])
        assert put_back(cloud, file, hospitals, marks=True) == [job]
        assert failure(cloud, job) == ("FAILED", "history_lost")
        for hospital in hospitals:
            kinds, _ = poll(hospital, job)
            assert kinds[-1] == "abort"
            assert hospital.host.participation is not None
            assert hospital.host.participation.failure is JobCode.HISTORY_LOST
        assert "restored" in " ".join(rows(cloud, "SELECT record FROM acts ORDER BY number DESC LIMIT 2"))
        late = JobSeen(
            job=job, heard=0, answered=0
        )  # of an agent that passed the abort over and was upgraded since
        seen = Seen(agent="h1", time=unix_time(), jobs=[late])
        assert cloud.services.history.forgotten(AgentId("h1"), seen, b"{}") == [job]
        check_new_jobs_work(cloud, hospitals)


def test_restored_behind_its_back_and_seen_by_a_claim(cloud: CloudUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with a_round_after_a_backup(cloud, file) as (job, hospitals):
        put_back(cloud, file, hospitals, marks=False)
        assert failure(cloud, job)[0] == "COLLECTING"
        # An inbox place within what was given out shows nothing by itself; the claim does.
        hospitals[0].after = 0
        _, forgotten = poll(hospitals[0], job)
        assert forgotten == [job]
        assert failure(cloud, job) == ("FAILED", "history_lost")
        assert rows(cloud, "SELECT type FROM evidence") == ["seen"]
        assert rows(cloud, "SELECT type FROM outbox WHERE type = 'aggregate'") == []
        for hospital in hospitals[1:]:
            poll(hospital, job)
            poll(hospital, job)
        check_new_jobs_work(cloud, hospitals)


def test_restored_behind_its_back_and_seen_by_the_inbox(cloud: CloudUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with a_round_after_a_backup(cloud, file) as (job, hospitals):
        put_back(cloud, file, hospitals, marks=False)
        hospitals[0].fetch()  # as an agent of the version before, without a claim
        assert failure(cloud, job) == ("FAILED", "history_lost")
        assert hospitals[0].host.participation.failure is JobCode.HISTORY_LOST  # type: ignore[union-attr]


def test_restored_behind_its_back_and_seen_by_a_message(cloud: CloudUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    with a_round_after_a_backup(cloud, file) as (job, hospitals):
        put_back(cloud, file, hospitals, marks=False)
        answer = hospitals[0].post(hospitals[0].host.outbox[0])
        assert (answer.status_code, answer.json()["code"]) == (409, "replay_conflict")
        assert failure(cloud, job) == ("FAILED", "history_lost")
        assert rows(cloud, "SELECT count(*) FROM contributions") == ["0"]


def test_a_member_that_lies_about_its_place_ends_no_job_of_others(tmp_path: Path, database_url: str) -> None:
    names = ("h1", "h2", "h3", "h4")
    with running_cloud(tmp_path / "cloud", database_url, hospitals=names, bits=512) as cloud:
        cloud.study(SCHEMA)
        liar, *others = names
        with hospitals_of(cloud, dealt(liar)) as (lying,), hospitals_of(cloud, dealt(*others)) as honest:
            job = cloud.job(invited=others)
            for turn in range(3):
                lying.after = MAX_INTEGER
                lying.fetch()
                for hospital in honest:
                    hospital.fetch(wait=5)
                    hospital.send_all()
                if turn:
                    # Fetched by all, and dropped as rounds drop sums: only the counter keeps its place from now on.
                    with cloud.services.database.write() as connection:
                        outbox.drop(connection, job, MessageType.ROSTER)
            assert failure(cloud, job)[1] is None
            with cloud.services.database.read() as connection:
                assert max(hospital.after for hospital in honest) <= history.highest_id(connection)
            run_together(honest)
            assert {each.host.participation.state for each in honest} == {"COMPLETE"}  # type: ignore[union-attr]


def test_a_hospital_that_takes_no_part_ends_no_job_of_others(tmp_path: Path, database_url: str) -> None:
    names = ("h1", "h2", "h3", "h4")
    with running_cloud(tmp_path / "cloud", database_url, hospitals=names, bits=512) as cloud:
        cloud.study(SCHEMA)
        *others, stranger = names
        with (
            hospitals_of(cloud, dealt(*others)) as honest,
            hospitals_of(cloud, dealt(stranger)) as (outside,),
        ):
            job = cloud.job(invited=names)
            offer = unseal(outside.fetch()[0], max_bytes=2**20).envelope
            manifest = body_of(offer, JobOffer).manifest
            address = Address(MessageType.JOB_DECLINE, job, offer.mh, 0, 0, stranger, CLOUD)
            key = cloud.parties.identities[AgentId(stranger)]
            declined = seal(key, address, Chain(), decline(manifest, "declined"))
            assert outside.post(declined.raw).status_code == 200
            for hospital in honest:
                hospital.fetch(wait=5)
                hospital.send_all()
            claim = JobSeen(job=job, heard=2**40, answered=2**40)
            seen = Seen(agent=stranger, time=unix_time(), jobs=[claim])
            cloud.services.history.forgotten(AgentId(stranger), seen, b"{}")
            outside.after = MAX_INTEGER
            outside.fetch()
            assert failure(cloud, job)[1] is None
            run_together(honest)
            assert {each.host.participation.state for each in honest} == {"COMPLETE"}  # type: ignore[union-attr]


def test_old_claims_accuse_nobody(cloud: CloudUnderTest, tmp_path: Path) -> None:
    with a_round_after_a_backup(cloud, tmp_path / "backup") as (job, _):
        claims = [JobSeen(job=job, heard=0, answered=0), JobSeen(job="0" * 32, heard=1, answered=1)]
        seen = Seen(agent="h1", time=unix_time(), jobs=claims)
        assert cloud.services.history.forgotten(AgentId("h1"), seen, b"{}") == ["0" * 32]
        assert failure(cloud, job)[0] == "DECIDING"


def test_a_claim_of_somebody_else_is_refused(cloud: CloudUnderTest) -> None:
    key, other = cloud.parties.identities[AgentId("h1")], cloud.parties.identities[AgentId("h2")]
    seen = Seen(agent="h1", time=1000, jobs=[])
    assert read_seen(sign_seen(seen, key), "h1", key.public, 1000) == seen
    for header, agent, public, now in [
        (sign_seen(seen, other), "h1", key.public, 1000),
        (sign_seen(seen, key), "h2", key.public, 1000),
        (sign_seen(seen, key), "h1", key.public, 2000),
        ("{}." + "0" * 128, "h1", key.public, 1000),
        ("nonsense", "h1", key.public, 1000),
    ]:
        with pytest.raises(PeerError):
            read_seen(header, agent, public, now)


def test_what_is_no_backup_is_refused(cloud: CloudUnderTest, tmp_path: Path) -> None:
    file, damaged = tmp_path / "backup", tmp_path / "damaged"
    backups.take(cloud.services.database, file, unix_time())
    raw = bytearray(file.read_bytes())
    middle = len(raw) // 2
    # More than one bit: packed zeros say the same in many ways.
    raw[middle : middle + 64] = bytes(255 - byte for byte in raw[middle : middle + 64])
    damaged.write_bytes(raw)
    cut = tmp_path / "cut"
    cut.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(InputError, match="there is a file already"):
        backups.take(cloud.services.database, file, unix_time())
    for wrong in (damaged, cut, tmp_path / "none"):
        with pytest.raises(InputError), backups.opened(wrong, tmp_path):
            pass
    with backups.opened(file, tmp_path) as (manifest, content):
        assert manifest.revision
        assert content.stat().st_size > 0
    signer = cloud.parties.identities[AgentId(CLOUD)]
    second = Database(cloud.settings.database)
    with pytest.raises(InputError, match="a cloud is using this database"):
        backups.put_back(second, file, tmp_path / "kept", signer, unix_time())
    second.dispose()
