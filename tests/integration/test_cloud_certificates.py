"""Certificates that end or are renewed, at a running cloud: what is begun, what is finished, what people are told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cloud_service.service.expiry import Endings
from cloud_service.service.services import unix_time
from shared.crypto import certificates
from shared.crypto.certificates import Role, Validity
from shared.crypto.identity import IdentityKey
from shared.ids import CLOUD, AgentId
from shared.protocol.enrolment import fingerprint
from tests.support.clinic import SCHEMA, dealt
from tests.support.cloud_server import CloudUnderTest, cloud_bundle, running_cloud
from tests.support.http_hospital import JSON, HttpHospital, hospitals_of, run_together
from tests.support.toy_keys import fixed_key
from tests.support.world import VALIDITY, Parties

NAMES = ("h1", "h2", "h3", "h4")
THREE = NAMES[:3]
SOON = datetime(2035, 1, 1, tzinfo=UTC)
"""The end of the certificates of those who are the first to expire; the others have until 2040."""
BEFORE, AFTER = int(SOON.timestamp()) - 3600, int(SOON.timestamp()) + 3600


def reissue(parties: Parties, name: str, end: datetime, serial: int, key: IdentityKey | None = None) -> None:
    """What the authority does with the same request, or with a new one under another key."""
    role = Role.CLOUD if name == CLOUD else Role.AGENT
    old = certificates.read(parties.certificates[name])
    request = certificates.create_request(
        key or parties.identities[name], AgentId(name), role, old.subject.second_key
    )
    subject = certificates.parse_request(request)
    validity = Validity(VALIDITY.not_before, end)
    parties.certificates[name] = certificates.issue(parties.root_key, parties.root, subject, validity, serial)


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    """Four hospitals; the certificate of h1 is the first to end."""
    parties = Parties([AgentId(name) for name in NAMES], fixed_key(512))
    reissue(parties, "h1", SOON, 100)
    with running_cloud(tmp_path, database_url, hospitals=NAMES, parties=parties, bits=512) as running:
        running.study(SCHEMA)
        yield running


def set_time(cloud: CloudUnderTest, now: int) -> None:
    """What the cloud holds certificates against; its other clocks go on, so that signed times still fit."""
    object.__setattr__(cloud.services.inbox.admission, "clock", lambda: now)


def import_newest(cloud: CloudUnderTest, issued: int) -> None:
    """`privet cloud join` with the authority's newest bundle."""
    real = Parties.__new__(Parties)
    real.__dict__.update(cloud.parties.__dict__)
    real.key = fixed_key(2048)
    bundle = cloud_bundle(real, issued=issued)
    cloud.services.membership.join(bundle, fingerprint(cloud.parties.root), unix_time())


def poll_code(hospital: HttpHospital) -> tuple[int, str, str]:
    answer = hospital.http.get(
        "/v1/inbox", params={"after": hospital.after}, headers={"privet-poll": hospital.poll_header()}
    )
    body = answer.json()
    return answer.status_code, body.get("code", ""), body.get("detail", "")


def accept_a_job(cloud: CloudUnderTest, hospitals: list[HttpHospital]) -> None:
    """A job of the three that all of them have accepted."""
    cloud.job(invited=list(THREE))
    for hospital in hospitals:
        hospital.fetch(wait=5)
        hospital.send_all()


def test_an_expired_certificate_begins_nothing(cloud: CloudUnderTest) -> None:
    with hospitals_of(cloud, dealt(*THREE)) as hospitals:
        first = hospitals[0]
        cloud.job(invited=list(THREE))
        first.fetch(wait=5)
        set_time(cloud, AFTER)
        status, code, detail = poll_code(first)
        assert (status, code) == (401, "unknown_agent")
        assert "h1 expired on 2035-01-01" in detail
        assert "privet authority certify DIR h1.csr" in detail
        refused = [
            cloud.people.post("/v1/hospitals", content=cloud.registration("h1").canonical(), headers=JSON),
            first.post(first.host.outbox[0]),
        ]
        assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [
            (401, "unknown_agent")
        ] * 2
        assert all("2035-01-01" in answer.json()["detail"] for answer in refused)
        assert poll_code(hospitals[1])[0] == 200


def test_a_job_that_runs_across_the_end_is_finished(cloud: CloudUnderTest) -> None:
    with hospitals_of(cloud, dealt(*THREE)) as hospitals:
        accept_a_job(cloud, hospitals)
        for hospital in hospitals:
            hospital.fetch()
        set_time(cloud, AFTER)
        run_together(hospitals)
        assert {hospital.host.participation.state for hospital in hospitals} == {"COMPLETE"}  # type: ignore[union-attr]
        assert poll_code(hospitals[0])[1] == "unknown_agent"


def test_a_certificate_renewed_in_a_job_does_not_end_it(cloud: CloudUnderTest) -> None:
    with hospitals_of(cloud, dealt(*THREE)) as hospitals:
        accept_a_job(cloud, hospitals)
        hospitals[0].fetch(wait=5)
        set_time(cloud, AFTER)
        reissue(cloud.parties, "h1", VALIDITY.not_after, 101)
        import_newest(cloud, 2)
        hospitals[0].send_all()  # before its own agent has the new bundle
        cloud.register("h1")
        run_together(hospitals)
        assert {hospital.host.participation.state for hospital in hospitals} == {"COMPLETE"}  # type: ignore[union-attr]
        assert poll_code(hospitals[0])[0] == 200


def test_new_keys_shut_out_the_old_ones_in_a_running_job(cloud: CloudUnderTest) -> None:
    with hospitals_of(cloud, dealt(*THREE)) as hospitals:
        accept_a_job(cloud, hospitals)
        hospitals[0].fetch(wait=5)
        old, fresh = cloud.parties.identities["h1"], IdentityKey.generate()
        reissue(cloud.parties, "h1", VALIDITY.not_after, 102, fresh)
        import_newest(cloud, 2)
        cloud.parties.identities["h1"] = fresh
        cloud.register("h1")
        cloud.parties.identities["h1"] = old
        answer = hospitals[0].post(hospitals[0].host.outbox[0])
        assert (answer.status_code, answer.json()["code"]) == (401, "unknown_agent")
        assert poll_code(hospitals[0])[:2] == (401, "bad_signature")


def test_a_job_is_not_offered_past_the_end(cloud: CloudUnderTest) -> None:
    study = cloud.study(SCHEMA, name="long", expires=AFTER)
    jobs = cloud.services.jobs
    object.__setattr__(jobs, "clock", lambda: BEFORE)
    body = {"min_node": 1, "min_child": 1, "max_depth": None}
    named = cloud.people.post(f"/v1/studies/{study}/jobs", json={**body, "invited": list(THREE)})
    assert named.status_code == 422
    assert "the certificate of h1 ends on 2035-01-01" in named.json()["detail"]
    few = cloud.people.post(f"/v1/studies/{study}/jobs", json={**body, "min_hospitals": 4})
    assert (few.status_code, few.json()["code"]) == (403, "policy_min_hospitals")
    assert "certificates that end too early: h1 on 2035-01-01" in few.json()["detail"]
    job = jobs.get(cloud.job(study))
    assert job.job.manifest.invited == ["h2", "h3", "h4"]
    assert jobs.left_out(job) == {"h1": "2035-01-01"}


def test_without_a_certificate_of_its_own_the_cloud_starts_nothing(cloud: CloudUnderTest) -> None:
    object.__setattr__(cloud.services.jobs, "clock", lambda: int(VALIDITY.not_after.timestamp()))
    answer = cloud.people.post("/v1/studies/study/jobs", json={"invited": list(THREE)})
    assert answer.status_code == 422
    assert "the cloud's own certificate ends on 2040-01-01" in answer.json()["detail"]
    assert "privet cloud join" in answer.json()["detail"]


@pytest.mark.usefixtures("every_log_line")
def test_people_see_and_read_in_the_log_when_certificates_end(cloud: CloudUnderTest) -> None:
    listed = cloud.people.get("/v1/hospitals").json()["hospitals"]
    ends = {hospital["id"]: hospital["certificate_until"] for hospital in listed}
    assert ends["h1"] == int(SOON.timestamp())
    assert ends["h2"] == int(VALIDITY.not_after.timestamp())
    with capture_logs() as lines:
        Endings(cloud.services.database, cloud.services.membership, unix_time).tell()
        assert not [line for line in lines if line["event"] == "certificate ends"]
        Endings(cloud.services.database, cloud.services.membership, lambda: BEFORE).tell()
    told = [line for line in lines if line["event"] == "certificate ends"]
    assert [(line["agent"], line["until"]) for line in told] == [("h1", "2035-01-01")]
    assert "privet agent join" in told[0]["remedy"]
