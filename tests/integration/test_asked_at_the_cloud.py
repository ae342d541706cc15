"""How often hospitals may ask shared trees, at the cloud: counted in one transaction, apart from a study's jobs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cloud_service.service.jobs import Changed
from cloud_service.service.planning import JobPlan, SecretPlan
from cloud_service.service.refusals import ConflictError
from shared.errors import ErrorCode, PeerError
from shared.protocol.asking import sign_ask
from shared.wire.asking import AttestedAsk
from tests.support import measured_clinic
from tests.support.asking import MODEL, attested, wish
from tests.support.cloud_server import CloudUnderTest, running_cloud, unix_time

NAMES = ("h1", "h2", "h3")
FEW = {"questions_per_day": 2, "questions": 3, "records_per_day": 10, "records": 12}
STUDY: dict[str, Any] = {
    "profiles": ["secret-gainratio"],
    "shared_result": True,
    "max_jobs": 1,
    "asking": FEW,
    "synthetic": False,
}


@pytest.fixture
def cloud(tmp_path: Path, database_url: str) -> Iterator[CloudUnderTest]:
    """A cloud with three hospitals and a study whose shared trees they may ask."""
    with running_cloud(tmp_path, database_url, hospitals=NAMES, bits=512, agents_may_ask=True) as running:
        running.study(measured_clinic.SCHEMA, name="asked", **STUDY)
        yield running


def asked_by(cloud: CloudUnderTest, hospital: str, records: int = 1) -> AttestedAsk:
    return attested(cloud.parties, wish(hospital, records=records, study="asked", time=unix_time()))


def begin(cloud: CloudUnderTest, asked: AttestedAsk) -> Changed:
    """As the endpoint does, once it has found the tree."""
    secret = SecretPlan(
        compute_parties=list(NAMES),
        purpose="predict",
        result_parties=[asked.ask.hospital],
        max_records=asked.ask.records,
        model=MODEL,
        asked=asked,
    )
    plan = JobPlan(
        invited=list(NAMES), mode="gain-ratio", min_node=10, min_child=5, max_depth=2, secret=secret
    )
    services = cloud.services
    return services.jobs.start(
        services.studies.get("asked"), plan, actor=asked.ask.hospital, key=asked.ask.question
    )


def refused(cloud: CloudUnderTest, hospital: str, records: int = 1) -> str:
    with pytest.raises(PeerError) as found:
        begin(cloud, asked_by(cloud, hospital, records))
    assert found.value.code is ErrorCode.POLICY_PROFILE
    return str(found.value)


def test_questions_are_counted_for_each_hospital_and_apart_from_jobs(cloud: CloudUnderTest) -> None:
    first = asked_by(cloud, "h1", 9)
    begun = begin(cloud, first).stored.job.manifest
    assert begun.secret is not None
    assert begun.secret.asked == first
    later = first.ask.model_copy(update={"time": first.ask.time + 1})
    assert begin(cloud, attested(cloud.parties, later)).stored.job.manifest.job == begun.job
    assert "11 records within 24 hours; the study allows 10" in refused(cloud, "h1", 2)
    begin(cloud, asked_by(cloud, "h1"))
    assert "3 questions within 24 hours; the study allows 2" in refused(cloud, "h1")
    begin(cloud, asked_by(cloud, "h2"))
    cloud.job("asked", mode="gain-ratio", min_node=10, min_child=5, max_depth=2)
    view = cloud.services.studies.get("asked")
    with pytest.raises(ConflictError, match="has had its 1 jobs"):
        cloud.services.jobs.start(view, JobPlan(mode="gain-ratio", max_depth=2))
    begin(cloud, asked_by(cloud, "h2"))
    # One that ended before it began counts no more.
    cloud.services.jobs.cancel(begun.job)
    begin(cloud, asked_by(cloud, "h1", 9))


def test_a_person_asks_about_no_more_than_a_hospital_may(cloud: CloudUnderTest) -> None:
    secret = SecretPlan(compute_parties=list(NAMES), purpose="predict", result_parties=["h1"], model=MODEL)
    plan = JobPlan(mode="gain-ratio", min_node=10, min_child=5, max_depth=2, secret=secret)
    made = cloud.services.jobs.preview(cloud.services.studies.get("asked"), plan)
    assert made.secret is not None
    assert made.secret.max_records == FEW["records"]


def test_two_that_come_together_are_not_one_too_many(cloud: CloudUnderTest) -> None:
    begin(cloud, asked_by(cloud, "h3"))
    wishes = [asked_by(cloud, "h3") for _ in range(3)]

    def outcome(asked: AttestedAsk) -> str:
        try:
            return begin(cloud, asked).stored.job.manifest.job
        except PeerError:
            return "refused"

    with ThreadPoolExecutor(3) as pool:
        assert sorted(map(len, map(str, pool.map(outcome, wishes)))) == [7, 7, 32]


def test_no_agent_asks_before_its_study_says_so_or_about_a_tree_that_is_not(cloud: CloudUnderTest) -> None:
    ask = asked_by(cloud, "h1").ask
    signed = sign_ask(ask, cloud.parties.identities["h1"])
    answer = cloud.people.post(
        "/v1/agent/studies/asked/ask",
        content=signed.canonical(),
        headers={"content-type": "application/json"},
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "roster_mismatch")
    silent = {**STUDY, "asking": None}
    cloud.study(measured_clinic.SCHEMA, name="silent", **silent)
    wished = wish("h1", study="silent", time=unix_time())
    secret = SecretPlan(
        compute_parties=list(NAMES),
        purpose="predict",
        result_parties=["h1"],
        max_records=1,
        model=MODEL,
        asked=attested(cloud.parties, wished),
    )
    plan = JobPlan(
        invited=list(NAMES), mode="gain-ratio", min_node=10, min_child=5, max_depth=2, secret=secret
    )
    with pytest.raises(PeerError, match="lets no hospital ask"):
        cloud.services.jobs.start(cloud.services.studies.get("silent"), plan)
