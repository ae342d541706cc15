"""`kill -9` in the middle of secret jobs, of compute parties, contributors and the cloud: each job completes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hospital_agent.journal import JobStatus
from shared.tree.model import Tree
from tests.support import measured_clinic
from tests.support.programs import Program, RealFederation, found, real_federation

pytestmark = pytest.mark.xdist_group("kill")

HOSPITALS = ("h1", "h2", "h3", "h4")
RECORDS = 3000
HEIGHT = 5


@pytest.fixture(scope="module", params=["relayed", pytest.param("direct", marks=pytest.mark.long)])
def federation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealFederation]:
    founded = found(tmp_path_factory.mktemp("founded"), HOSPITALS)
    with real_federation(founded, tmp_path_factory.mktemp("kill")) as running:
        if request.param == "direct":
            running.compute_lines = ('listen = "127.0.0.1:0"',)
        yield running


def parts() -> dict[str, list[measured_clinic.Record]]:
    return measured_clinic.dealt(measured_clinic.records(RECORDS), HOSPITALS)


def expected() -> Tree:
    rows = [row for name in HOSPITALS for row in parts()[name]]
    return measured_clinic.pooled_tree(rows, height=HEIGHT)


def start(federation: RealFederation, **plan: Any) -> str:
    files: dict[str, Path] = measured_clinic.files(federation.folder / "records", parts())
    return federation.start_job(
        measured_clinic.SCHEMA,
        files,
        mode="gain-ratio",
        max_depth=HEIGHT,
        secret={"compute_parties": ["h1", "h2", "h3"]},
        **plan,
    )


def revive(program: Program) -> None:
    program.kill()
    program.start()


def check(federation: RealFederation, job: str) -> None:
    federation.wait_until_done(job)
    for name in HOSPITALS:
        assert federation.entry(name, job).status is JobStatus.COMPLETE
        assert federation.model(name, job).tree_sha256 == expected().sha256
        assert not list((federation.folder / name / "computing").iterdir())


def test_a_killed_compute_party_replays_its_log_and_goes_on(federation: RealFederation) -> None:
    job = start(federation)
    for times, name in enumerate(("h1", "h2", "h3"), start=1):
        federation.wait_for(job, "progress", 4 * times)
        assert "done" not in federation.events(job), "the job was over before it could be disturbed"
        revive(federation.agents[name])
    check(federation, job)


@pytest.mark.long
def test_a_killed_contributor_shares_the_same_bytes_again(federation: RealFederation) -> None:
    job = start(federation)
    federation.wait_for(job, "roster")
    revive(federation.agents["h4"])
    federation.wait_for(job, "progress", 6)
    revive(federation.agents["h4"])
    check(federation, job)


def test_a_killed_cloud_relays_again(federation: RealFederation) -> None:
    job = start(federation)
    federation.wait_for(job, "progress", 5)
    revive(federation.cloud)
    check(federation, job)


@pytest.mark.long
def test_a_frozen_compute_party_is_named_then_lost(federation: RealFederation) -> None:
    """The others say whom they wait for; the job pauses, then fails, and the late one learns that it did."""
    deadlines = {"invite_seconds": 60, "round_seconds": 4, "pause_seconds": 4}
    job = start(federation, deadlines=deadlines)
    federation.wait_for(job, "progress", 4)
    with federation.agents["h2"].frozen(), federation.people() as people:
        federation.wait_for(job, "paused")
        page = people.get(f"/v1/jobs/{job}").json()
        assert page["longest_silent"] == "h2"
        told = {member["id"]: member["progress"] for member in page["members"]}
        assert {*told["h1"]["waiting_for"], *told["h3"]["waiting_for"]} & {"h2"}
        federation.wait_for(job, "ended")
        assert people.get(f"/v1/jobs/{job}").json()["failure"] == "member_lost"
    federation.wait(
        lambda: all(federation.entry(name, job).is_over for name in HOSPITALS), "the end at every agent"
    )
    assert {federation.entry(name, job).code for name in HOSPITALS} == {"member_lost"}


def test_a_job_cancelled_while_it_computes_ends_at_every_agent(federation: RealFederation) -> None:
    job = start(federation)
    federation.wait_for(job, "progress", 5)
    with federation.people() as people:
        assert people.post(f"/v1/jobs/{job}/cancel").json()["state"] == "CANCELLED"
    federation.wait(
        lambda: all(federation.entry(name, job).is_over for name in HOSPITALS), "the end at every agent"
    )
    for name in HOSPITALS:
        assert federation.entry(name, job).code == "cancelled"
        federation.wait(lambda: not list((federation.folder / name / "computing").iterdir()), "the log's end")  # noqa: B023
