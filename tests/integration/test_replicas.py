"""Several replicas of one cloud on one PostgreSQL behind nginx: what one takes, another goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from tests.support import measured_clinic
from tests.support.clinic import SCHEMA
from tests.support.databases import postgres_database
from tests.support.programs import HOSPITALS, Founded
from tests.support.replicas import Cluster, crashing_postgres, replicated, stop_within
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = pytest.mark.xdist_group("replicas")

LONG_RECORDS = 3000
LONG_HEIGHT = 5


@pytest.fixture(scope="module")
def cluster(
    founded_federation: Founded, postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("replicas")
    with (
        postgres_database(postgres_server) as url,
        replicated(founded_federation, folder, url) as running,
    ):
        yield running


def start(cluster: Cluster, **plan: Any) -> str:
    federation = cluster.federation
    folder = federation.folder / "records"
    folder.mkdir(exist_ok=True)
    return federation.start_job(SCHEMA, write_files(folder, tuple(federation.agents)), **plan)


def check(cluster: Cluster, job: str) -> None:
    """The pooled tree at every hospital."""
    federation = cluster.federation
    federation.wait_until_done(job)
    expected = pooled_tree(tuple(federation.agents))
    for name in federation.agents:
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        assert federation.model(name, job).tree_sha256 == expected.sha256


def kinds(cluster: Cluster) -> list[str]:
    """A job of each kind."""
    plain = start(cluster)
    # Until then hospitals may be reading the files that the next start writes again.
    cluster.federation.wait_for(plain, "roster")
    return [plain, start(cluster, mode="id3", secret={"compute_parties": ["h1", "h2", "h3"]})]


@pytest.mark.long
def test_jobs_go_on_when_the_home_of_their_frames_is_killed(cluster: Cluster) -> None:
    plain, secret = kinds(cluster)
    home = cluster.wait_for_home(secret)
    home.kill()
    cluster.federation.wait_for(plain, "aggregate", 1)
    check(cluster, plain)
    check(cluster, secret)
    with cluster.federation.people() as people:
        assert people.get(f"/v1/jobs/{secret}/traffic").json()["pairs"]
    booked = "SELECT count(*) FROM job_costs WHERE job = :job AND kind = 'relay:frames'"
    cluster.federation.wait(
        lambda: cluster.federation.tables.rows(booked, job=secret)[0][0] == 1, "the costs of the frames"
    )
    home.start()
    cluster.wait_until_ready()


@pytest.mark.long
def test_a_frozen_home_is_given_up_and_does_not_disturb_when_it_wakes(cluster: Cluster) -> None:
    job = start_long(cluster)
    home = cluster.wait_for_home(job)
    with home.frozen():
        cluster.wait_for_home(job, other_than=home)
    check_long(cluster, job)
    assert "frames left to another replica" in home.log.read_text()


@pytest.mark.long
def test_a_home_killed_after_another_costs_nothing_but_time(cluster: Cluster) -> None:
    job = start_long(cluster)
    first = cluster.wait_for_home(job)
    first.kill()
    second = cluster.wait_for_home(job, other_than=first)
    first.start()
    cluster.wait_until_ready()
    second.kill()
    second.start()
    check_long(cluster, job)


@pytest.mark.long
def test_replicas_stop_in_good_order_in_the_middle_of_jobs(cluster: Cluster) -> None:
    plain, secret = kinds(cluster)
    cluster.wait_for_home(secret)
    for replica in cluster.replicas:
        stop_within(replica, 5.0)
        replica.start()
        cluster.wait_until_ready()
    check(cluster, plain)
    check(cluster, secret)


@pytest.mark.long
def test_a_restarted_database_holds_jobs_up_and_no_longer(
    founded_federation: Founded, tmp_path: Path
) -> None:
    with (
        crashing_postgres() as server,
        replicated(founded_federation, tmp_path, server.url) as cluster,
    ):
        plain, secret = kinds(cluster)
        cluster.wait_for_home(secret)
        server.crash()
        check(cluster, plain)
        check(cluster, secret)


def start_long(cluster: Cluster) -> str:
    """A secret job that takes a while."""
    federation = cluster.federation
    return federation.start_job(
        measured_clinic.SCHEMA,
        measured_clinic.files(federation.folder / "long", long_parts()),
        mode="gain-ratio",
        max_depth=LONG_HEIGHT,
        secret={"compute_parties": ["h1", "h2", "h3"]},
    )


def long_parts() -> dict[str, list[measured_clinic.Record]]:
    return measured_clinic.dealt(measured_clinic.records(LONG_RECORDS), HOSPITALS)


def check_long(cluster: Cluster, job: str) -> None:
    cluster.federation.wait_until_done(job)
    rows = [row for name in HOSPITALS for row in long_parts()[name]]
    expected = measured_clinic.pooled_tree(rows, height=LONG_HEIGHT)
    for name in HOSPITALS:
        assert cluster.federation.model(name, job).tree_sha256 == expected.sha256
