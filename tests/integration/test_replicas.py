"""Several replicas of one cloud on one PostgreSQL behind nginx: what one takes, another goes on with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hospital_agent.journal import JobStatus
from tests.support.clinic import SCHEMA
from tests.support.databases import postgres_database
from tests.support.programs import Founded
from tests.support.replicas import Cluster, replicated
from tests.support.weighted_clinic import pooled_tree, write_files

pytestmark = pytest.mark.xdist_group("replicas")


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


def start(cluster: Cluster, **plan: object) -> str:
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
        assert federation.model(name, job).tree.sha256 == expected.sha256


def test_a_job_goes_on_when_a_replica_is_killed(cluster: Cluster) -> None:
    job = start(cluster)
    cluster.federation.wait_for(job, "aggregate", 1)
    cluster.replicas[1].kill()
    cluster.replicas[1].start()
    check(cluster, job)


def test_a_secret_job_goes_on_when_the_home_of_its_frames_is_killed(cluster: Cluster) -> None:
    job = start(cluster, mode="id3", secret={"compute_parties": ["h1", "h2", "h3"]})
    home = cluster.wait_for_home(job)
    home.kill()
    home.start()
    check(cluster, job)
